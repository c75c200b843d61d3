#!/usr/bin/env python3
"""Options with values beyond reason: mutate_options.py MODEL FOLDER [--runs N | --seconds S] [--seed K] -- COMPILE-OPTIONS

Each run gives one or two options of `kedge plan` or of a compiled program (all that --help lists with a value) texts that
mean nothing there. An exit code beyond 0 to 2, or a minute without an end, is a finding.
"""
import argparse
import pathlib
import random
import re
import subprocess
import sys
import time

VALUES = ["nan", "inf", "-inf", "-1", "0", "1e308", "1e-320", "9223372036854775808", "-9223372036854775809", "", " ", "1.5", "0x10",
          "1,2,3", "=", "a=b", "(", "a{9999}", "(" * 5000, "\\", "/", ".", "/dev/null", "\x1b[31m", "%", "1%", "100000%", "1GiB", "-5%"]
# They would only wait: a run of many steps, a search without an end.
SLOW = {"--steps", "--effort"}


def options_of(command):
    text = subprocess.run([*command, "--help"], capture_output=True, text=True).stdout
    return [flag for flag in re.findall(r"^  (--[\w-]+) [A-Z]", text, re.M) if flag not in SLOW]


def main():
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(sys.argv[1:at])
    folder = pathlib.Path(given.folder)
    folder.mkdir(parents=True, exist_ok=True)
    model, shared = str(pathlib.Path(given.model).resolve()), sys.argv[at + 1:]
    subprocess.run(["kedge", "compile", model, *shared, "-o", folder / "program"], check=True)
    commands = [(["kedge", "plan", model, *shared], options_of(["kedge", "plan"])),
                (["./program", "--steps", "0"], options_of([str(folder.resolve() / "program")]))]
    begin, run, findings = time.monotonic(), 0, 0
    while time.monotonic() - begin < given.seconds if given.seconds else run < given.runs:
        choose = random.Random(given.seed * 1000003 + run)
        command, flags = choose.choice(commands)
        words = [f"{choose.choice(flags)}={choose.choice(VALUES)}" for _ in range(choose.randint(1, 2))]
        try:
            code = subprocess.run([*command, *words], capture_output=True, timeout=60, cwd=folder).returncode
        except subprocess.TimeoutExpired:
            code = "no end"
        if code not in (0, 1, 2):
            findings += 1
            print(f"finding: {' '.join(command)} {words}: {code}", flush=True)
        run += 1
    print(f"{run} commands, {findings or 'no'} finding{'s' if findings > 1 else ''}")
    sys.exit(findings != 0)


if __name__ == "__main__":
    main()
