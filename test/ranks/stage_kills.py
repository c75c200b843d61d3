#!/usr/bin/env python3
"""A rank of a pipeline is lost: stage_kills.py GOLDEN TEMP [--trials N] [--json FILE]. In every phase of a schedule the job ends in
bounded time, and says which stage is gone, and which transfer another stage waited for.

A stopped rank (SIGSTOP) has all others wait for it where the schedule has them; then it is killed. Phases are read from what the survivors say: the
number of the transfer they were in is one of the step's, of which the first are forward alone (warm-up) and the last backward alone (cool-down).
With --trials N there are up to N kills, until each phase has been met.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

LAUNCH = ["mpirun", "--allow-run-as-root", "--oversubscribe"]
WITHIN = 40  # seconds, on a busy machine
STEP, ALL = ("warm-up", "steady", "cool-down"), ("warm-up", "steady", "cool-down", "gradient exchange", "update", "evaluation")


def processes(program):
    """By rank, as the launcher numbers them."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "exe") == str(program):
                variables = (entry / "environ").read_bytes().split(b"\0")
                rank = next(v.split(b"=")[1] for v in variables if v.startswith(b"OMPI_COMM_WORLD_RANK="))
                found[int(rank)] = int(entry.name)
        except (OSError, StopIteration):
            pass
    return found


class Program:
    """A program, with the phases of its transfers."""

    def __init__(self, golden, temp, name, mesh, schedule, *options, rows=4):
        self.golden, self.log, self.path, self.ranks = golden, temp / "log.jsonl", (temp / name).absolute(), 1
        for axis in mesh.split(","):
            self.ranks *= int(axis.split("=")[1])
        self.stages = int(re.search(r"pipeline=(\d+)", mesh)[1])
        words = ["kedge", "compile", golden / "gpt" / "model.onnx", "--shape", f"input_ids={rows}x24", "--loss", "cross-entropy", "--mesh", mesh,
                 "--pipeline-schedule", schedule, *options]
        subprocess.run([*map(str, words), "-o", self.path], check=True, capture_output=True)
        text = subprocess.run([*map(str, words), "--emit", "train"], check=True, capture_output=True, text=True).stdout
        self.phases = self.phases_of(re.sub(r"func\.func @(eval|predict).*?(?=\n// -----|\Z)", "", text, flags=re.S))

    @staticmethod
    def phases_of(text):
        """By number of the transfer: those of micro-batches by direction, which the place that follows the op tells."""
        directions = {}
        for at in re.finditer(r"dist\.(?:send|receive) [^{]*\{(micro = \d+ : i64, )?number = (\d+) .*?(?=\n    %|\n    train|\n    return)", text, re.S):
            place = re.findall(r"// (forward|backward|update)", text[:at.start()][-400:].rsplit("\n    %", 1)[-1] + at[0])
            directions[int(at[2])] = "none" if not at[1] else "backward" if "backward" in place[:1] else "forward"
        return directions

    def data(self, flag):
        return [word for name in ("input_ids", "labels") for word in (flag, f"{name}={self.golden / 'gpt' / name}.npy")]

    def lost(self, rank, after, *more):
        """What a survivor says that it waited for."""
        self.log.unlink(missing_ok=True)
        words = [*LAUNCH, "-np", self.ranks, self.path, *self.data("--data"), "--steps", 10**7, "--threads", 1, "--log", self.log, *more]
        job = subprocess.Popen([*map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            begin = time.time()
            while (not self.log.exists() or self.log.stat().st_size == 0) and time.time() - begin < WITHIN and job.poll() is None:
                time.sleep(0.05)
            time.sleep(after)
            victim = processes(self.path)[rank]
            os.kill(victim, signal.SIGSTOP)
            time.sleep(0.3)
            os.kill(victim, signal.SIGKILL)
            killed = time.time()
            _, text = job.communicate(timeout=WITHIN)
        finally:
            job.kill()
        assert job.returncode != 0, text
        assert f"rank {rank} (stage {rank * self.stages // self.ranks}) is gone" in text, text
        return text, time.time() - killed

    def phase(self, text):
        found = re.search(r"was in dist\.(\w+)( of micro-batch \d+)? at (.*?) in @(\w+)(?: \(transfer (\d+) )?", text, re.S)
        if not found:
            return "between steps"
        if found[4] != "step":
            return "evaluation"
        if not found[2]:
            return "update" if found[1] == "all_gather" else "begin" if self.isFirst(found[5]) else "gradient exchange"
        number, own = int(found[5]), self.phases
        backward = [n for n, direction in own.items() if direction == "backward"]
        forward = [n for n, direction in own.items() if direction == "forward"]
        return "warm-up" if number < min(backward) else "cool-down" if number > max(forward) else "steady"

    def isFirst(self, number):
        """States that other stages read are sent before the first micro-batch."""
        micros = [n for n, direction in self.phases.items() if direction != "none"]
        return number is not None and int(number) < min(micros)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("golden", type=pathlib.Path)
    parser.add_argument("temp", type=pathlib.Path)
    parser.add_argument("--trials", type=int, default=0)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    options.temp.mkdir(parents=True, exist_ok=True)
    if options.trials:
        return all_phases(options)
    waited, phases = [], collections.Counter()
    for stages, schedule in ((2, "1f1b"), (4, "gpipe")):
        program = Program(options.golden, options.temp, f"program-{stages}", f"pipeline={stages}", schedule, "--accumulate", 3)
        for trial in range(5):
            text, _ = program.lost(trial % stages, 0.013 * trial)
            waited += re.findall(r"of (micro-batch \d+) at", text)
            phases[program.phase(text)] += 1
    text, _ = program.lost(1, 0, *program.data("--eval-data"), "--eval-every", 1)
    print(f"{len(waited) >= 5} and {len(set(waited)) >= 2}: others waited for a named micro-batch")
    print(f"{sum(phases[phase] for phase in STEP) > 0}: phases by transfer")


def all_phases(options):
    rows = []
    for mesh, schedule, more in (("pipeline=4", "1f1b", []), ("pipeline=2", "zero-bubble", []), ("pipeline=2", "interleaved=2", []),
                                 ("pipeline=2,data=2", "gpipe", ["--zero", "1"])):
        program = Program(options.golden, options.temp, "program", mesh, schedule, "--accumulate", 6, "--optimizer", "adamw", "--clip-norm", 1, *more)
        met, slowest = collections.Counter(), 0
        wanted = [phase for phase in ALL if phase != "update" or more]
        for trial in range(options.trials):
            evaluating = trial % 6 == 5 or (met["evaluation"] == 0 and all(met[phase] for phase in wanted if phase != "evaluation"))
            evaluation = [*program.data("--eval-data"), "--eval-every", 1] if evaluating else []
            text, seconds = program.lost(trial % program.ranks, 0.017 * (trial % 23), *evaluation)
            met[program.phase(text)] += 1
            slowest = max(slowest, seconds)
            if all(met[phase] for phase in wanted):
                break
        missing = [phase for phase in wanted if not met[phase]]
        rows.append([mesh, schedule, *(met[phase] if phase in wanted else "" for phase in ALL), sum(met.values()), f"{slowest:.1f}"])
        print(*rows[-1], f"not met: {missing}" if missing else "every phase met", flush=True)
    if options.json:
        options.json.write_text(json.dumps({"columns": ["mesh", "schedule", *ALL, "kills", "slowest end, s"], "rows": rows}, indent=1) + "\n")
    sys.exit(any(0 in row for row in rows))


if __name__ == "__main__":
    main()
