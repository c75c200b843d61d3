#!/usr/bin/env python3
"""Is a test flaky? Runs the quick tier again and again on a machine that is made busy, and writes a line for each run:

    scripts/check/busy_suite.py LOG.jsonl                    ten runs beside eight busy processes, then one on a single processor
    scripts/check/busy_suite.py LOG.jsonl --runs 20 --load 4

It can be stopped; started again it goes on with the runs that the log lacks of this commit. Exit 1: a run failed.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def busy(processes):
    """So many processes compute as long as this lasts."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def command(build):
    cache = (build / "CMakeCache.txt").read_text()
    lit = re.search(r"^KEDGE_LIT:FILEPATH=(.*)$", cache, re.M)[1]
    return [sys.executable, ROOT / "test/run.py", "--build", build, "--lit", lit]


def one_run(words, load, processors):
    begin = time.monotonic()
    restrict = (lambda: os.sched_setaffinity(0, processors)) if processors else None
    with busy(load):
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, errors="replace", preexec_fn=restrict)
    lines = done.stdout.splitlines()
    return {"exit": done.returncode, "minutes": round((time.monotonic() - begin) / 60, 1), "summary": lines[-1] if lines else "",
            "failed": [line.removeprefix("failed: ") for line in lines if line.startswith("failed: ")]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--load", type=int, default=8, help="busy processes beside the tests")
    options = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    rows = [json.loads(line) for line in options.log.read_text().splitlines()] if options.log.exists() else []
    kinds = [row["kind"] for row in rows if row["commit"] == commit]
    wanted = [("busy", options.load, None)] * options.runs + [("one processor", 0, {0})]
    for kind, load, processors in wanted:
        if kind in kinds:
            kinds.remove(kind)
            continue
        row = {"commit": commit, "kind": kind, "load": load, **one_run(command(options.build.resolve()), load, processors)}
        rows.append(row)
        with options.log.open("a") as log:
            log.write(json.dumps(row) + "\n")
        print(f"{kind}: {row['summary']} in {row['minutes']} minutes {' '.join(row['failed'])}", flush=True)
    failed = [row for row in rows if row["commit"] == commit and row["exit"]]
    print(f"{len(failed)} of {len([row for row in rows if row['commit'] == commit])} runs failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
