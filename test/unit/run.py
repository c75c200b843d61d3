#!/usr/bin/env python3
"""Runs programs of unit tests, one more at a time than there are processors (those of ranks mostly wait for each other), and
prints what each said: run.py PROGRAM..."""
import concurrent.futures
import os
import subprocess
import sys


def run(program):
    done = subprocess.run([program, "--gtest_brief=1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace")
    said = f"== {os.path.basename(program)}: exit code {done.returncode}\n{done.stdout}"
    print(said, end="" if said.endswith("\n") else "\n", flush=True)
    return done.returncode == 0


with concurrent.futures.ThreadPoolExecutor(os.cpu_count() + 1) as workers:
    passed = list(workers.map(run, sys.argv[1:]))
failed = [os.path.basename(program) for program, fine in zip(sys.argv[1:], passed, strict=True) if not fine]
if failed:
    sys.exit(f"unit tests failed: {', '.join(failed)}")
