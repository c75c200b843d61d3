#!/usr/bin/env python3
"""Runs programs of unit tests, one more at a time than there are processors (those of ranks mostly wait for each other), and
prints what each said: run.py PROGRAM... The longest begin first, and the two longest are run in shards, so that all end at
about the same time."""
import concurrent.futures
import os
import subprocess
import sys

# By the seconds that they take; programs that are not named follow.
LONGEST = ["runtime", "gpu", "gradients", "cuda", "solver", "kernels", "compiled"]
SHARDS = {"gpu": 4, "runtime": 2}


def kind(program):
    return os.path.basename(program).removeprefix("kedge-unit-")


def parts(programs):
    """Each program with the number of a shard and their count, in the order of their start."""
    order = {name: place for place, name in enumerate(LONGEST)}
    for program in sorted(programs, key=lambda each: order.get(kind(each), len(order))):
        count = SHARDS.get(kind(program), 1)
        yield from ((program, shard, count) for shard in range(count))


def run(part):
    program, shard, count = part
    environment = {**os.environ, "GTEST_TOTAL_SHARDS": str(count), "GTEST_SHARD_INDEX": str(shard)}
    done = subprocess.run([program, "--gtest_brief=1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", env=environment)
    said = f"== {os.path.basename(program)}: exit code {done.returncode}\n{done.stdout}"
    print(said, end="" if said.endswith("\n") else "\n", flush=True)
    return program, done.returncode == 0


with concurrent.futures.ThreadPoolExecutor(os.cpu_count() + 1) as workers:
    results = list(workers.map(run, parts(sys.argv[1:])))
failed = sorted({os.path.basename(program) for program, fine in results if not fine})
if failed:
    sys.exit(f"unit tests failed: {', '.join(failed)}")
