#!/usr/bin/env python3
"""Plants faults, one after the other, and sees which quick test finds each: mutants.py [--work FOLDER] [--only NAME...] [--whole]

mutants.json lists them: what a fault stands for, the file, the text that is replaced (it occurs once) and what takes its place, and
the tests that are to find it. They are planted in a copy of the sources with a build of its own, in FOLDER (build/mutants unless given;
the first build takes as long as any). FOLDER/log.jsonl keeps what was found, so that a run that was stopped goes on; --again forgets
what it says of the faults that are asked for. A test is one of lit's, as tools/flags.test, or a unit program with a filter of GoogleTest, as
"kedge-unit-runtime RuntimeMesh.*". At the end each test that found something runs without any fault: if it fails then, it has found
nothing. With --whole a fault that its tests miss goes through
the whole quick tier but for test/layout and test/install. Ends with 1 unless all faults are found.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = pathlib.Path(__file__).with_suffix(".json")
# What a test of files *.mlir needs, what others need, and what some need besides, by the beginnings of their names. Unit programs need
# themselves.
PASSES = ["kedge-opt"]
PROGRAMS = ["kedge", "kedge-opt", "kedge_runtime_main"]
NEEDS = {"cuda/": ["kedge_runtime_main_cuda", "kedge-gpu-on-host", "kedge-cuda-stubs"], "cuda/ptx": ["kedge-ptx-findings"],
         "tools/lint/lint-repair": ["kedge-model-repair"], "import/": ["kedge-unit-compiled"]}
NOT_BEHAVIOUR = "kedge :: (layout|install)/"
FINE = {"PASS", "XFAIL", "FLAKYPASS"}
SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/mutants")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these faults alone")
    parser.add_argument("--whole", action="store_true", help="the whole quick tier for what the expected tests miss")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--table", action="store_true", help="prints what the log says, and plants nothing")
    parser.add_argument("--check", action="store_true", help="only that each fault's text and tests are there, and plants nothing")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=900, metavar="SECONDS", help="for the tests of a fault; one that goes on is found")
    return parser.parse_args()


def faults_of(options):
    faults = json.loads(LIST.read_text())
    names = [fault["name"] for fault in faults]
    if len(set(names)) != len(names):
        sys.exit(f"{LIST}: a name occurs twice")
    if unknown := set(options.only or []) - set(names):
        sys.exit(f"no such fault: {', '.join(sorted(unknown))}")
    return [fault for fault in faults if not options.only or fault["name"] in options.only]


def check(fault, text):
    """What is replaced must be there, once."""
    found = text.count(fault["text"])
    if found != 1:
        sys.exit(f"{fault['name']}: {fault['file']} has {fault['text']!r} {found} times, expected once")


def long_tests():
    tiers = ROOT / "test/tiers.txt"
    lines = tiers.read_text().splitlines() if tiers.exists() else []
    return {line.split()[0] for line in lines if line and not line.startswith("#")}


def check_list(faults):
    slow = long_tests()
    for fault in faults:
        check(fault, (ROOT / fault["file"]).read_text())
        for test in fault["tests"]:
            if test in slow:
                sys.exit(f"{fault['name']}: {test} is one of the long tests, expected a quick one")
            if " " not in test and not (ROOT / "test" / test).exists():
                sys.exit(f"{fault['name']}: there is no test/{test}")


class Log:
    """A line for each fault that was tried, and for each test that was tried without any."""

    def __init__(self, path):
        self.path = path
        self.entries = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def add(self, **entry):
        self.entries.append(entry)
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    def of(self, fault):
        """The last word on the fault as it is now."""
        key = fingerprint(fault)
        return next((entry for entry in reversed(self.entries) if entry.get("key") == key), None)

    def forget(self, faults):
        keys = {fingerprint(fault) for fault in faults}
        self.entries = [entry for entry in self.entries if entry.get("key") not in keys]
        self.path.write_text("".join(json.dumps(entry) + "\n" for entry in self.entries))

    def sound(self, test):
        return next((entry["sound"] for entry in reversed(self.entries) if entry.get("test") == test), None)


def fingerprint(fault):
    """Of all that a trial depends on but the rest of the sources."""
    parts = [fault[key] for key in ("file", "text", "put", "tests")]
    return hashlib.sha256(json.dumps([*parts, (ROOT / fault["file"]).read_text()]).encode()).hexdigest()[:16]


class Copy:
    """Sources that may be changed, and their build."""

    def __init__(self, options):
        self.options = options
        self.source = options.work / "kedge"
        self.build = self.source / "build/release"

    def take_sources(self):
        """Files that differ are written, so that no other is compiled again; what is no longer there goes."""
        listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True).stdout
        names = {name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()}
        for name in names:
            there, here = self.source / name, ROOT / name
            if not there.exists() or there.read_bytes() != here.read_bytes():
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(here, there)
        for path in [path for path in self.source.rglob("*") if path.is_file()]:
            name = str(path.relative_to(self.source))
            if name not in names and not name.startswith(("build/", ".git")):
                path.unlink()

    def configure(self):
        """Whether it is new."""
        if (self.build / "build.ninja").exists():
            return False
        flags = [f"-DKEDGE_SHARED_DIR={ROOT.parent / 'shared'}"]
        cache = ROOT / "build/release/CMakeCache.txt"
        found = re.search(r"^KEDGE_TEST_PYTHON:\w+=(.+)$", cache.read_text(), re.M) if cache.exists() else None
        subprocess.run(["cmake", "--preset", "release", *flags, *([f"-DKEDGE_TEST_PYTHON={found[1]}"] if found else [])], cwd=self.source, check=True,
                       stdout=subprocess.DEVNULL)
        return True

    def make(self, targets):
        """Whether they compile, and what was said."""
        done = subprocess.run(["cmake", "--build", self.build, f"-j{self.options.jobs}", "--target", *targets], capture_output=True, text=True)
        return done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


class Planted:
    """A fault for as long as a block lasts."""

    def __init__(self, copy, fault):
        self.path, self.fault = copy.source / fault["file"], fault

    def __enter__(self):
        self.before = self.path.read_text()
        check(self.fault, self.before)
        self.path.write_text(self.before.replace(self.fault["text"], self.fault["put"]))

    def __exit__(self, *_):
        self.path.write_text(self.before)


def targets_of(tests):
    """What is built for these tests, and must not keep the fault before."""
    needed = set()
    for test in tests:
        needed.update([test.split()[0]] if " " in test else PASSES if test.endswith(".mlir") else PROGRAMS)
        needed.update(target for beginning, targets in NEEDS.items() if test.startswith(beginning) for target in targets)
    return sorted(needed)


def run(command, limit, **more):
    """What a command printed, and whether it came to its end: with all that it has started."""
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               start_new_session=True, **more)
    try:
        return process.communicate(timeout=limit)[0], process.returncode
    except subprocess.TimeoutExpired:
        return "", None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def lit(copy, words, limit):
    """Names of tests that failed, and of those that were skipped. None: they did not end."""
    results = copy.options.work / "results.json"
    results.unlink(missing_ok=True)
    finder = re.search(r"^KEDGE_LIT:\w+=(.+)$", (copy.build / "CMakeCache.txt").read_text(), re.M)[1]
    _, code = run([finder, f"-j{copy.options.jobs}", "-q", "--output", results, "--param", "tier=quick", *words], limit)
    if code is None:
        return None, []
    if not results.exists():
        sys.exit(f"lit ended with {code} before it wrote its results: {' '.join(map(str, words))}")
    tests = json.loads(results.read_text())["tests"]
    names = {test["name"].split(" :: ", 1)[1]: test["code"] for test in tests}
    return [name for name, code in names.items() if code not in FINE | SKIPPED], [name for name, code in names.items() if code in SKIPPED]


def unit_failing(copy, test, limit):
    """The test of a unit program that fails, in the form in which it is asked for again."""
    program, given = test.split()
    folder = copy.options.work / "unit"
    folder.mkdir(exist_ok=True)
    if not run([copy.build / "bin" / program, f"--gtest_filter={given}", "--gtest_list_tests"], limit, cwd=folder)[0].count("\n  "):
        sys.exit(f"{test}: no test has such a name")
    said, code = run([copy.build / "bin" / program, f"--gtest_filter={given}", "--gtest_brief=1"], limit, cwd=folder)
    found = re.search(r"\[  FAILED  \] ([^\s,(]+)", said)
    return None if code == 0 else f"{program} {found[1] if found else given}"


def failing(copy, tests):
    """The first of these tests that fails or does not end, those of lit together."""
    of_lit = [test for test in tests if " " not in test]
    if of_lit:
        failed, skipped = lit(copy, [copy.build / "test" / test for test in of_lit], copy.options.limit)
        for test in skipped:
            print(f"  {test} is skipped on this machine", flush=True)
        if failed is None or failed:
            return next(test for test in of_lit if failed is None or test in failed)
    return next(filter(None, (unit_failing(copy, test, copy.options.limit) for test in tests if " " in test)), None)


def confirm(copy, log, faults):
    """What has found a fault passes without one."""
    finders = dict.fromkeys(entry["by"] for entry in map(log.of, faults) if entry and entry["result"] == "found")
    left = [test for test in finders if log.sound(test) is None]
    if not left:
        return
    copy.make(targets_of(left))
    of_lit = [test for test in left if " " not in test]
    failed, _ = lit(copy, [copy.build / "test" / test for test in of_lit], len(left) * copy.options.limit) if of_lit else ([], [])
    for test in left:
        sound = test not in failed if test in of_lit else unit_failing(copy, test, copy.options.limit) is None
        log.add(test=test, sound=sound)


def find_in_all(copy):
    made, said = copy.make(["kedge-tests"])
    if not made:
        return None
    failed, _ = lit(copy, ["--max-failures", "1", "--filter-out", NOT_BEHAVIOUR, copy.build / "test/unit", copy.build / "test"], 7200)
    return failed[0] if failed else None


def try_one(copy, log, fault):
    begin = time.monotonic()
    with Planted(copy, fault):
        made, said = copy.make(targets_of(fault["tests"]))
        found = failing(copy, fault["tests"]) if made else None
        if made and not found and copy.options.whole:
            found = find_in_all(copy)
    result = "does not compile" if not made else "found" if found else "missed"
    log.add(key=fingerprint(fault), fault=fault["name"], result=result, by=found, seconds=round(time.monotonic() - begin),
            **({} if made else {"said": said}))
    print(f"{fault['name']}: {result}{f' by {found}' if found else ''}", flush=True)


def print_table(faults, log):
    print("| fault | stands for | file | found by |\n|---|---|---|---|")
    results = []
    for fault in faults:
        entry = log.of(fault) or {"result": "not tried"}
        results.append(entry["result"])
        if entry["result"] == "found" and log.sound(entry["by"]) is False:
            results[-1] = f"{entry['by']} fails without it, too"
        by = entry["by"] if results[-1] == "found" else results[-1].upper()
        print(f"| {fault['name']} | {fault['kind']} | `{fault['file']}` | {by} |")
    print(f"\n{len(faults)} faults, {results.count('found')} found, {results.count('missed')} missed")
    return all(result == "found" for result in results)


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    faults = faults_of(options)
    check_list(faults)
    if options.check:
        return print(f"{len(faults)} faults can be planted")
    options.work.mkdir(parents=True, exist_ok=True)
    options.work = options.work.resolve()
    log = Log(options.work / "log.jsonl")
    if options.again:
        log.forget(faults)
    if not options.table:
        plant(options, faults, log)
    sys.exit(0 if print_table(faults, log) else 1)


def plant(options, faults, log):
    left = [fault for fault in faults if not log.of(fault)]
    if not left and all(log.sound(entry["by"]) is not None for entry in map(log.of, faults) if entry["result"] == "found"):
        return
    copy = Copy(options)
    copy.take_sources()
    if copy.configure():
        made, said = copy.make(targets_of(test for fault in left for test in fault["tests"]))
        if not made:
            sys.exit(f"the sources without a fault do not compile:\n{said}")
    print(f"{len(left)} faults", flush=True)
    for fault in left:
        try_one(copy, log, fault)
    confirm(copy, log, faults)


if __name__ == "__main__":
    main()
