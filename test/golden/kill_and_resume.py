#!/usr/bin/env python3
"""kill -9 at several moments, then --resume: the log equals an uninterrupted run's.

kill_and_resume.py FOLDER PROGRAM ARGUMENTS...
"""
import pathlib
import shutil
import subprocess
import sys
import time

import same_steps


def main():
    folder, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    whole, broken, checkpoints = folder / "whole.jsonl", folder / "broken.jsonl", folder / "killed"
    shutil.rmtree(checkpoints, ignore_errors=True)
    subprocess.run(command + ["--log", whole], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    steps = len(same_steps.steps(whole))
    saving = command + ["--log", broken, "--checkpoint-dir", checkpoints, "--checkpoint-every", "7"]
    kills = 0
    for lines in (9, 60, 120):  # killed once the log has so many lines
        resume = ["--resume"] if checkpoints.exists() and any(checkpoints.glob("step-*")) else []
        process = subprocess.Popen(saving + resume, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and (not broken.exists() or broken.read_bytes().count(b"\n") < lines):
            time.sleep(0.002)
        kills += process.poll() is None
        process.kill()
        process.wait()
    subprocess.run(saving + ["--resume"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if same_steps.steps(broken) != same_steps.steps(whole):
        sys.exit("the resumed log differs from the uninterrupted one")
    print(f"killed {kills} times; {steps} steps equal the uninterrupted run's")


if __name__ == "__main__":
    main()
