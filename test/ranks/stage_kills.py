#!/usr/bin/env python3
"""A rank of a pipeline is killed in each phase of a schedule: stage_kills.py GOLDEN TEMP [--all] [--json FILE].

The rank stops itself in front of a launch of the phase (KEDGE_STOP), so that the others run on to where they need it. Then it is killed. The job
ends in bounded time, and says which stage is gone and what the rank that noticed it waited for. Without --all there is one schedule and one rank a
phase of four, then two stages alone, of which the other one waits for a micro-batch; with it four schedules, and a rank of each stage in each phase.
"""
import argparse
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

LAUNCH = ["mpirun", "--allow-run-as-root", "--oversubscribe"]
WITHIN = 200  # seconds; an idle machine takes 5
PHASES = ("warm-up", "steady", "cool-down", "gradient exchange", "update", "evaluation")
CALL = re.compile(r' *exec\.(?:launch|copy)\b(?: library)?(?: "([^"]+)")?')
PART = re.compile(r"( *)// (forward|backward|update)\b")


def launches_of(text):
    """By function: the part of the step and the kernel of each launch. A comment is behind a launch, or in a line of its own before it."""
    found, now, own = {}, None, None
    for line in text.splitlines():
        part = PART.search(line)
        if function := re.match(r" *exec\.function @(\w+)", line):
            now, own = found.setdefault(function[1], []), None
        elif call := CALL.match(line):
            now.append([part[2] if part else own, call[1]])
            own = None
        elif part and part.start() == 0:
            own = part[2]
        elif part and now:
            now[-1][0] = part[2]
    return found


def points_of(launches, schedule):
    """A launch of each phase that the stage's program has."""
    step = launches["step"]
    forward, backward = ([at for at, (own, _) in enumerate(step) if own == part] for part in ("forward", "backward"))
    kernels = {kernel: at for at, (_, kernel) in enumerate(step)}
    points = {"warm-up": backward[0] // 2, "cool-down": (forward[-1] + backward[-1] + 1) // 2, "update": len(step) - 1}
    if schedule != "gpipe" and forward[-1] > backward[0]:  # all forwards come first in gpipe
        points["steady"] = (backward[0] + forward[-1]) // 2
    if "dist.reduce_scatter" in kernels:
        points["gradient exchange"] = kernels["dist.reduce_scatter"]
    return {phase: f"step:{at}" for phase, at in points.items()} | {"evaluation": f"eval:{len(launches['eval']) // 2}"}


def stopped(program, rank, job):
    """The rank's process, once it has stopped."""
    end = time.time() + WITHIN
    while time.time() < end and job.poll() is None:
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if (entry.name.isdigit() and os.readlink(entry / "exe") == str(program) and (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] == "T"
                        and f"OMPI_COMM_WORLD_RANK={rank}".encode() in (entry / "environ").read_bytes().split(b"\0")):
                    return int(entry.name)
            except OSError:
                pass
        time.sleep(0.02)
    raise AssertionError(f"rank {rank} has not stopped: {job.communicate()[1] if job.poll() is not None else 'still running'}")


class Program:
    def __init__(self, golden, temp, mesh, schedule):
        self.golden, self.path, sizes = golden, (temp / "program").absolute(), [int(size) for size in re.findall(r"=(\d+)", mesh)]
        self.stages, self.ranks = sizes[0], math.prod(sizes)
        command = ["kedge", "compile", golden / "gpt" / "model.onnx", "--shape", "input_ids=4x24", "--loss", "cross-entropy", "--mesh", mesh, "--zero", int("data" in mesh),
                   "--pipeline-schedule", schedule, "--accumulate", 4, "--optimizer", "adamw", "--clip-norm", 1, "-o", self.path]
        for more in ([], ["--emit", "exec"]):
            texts = temp / "exec.mlir"
            subprocess.run([*map(str, command[:-1]), str(texts if more else self.path), *more], check=True, capture_output=True)
        self.points = [points_of(launches_of(text), schedule) for text in re.split("^// rank ", texts.read_text(), flags=re.M)[1:]]

    def data(self, flag):
        return [word for name in ("input_ids", "labels") for word in (flag, f"{name}={self.golden / 'gpt' / name}.npy")]

    def stage_of(self, rank):
        return rank * self.stages // self.ranks

    def kill(self, rank, phase):
        """Kills it there. What was said, and the seconds until all had ended."""
        evaluation = [*self.data("--eval-data"), "--eval-every", 1] if phase == "evaluation" else []
        words = [*LAUNCH, "-np", self.ranks, self.path, *self.data("--data"), "--steps", 10**7, "--threads", 1, *evaluation]
        stop = f"{rank}:{self.points[self.stage_of(rank)][phase]}"
        job = subprocess.Popen([*map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=os.environ | {"KEDGE_STOP": stop})
        try:
            victim = stopped(self.path, rank, job)
            time.sleep(0.3)
            os.kill(victim, signal.SIGKILL)
            killed = time.time()
            _, text = job.communicate(timeout=WITHIN)
        finally:
            job.kill()
        assert job.returncode != 0, text
        assert f"rank {rank} (stage {self.stage_of(rank)}" in text and " is gone" in text, (stop, text)
        return text, time.time() - killed

    def check(self, rank, phase):
        text, seconds = self.kill(rank, phase)
        waited = re.findall(r"was in (dist\.\w+(?: of micro-batch \d+)?) at .*? in @(\w+)", text, re.S)
        assert waited or "was in an agreement of all ranks" in text, (rank, phase, text)
        return [f"{what} in @{function}" for what, function in waited], seconds


def all_phases(options):
    rows = []
    for schedule in ("gpipe", "1f1b", "interleaved=2", "zero-bubble"):
        mesh = "pipeline=2,data=2"
        program, slowest, counts = Program(options.golden, options.temp, mesh, schedule), 0, dict.fromkeys(PHASES, 0)
        for number, phase in enumerate(PHASES):
            for stage in range(program.stages):
                if phase in program.points[stage]:
                    _, seconds = program.check(2 * stage + number % 2, phase)
                    counts[phase] += 1
                    slowest = max(slowest, seconds)
        rows.append([mesh, schedule, *(counts[phase] or "" for phase in PHASES), f"{slowest:.1f}"])
        print(*rows[-1], flush=True)
    if options.json:
        options.json.write_text(json.dumps({"columns": ["mesh", "schedule", *PHASES, "slowest end, s"], "rows": rows}, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("golden", type=pathlib.Path)
    parser.add_argument("temp", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    options.temp.mkdir(parents=True, exist_ok=True)
    if options.all:
        return all_phases(options)
    program = Program(options.golden, options.temp, "pipeline=2,data=2", "1f1b")
    for number, phase in enumerate(PHASES):
        rank = (0, 3, 1, 2, 0, 3)[number]
        program.check(rank, phase)
        print(f"{phase}: rank {rank} of stage {program.stage_of(rank)} is named")
    program = Program(options.golden, options.temp, "pipeline=2", "gpipe")
    for rank, phase in ((0, "warm-up"), (1, "cool-down"), (0, "evaluation")):
        print(f"{phase}: stage {1 - rank} was in {program.check(rank, phase)[0]}")


if __name__ == "__main__":
    sys.exit(main())
