#!/usr/bin/env python3
"""Ranks that are killed, stopped and told to end in every phase: rank_trials.py FOLDER TEMP [--trials N] [--seed K] [--phases P...] [--stages S...]

FOLDER holds a golden model with the data of a perceptron (input.npy, labels.npy). Programs of ZeRO 0 to 3 on 2 to 4 ranks are
compiled once each. A trial starts one under mpirun and sends SIGKILL, SIGSTOP, SIGTERM or SIGINT to one rank in a phase: the
start, MPI_Init, a step, a checkpoint, an evaluation, an export, MPI_Finalize. The job must end within the timeout and with the
right exit code, its newest checkpoint must be whole, and resumed it must export what an uninterrupted run exports, to the bit.
A rank that was stopped after all others had ended is only paused (they left after an agreement with it that nothing is left to do): it is
told to go on, and must end well, in whatever phase the stop was meant.
A job whose ranks have all ended while mpirun itself has not is counted apart (last column), and must resume like the others.
"""
import argparse
import collections
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import kills

STEPS, TIMEOUT, MOST = 60, 4, 240  # a busy machine needs seconds for a step
PHASES = ["start", "init", "step", "checkpoint", "evaluation", "export", "finalize"]
SIGNALS = [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT]


def ranks_of(launcher):
    """Process ids of the launcher's ranks, by rank."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if int((path / "stat").read_text().rpartition(")")[2].split()[1]) != launcher.pid:
                continue
            for variable in (path / "environ").read_bytes().split(b"\0"):
                if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                    found[int(variable.partition(b"=")[2])] = int(path.name)
        except (OSError, ValueError, IndexError):
            pass
    return found


def has_stopped(process):
    """False when it had ended before the signal: what has ended and was not waited for takes signals without an effect."""
    while True:
        try:
            state = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        if state in "TtZX":
            return state in "Tt"
        time.sleep(0.001)


class Program:
    def __init__(self, model, folder, stage, ranks):
        self.folder, self.ranks = folder / f"zero-{stage}-ranks-{ranks}", ranks
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / "program"
        subprocess.run(["kedge", "compile", model / "model.onnx", "--shape", "input=2x10", "--loss", "mse", "--ranks", str(ranks), "--zero",
                        str(stage), "-o", self.path], check=True)
        data = [word for kind in ("--data", "--eval-data") for name in ("input", "labels") for word in (kind, f"{name}={model / name}.npy")]
        self.options = [*data, "--threads", "1", "--shuffle", "5", "--steps", str(STEPS), "--comm-timeout", str(TIMEOUT), "--eval-every", "1"]
        self.whole = self.folder / "whole.safetensors"
        begin = time.monotonic()
        self.start("--export-safetensors", self.whole).wait(MOST)
        self.seconds = time.monotonic() - begin

    def start(self, *options):
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(self.ranks), self.path, *self.options, *options]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=open(self.folder / "said", "w"), start_new_session=True)


class Trial:
    def __init__(self, program, phase, number, choose):
        self.program, self.phase, self.signal, self.choose = program, phase, number, choose
        self.checkpoints, self.log = program.folder / "ck", program.folder / "log.jsonl"
        self.export = program.folder / "trained.safetensors"
        self.launcher_hung = self.paused = False

    def clean(self):
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        self.log.unlink(missing_ok=True)
        self.export.unlink(missing_ok=True)

    def start(self, *options):
        return self.program.start("--log", self.log, "--checkpoint-dir", self.checkpoints, "--checkpoint-every", "10",
                                  "--export-safetensors", self.export, *options)

    def lines(self):
        return self.log.read_bytes().count(b"\n") if self.log.exists() else 0

    def reached(self, since):
        if self.phase == "start":
            return True
        if self.phase == "init":
            return time.monotonic() - since > self.delay
        if self.phase == "checkpoint":
            return self.lines() >= self.line - self.line % 10
        if self.phase == "export":
            return (self.checkpoints / f"step-{STEPS}").exists()
        return self.export.exists() if self.phase == "finalize" else self.lines() >= self.line

    def target(self, job):
        """A rank once the phase is reached; None when the job is faster. Processes are looked up before, so that the signal comes at once."""
        begin, rank = time.monotonic(), self.choose.randrange(self.program.ranks)
        self.line, self.delay = self.choose.randint(10, STEPS - 10), self.choose.uniform(0, 0.3)
        process = None
        while job.poll() is None and time.monotonic() - begin < MOST:
            process = process or ranks_of(job).get(rank)
            if process and self.reached(begin):
                return process
            time.sleep(0.0005)
        return None

    def run(self):
        """What was wrong; empty: nothing. None: the job had ended first."""
        self.clean()
        job = self.start()
        process = self.target(job)
        try:
            os.kill(process, self.signal)
            if self.signal == signal.SIGSTOP and not has_stopped(process):
                process = None
        except TypeError:  # it has ended, or the machine is too busy
            process = None
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)
        except ProcessLookupError:
            process = None
        try:
            code = self.wait(job, process)
        except subprocess.TimeoutExpired:
            alive = sorted(ranks_of(job))
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
            if not alive:  # every rank has ended, and the launcher waits for itself: its exit code is ours
                self.launcher_hung = True
                return self.verdict(1)
            return f"no end within {MOST} s, ranks {alive} alive: {(self.program.folder / 'said').read_text()[-400:]}"
        return self.verdict(code) if process else None

    def wait(self, job, process):
        """Who misses a rank says so within the timeout; where nobody has, and the stopped one alone is left, it goes on."""
        for _ in range(MOST // (4 * TIMEOUT)):
            try:
                return job.wait(4 * TIMEOUT)
            except subprocess.TimeoutExpired:
                if self.is_only_paused(job, process, sorted(ranks_of(job))):
                    self.paused = True
                    os.kill(process, signal.SIGCONT)
        return job.wait(1)

    def is_only_paused(self, job, process, alive):
        """The others have said nothing and ended: who misses a rank says so."""
        said = (self.program.folder / "said").read_text()
        return self.signal == signal.SIGSTOP and "kedge: error" not in said and [ranks_of(job)[rank] for rank in alive] == [process]

    def verdict(self, code):
        said = (self.program.folder / "said").read_text()
        begun = self.lines() > 0
        right = {128 + self.signal, 0} if self.signal in (signal.SIGTERM, signal.SIGINT) else set(range(self.phase != "finalize", 256))
        if self.paused:
            right = {0}
        if code not in right and (begun or code == 0):
            return f"exit code {code}: {said[-400:]}"
        newest = kills.newest(self.checkpoints) if self.checkpoints.exists() else -1
        if begun and code > 128 and code != 137 and newest < 0:
            return f"exit code {code} without a checkpoint: {said[-400:]}"
        resumed = self.start(*(["--resume"] if newest >= 0 else []))
        try:
            code = resumed.wait(5 * MOST)
        except subprocess.TimeoutExpired:
            os.killpg(resumed.pid, signal.SIGKILL)
            resumed.wait()
            return f"resumed from {newest} it did not end within {5 * MOST} s"
        if code != 0:
            return f"not resumed from {newest}: {(self.program.folder / 'said').read_text()[-400:]}"
        return "" if self.export.read_bytes() == self.program.whole.read_bytes() else f"other weights, resumed from {newest}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("temp", type=pathlib.Path)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=43)
    parser.add_argument("--phases", nargs="+", choices=PHASES, default=PHASES)
    parser.add_argument("--stages", nargs="+", type=int, choices=range(4), default=range(4))
    given = parser.parse_args()
    choose = random.Random(given.seed)
    worlds = [(stage, ranks) for stage in given.stages for ranks in (2, 3, 4)]
    cases = [(phase, number) for phase in given.phases for number in SIGNALS]
    programs, counts, failures = {}, collections.Counter(), 0
    for at in range(given.trials):
        phase, number = cases[at % len(cases)]
        world = worlds[(at + at // len(cases)) % len(worlds)]
        if world not in programs:
            programs[world] = Program(given.folder.resolve(), given.temp, *world)
        trial = Trial(programs[world], phase, number, choose)
        wrong = trial.run()
        counts[phase, "launcher"] += trial.launcher_hung
        counts[phase, "too late" if wrong is None else "failed" if wrong else "good"] += 1
        if wrong:
            failures += 1
            print(f"{at}: ZeRO {world[0]}, {world[1]} ranks, {number.name} in {phase}: {wrong}", flush=True)
    for phase in given.phases:
        print(f"| {phase} | {counts[phase, 'good']} | {counts[phase, 'too late']} | {counts[phase, 'failed']} | {counts[phase, 'launcher']} |")
    print(f"{given.trials} trials, {failures} failed")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
