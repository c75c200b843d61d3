#!/usr/bin/env python3
"""Whether what lives in host memory changes nothing but memory.

offload.py FOLDER[#RUN][+OPTIONS] TEMP OPTION... -- compiles the golden model in FOLDER without and with each OPTION (one string,
as on the command line), and checks: equal steps, gradients and weights to the bit, with dead bytes of both arenas
poisoned, too; a run that was begun without the option goes on with it; the measured report has the plan's figures. An
option that ends in `!` must lower the arena, `--offload optimizer` by at least nine tenths of the optimizer's state; one
that ends in `?` may be infeasible, and compiles at the budget that it then names. DISK stands for a folder, in which nothing may be left.
"""
import os
import shutil
import subprocess
import sys

import recompute
import same_steps
from recompute import STEPS, Trained, words

SAME_AS_PLAN = recompute.SAME_AS_PLAN + ("host_bytes", "offload", "smallest_feasible_bytes", "fits")


class Golden(recompute.Golden):
    disk = property(lambda self: self.temp + ".disk")

    def run_program(self, name, *arguments, steps=STEPS, **environment):
        flags = words(self.run["run"])
        flags[flags.index("--steps") + 1] = steps
        done = subprocess.run([f"{self.temp}.{name}", *self.data, *flags, *arguments], capture_output=True, text=True,
                              env={**os.environ, **environment})
        if done.returncode:
            sys.exit(done.stderr)

    def results(self, name, poison):
        """Log without timings, bytes of the gradients of step 3 and of the weights."""
        at = f"{self.temp}.{name}.{poison}"
        self.run_program(name, "--log", at + ".jsonl", "--dump-gradients", at + ".grad", "--dump-step", "3",
                         "--export-safetensors", at + ".weights", KEDGE_POISON=poison)
        return same_steps.steps(at + ".jsonl"), open(at + ".grad", "rb").read(), open(at + ".weights", "rb").read()


def check_resume(golden):
    """Half of the run without offload, the rest with it."""
    folder = golden.temp + ".checkpoints"
    shutil.rmtree(folder, ignore_errors=True)
    log = golden.temp + ".resumed.jsonl"
    golden.run_program("none", "--checkpoint-dir", folder, "--log", log, steps=str(int(STEPS) // 2))
    golden.run_program("with", "--checkpoint-dir", folder, "--log", log, "--resume")
    golden.run_program("none", "--log", log + ".whole")
    if same_steps.steps(log) != same_steps.steps(log + ".whole"):
        sys.exit("resumed with offload: other numbers")


def check(golden, base, option):
    expected, none = base
    trained = Trained(golden, option)
    option, mark, report = trained.option, trained.mark, trained.report
    for poison in "01":
        for what, mine, theirs in zip(("steps", "gradients", "weights"), golden.results("with", poison), expected):
            if mine != theirs:
                sys.exit(f"{option}: other {what} than without, KEDGE_POISON={poison}")
    trained.planned(golden, SAME_AS_PLAN)
    if report["budget_bytes"] and report["arena_bytes"] > report["budget_bytes"]:
        sys.exit(f"{option}: {report['arena_bytes']} bytes in a budget of {report['budget_bytes']}")
    saved, optimizer = none["arena_bytes"] - report["arena_bytes"], none["state_bytes"]["optimizer"]
    enough = 0.9 * optimizer if trained.options == ["--offload", "optimizer"] else 1
    disk = report.get("disk_bytes", 0)
    if bool(disk) != ("=" in trained.options[1]) or os.listdir(golden.disk):
        sys.exit(f"{option}: {disk} bytes in files, {os.listdir(golden.disk)} left behind")
    if mark == "!" and (saved < enough or not report["host_bytes"] + disk):
        sys.exit(f"{option}: {saved} bytes less in the arena, {report['host_bytes']} in host memory, {disk} in files")
    print(f"{option}: equal, arena {report['arena_bytes']} of {none['arena_bytes']}, host {report['host_bytes']}, "
          f"files {disk} bytes, {report['recompute']['ops']} launches again")


def main():
    golden = Golden(sys.argv[1], sys.argv[2])
    os.makedirs(golden.disk, exist_ok=True)
    _, none = golden.train("none", [])
    base = golden.results("none", "0"), none
    for option in sys.argv[3:]:
        check(golden, base, option.replace("DISK", golden.disk))
    check_resume(golden)
    print("resumed: equal")


if __name__ == "__main__":
    main()
