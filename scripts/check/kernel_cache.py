#!/usr/bin/env python3
"""Programs are the same whatever happens to the cache of compiled kernels.

    scripts/check/kernel_cache.py BUILD FOLDER [--rounds 200] [--seed 1]

Compiles golden models into FOLDER, always two processes at once, with one cache: cold and warm, while one of the two is killed at a
random time, while entries are cut, flipped, swapped and removed, with a limit that a compilation exceeds, in a folder that may
not be written, on a full disk, where the folder is a file, without HOME. Each program that is made equals the one without a cache, to the byte. Ends
with a line for each kind; exit code 1 after a difference."""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "test/golden"


def models():
    for name in ("perceptron", "convnet", "gpt"):
        trace = json.loads((GOLDEN / name / "trace.json").read_text())
        run = next(iter(trace["runs"].values())) if "runs" in trace else trace
        yield name, [GOLDEN / name / run.get("model", "model.onnx"), *run["compile"]]


class Check:
    def __init__(self, build, folder, seed):
        self.kedge, self.folder, self.cache = build / "bin/kedge", folder, folder / "cache"
        self.random, self.seconds, self.different = random.Random(seed), {}, 0
        self.models = dict(models())
        self.expected = {}
        for name in self.models:
            started = time.monotonic()
            self.ended(self.start(name, f"{name}.off", "off"))
            self.seconds[name] = time.monotonic() - started
            self.expected[name] = (folder / f"{name}.off").read_bytes()

    def start(self, name, program, cache, before=(), **environment):
        """Programs hold their own name, so each has a folder."""
        place = self.folder / program
        place.parent.mkdir(parents=True, exist_ok=True)
        command = [*before, self.kedge, "compile", *self.models[name], "-o", place, "--report", f"{place}.json"]
        if cache is not None:
            command += ["--kernel-cache", cache]
        variables = {key: value for key, value in {**os.environ, **environment}.items() if value is not None}
        return subprocess.Popen(list(map(str, command)), env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)

    def ended(self, process):
        error = process.communicate()[1].decode()
        if process.returncode != 0 or "cache" in error:
            sys.exit(f"kernel_cache.py: exit code {process.returncode}: {error}")

    def compare(self, name, program, kind):
        made = (self.folder / program).read_bytes()
        if made != self.expected[name]:
            self.different += 1
            print(f"{kind}: {program} differs from the program without a cache", file=sys.stderr)
        return json.loads((self.folder / f"{program}.json").read_text()).get("kernel_cache")

    def once(self, kind, cache, name="convnet", **options):
        """What one compilation's report says of the cache."""
        program = f"{kind}/{name}.off"
        self.ended(self.start(name, program, cache, **options))
        return self.compare(name, program, kind)

    def entries(self):
        return [path for path in self.cache.glob("??/*") if not path.name.endswith(".tmp")]

    def damage(self):
        """One way of many, of some entries."""
        for path in self.random.sample(self.entries(), min(3, len(self.entries()))):
            data = bytearray(path.read_bytes())
            kind = self.random.choice(("cut", "flip", "swap", "remove", "empty"))
            if kind == "flip" and data:
                data[self.random.randrange(len(data))] ^= 1 << self.random.randrange(8)
                path.write_bytes(data)
            elif kind == "cut":
                path.write_bytes(data[:self.random.randrange(len(data) + 1)])
            elif kind == "swap":
                shutil.copyfile(self.random.choice(self.entries()), f"{path}.new")
                os.replace(f"{path}.new", path)
            elif kind == "remove":
                path.unlink()
            else:
                path.write_bytes(b"")

    def round(self, number, **environment):
        """Two at once; in two rounds of three one of them is killed, in every second one entries are damaged before."""
        names = [self.random.choice(list(self.models)) for _ in range(2)]
        if number % 7 == 0:
            shutil.rmtree(self.cache, ignore_errors=True)
        if number % 2:
            self.damage()
        programs = [f"{at}/{name}.off" for at, name in enumerate(names)]
        running = [self.start(*pair, self.cache, **environment) for pair in zip(names, programs)]
        if number % 3:
            time.sleep(self.random.random() * self.seconds[names[0]])
            os.killpg(running[0].pid, signal.SIGKILL)
            running[0].communicate()
            running = [None, running[1]]
        for process, name, program in zip(running, names, programs):
            if process:
                self.ended(process)
                self.compare(name, program, f"round {number}")
        return sum(process is None for process in running)

    def rounds(self, count):
        killed = sum(self.round(number) for number in range(count))
        left = len(list(self.cache.glob("??/*.tmp")))
        print(f"{count} rounds of two processes, {killed} killed, entries damaged in {count // 2}: {left} files left by those killed")

    def limited(self):
        shutil.rmtree(self.cache, ignore_errors=True)
        limit = 64 * 4096
        for name in [*self.models, *self.models]:
            self.once("limit", self.cache, name, KEDGE_KERNEL_CACHE_SIZE=str(limit))
        taken = sum(-(-path.stat().st_size // 4096) * 4096 for path in self.entries())
        print(f"a limit of {limit} bytes: {'kept' if taken <= limit else 'NOT kept'}")
        self.different += taken > limit

    def troubled(self, kind, cache, **options):
        facts = self.once(kind, cache, **options)
        if not facts or not facts.get("trouble"):
            sys.exit(f"kernel_cache.py: {kind}: the report says nothing of it: {facts}")
        print(f"{kind}: {facts['trouble']}")

    def mounted(self, kind, script, cache):
        """With a file system that is there for this process alone."""
        before = ["unshare", "-m" if os.getuid() == 0 else "-rm", "sh", "-c", f'{script} && exec "$@"', "sh"]
        if subprocess.run([*before, "true"], capture_output=True).returncode != 0:
            return print(f"{kind}: not tried, nothing can be mounted here")
        self.troubled(kind, cache, before=before)

    def unwritable(self):
        shutil.rmtree(self.cache, ignore_errors=True)
        self.once("filled", self.cache, "perceptron")
        self.mounted("read-only", f"mount --bind '{self.cache}' '{self.cache}' && mount -o remount,bind,ro '{self.cache}'", self.cache)

    def full(self):
        place = self.folder / "small"
        place.mkdir(exist_ok=True)
        self.mounted("full", f"mount -t tmpfs -o size=32k none '{place}'", place / "cache")

    def others(self):
        (self.folder / "no-folder").write_text("a file")
        self.troubled("a-file", self.folder / "no-folder")
        self.troubled("no-home", None, HOME=None, XDG_CACHE_HOME=None, KEDGE_KERNEL_CACHE=None)
        off = self.once("off", None, KEDGE_KERNEL_CACHE="off")
        assert off is None, off


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path, help="is made anew")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    shutil.rmtree(args.folder, ignore_errors=True)
    args.folder.mkdir(parents=True)
    check = Check(args.build.resolve(), args.folder.resolve(), args.seed)
    check.rounds(args.rounds)
    check.limited()
    check.unwritable()
    check.full()
    check.others()
    print("all programs are the same" if not check.different else f"{check.different} differences")
    sys.exit(check.different > 0)


if __name__ == "__main__":
    main()
