#!/usr/bin/env python3
"""Ranks that do not begin as the others do: rank_starts.py FOLDER TEMP [--trials N] [--seed K]

FOLDER and the programs are those of rank_trials.py. Half of the trials: one rank ends before MPI, with code 0 or another, sleeps, or has
too little memory; the job must end within the timeout, with a code other than 0. The other half: one rank finds a file of the same
name and size with one other bit (data, evaluation data, labels, weights); the job must end before its first step, with one message that
names file and rank.
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

from rank_trials import MOST, Program

ABSENT = {"ends with code 0": "exit 0", "ends with code 3": "exit 3", "sleeps": "sleep 100", "has no memory": "ulimit -v 60000"}
FILES = ["input.npy", "labels.npy", "eval-input.npy", "eval-labels.npy", "weights.safetensors"]


class Started(Program):
    def begin(self, rank, first, folder, *options):
        """All ranks in `folder`; `rank` does `first` before."""
        script = f'if [ $OMPI_COMM_WORLD_RANK = {rank} ]; then {first}; fi; exec "$@"'
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(self.ranks), "bash", "-c", script, "rank", self.path, *options]
        return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=open(self.folder / "said", "w"), start_new_session=True)

    def end(self, job):
        """Exit code (None: it did not end) and what was said."""
        try:
            code = job.wait(MOST)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
            code = None
        return code, (self.folder / "said").read_text()

    def absent(self, choose, kind):
        code, said = self.end(self.begin(choose.randrange(self.ranks), ABSENT[kind], self.folder, *self.options))
        return "" if code and code < 256 else f"exit code {code}: {said[-400:]}"

    def other_file(self, choose, name):
        rank, here, there = choose.randrange(1, self.ranks), self.folder / "here", self.folder / "there"
        for folder in (here, there):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for file, path in self.files.items():
                shutil.copyfile(path, folder / file)
        raw = bytearray((there / name).read_bytes())
        raw[-1 - choose.randrange(8)] ^= 1 << choose.randrange(8)
        (there / name).write_bytes(raw)
        data = [word for at, file in enumerate(FILES[:4]) for word in
                ("--data" if at < 2 else "--eval-data", f"{file.removeprefix('eval-').removesuffix('.npy')}={file}")]
        code, said = self.end(self.begin(rank, f"cd {there}", here, *data, "--weights", FILES[4], "--threads", "1", "--steps", "3"))
        right = f"'{name}': rank {rank} reads another file of this name than rank 0"
        return "" if code == 1 and right in said and said.count("kedge: error: ") == 1 else f"exit code {code}: {said[-400:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("temp", type=pathlib.Path)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--seed", type=int, default=43)
    given = parser.parse_args()
    choose, model = random.Random(given.seed), given.folder.resolve()
    worlds, programs, failures, good = [(stage, ranks) for stage in range(4) for ranks in (2, 3, 4)], {}, 0, collections.Counter()
    for at in range(given.trials):
        world = worlds[at // 2 % len(worlds)]
        if world not in programs:
            programs[world] = Started(model, given.temp, *world)
        program = programs[world]
        program.files = dict(zip(FILES, [model / "input.npy", model / "labels.npy"] * 2 + [program.whole]))
        kind = list(ABSENT)[at // 2 % len(ABSENT)] if at % 2 else FILES[at // 2 % len(FILES)]
        wrong = program.absent(choose, kind) if at % 2 else program.other_file(choose, kind)
        good[kind] += not wrong
        if wrong:
            failures += 1
            print(f"{at}: ZeRO {world[0]}, {world[1]} ranks, {kind}: {wrong}", flush=True)
    for kind in (*FILES, *ABSENT):
        print(f"| {kind} | {good[kind]} |")
    print(f"{given.trials} trials, {failures} failed")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
