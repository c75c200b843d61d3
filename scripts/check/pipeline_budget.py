#!/usr/bin/env python3
"""A model that one rank has no room for trains on the stages of a pipeline within the same budget, and every rank takes what was planned.

pipeline_budget.py MODEL TEMP --shape INPUT=1x128 --tokens FILE --budget 1536MiB [--ranks 4] [--micro 4] [--steps 2] [--json FILE]

scripts/make/make_gpt2.py writes such a model. Kedge and mpirun are taken from PATH.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys


def run(*command, code=0):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}, expected {code}: {done.stdout[-500:]}{done.stderr[-2000:]}")
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("temp", type=pathlib.Path)
    for name in ("shape", "tokens", "budget"):
        parser.add_argument(f"--{name}", required=True)
    for name, value in dict(ranks=4, micro=4, steps=2).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    words = [options.model, "--shape", options.shape, "--loss", "cross-entropy", "--optimizer", "adamw", "--clip-norm", 1, "--accumulate", options.micro,
             "--memory-budget", options.budget]
    one = run("kedge", "compile", *words, "-o", options.temp / "one", code=2).stderr
    needed = int(re.search(r"smallest feasible budget: (\d+)", one)[1])
    print(f"one rank: does not fit; it needs {needed / 2**20:.0f} MiB", flush=True)
    mesh = ["--mesh", f"pipeline={options.ranks}"]
    planned = json.loads(run("kedge", "plan", *words, *mesh, "--json").stdout)
    print("planned", [row["arena_bytes"] for row in planned["ranks"]], flush=True)
    program, log, report = (options.temp / name for name in ("program", "log.jsonl", "memory.json"))
    run("kedge", "compile", *words, *mesh, "-o", program)
    log.unlink(missing_ok=True)
    run("mpirun", "--allow-run-as-root", "--oversubscribe", "-np", options.ranks, program, "--tokens", options.tokens, "--steps", options.steps, "--threads", 1,
        "--log", log, "--memory-report", report)
    losses = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    rows = []
    for row in planned["ranks"]:
        file = report if row["rank"] == 0 else report.with_name(f"memory.rank-{row['rank']}.json")
        measured = json.loads(file.read_text())["arena_bytes"]
        rows.append([str(row["rank"]), f"{row['arena_bytes'] / 2**20:.1f}", f"{measured / 2**20:.1f}", "yes" if measured == row["arena_bytes"] else "no"])
        print("rank {}: planned {} MiB, measured {} MiB, equal: {}".format(*rows[-1]))
    print("losses", losses)
    if options.json:
        options.json.write_text(json.dumps({"columns": ["rank", "planned, MiB", "measured, MiB", "equal"], "rows": rows, "needed_by_one": needed,
                                            "losses": losses}, indent=1) + "\n")
    sys.exit(any(row[3] == "no" for row in rows) or not all(loss == loss for loss in losses))


if __name__ == "__main__":
    main()
