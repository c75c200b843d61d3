#!/usr/bin/env python3
"""The bubble of a schedule with measured times of its stages, beside the predicted one.

pipeline_bubble.py MODEL --shape INPUT=8x128 --tokens FILE [--ranks 4] [--micro 8] [--schedules 1f1b gpipe] [--steps 6] [--json FILE]

A machine with fewer cores than ranks cannot show a bubble: ranks wait for cores, too. So the stages are timed one at a time: with one micro-batch no two
ranks compute at once. Each launch counts with its least time of all steps, forward and backward apart. Then the schedule of the plan is replayed
with these times, every slot as soon as what it waits for has ended: a simulation of the schedule on ranks that have a core each and send in no time. The prediction is
the same with times of the device model. Kedge and mpirun are taken from PATH.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import tempfile


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def stage_seconds(model, options, temp):
    """Forward and backward of a micro-batch, by stage."""
    program, trace = temp / "program", temp / "trace.json"
    run("kedge", "compile", model, *options.compile, "--mesh", f"pipeline={options.ranks}", "--accumulate", 1, "-o", program)
    run("mpirun", "--allow-run-as-root", "--oversubscribe", "-np", options.ranks, program, "--tokens", options.tokens, "--steps", options.steps,
        "--threads", 1, "--profile", trace)
    least = collections.defaultdict(lambda: float("inf"))
    backward = set()
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event["ph"] == "X" and event["cat"] == "step" and not event["name"].startswith("dist."):
            key = event["pid"], event["args"]["launch"]
            least[key] = min(least[key], event["dur"] / 1e6)
            if "(backward)" in event["args"].get("loc", ""):
                backward.add(key)
    seconds = []
    for rank in range(options.ranks):
        own = sorted(key for key in least if key[0] == rank)
        first = min(key for key in backward if key[0] == rank)
        seconds.append((sum(least[key] for key in own if key < first), sum(least[key] for key in backward if key[0] == rank)))
    return seconds


def replayed(slots, seconds, ranks):
    """The share of waiting, with each rank's own order."""
    orders = [[slot for slot in slots if slot["rank"] == rank] for rank in range(ranks)]
    ends, free, turn = {}, [0.0] * ranks, [0] * ranks
    while any(turn[rank] < len(orders[rank]) for rank in range(ranks)):
        for rank in range(ranks):
            while turn[rank] < len(orders[rank]):
                slot = orders[rank][turn[rank]]
                part, stage, micro = slot["part"], slot["stage"], slot["micro"]
                needs = [("forward", stage - 1, micro)] if part == "forward" else [("forward", stage, micro), ("backward", stage + 1, micro)]
                needs = [one for one in needs if 0 <= one[1] < ranks]
                if any(one not in ends for one in needs):
                    break
                begin = max([free[rank], *(ends[one] for one in needs)])
                free[rank] = ends[part, stage, micro] = begin + seconds[stage][part == "backward"]
                turn[rank] += 1
    busy = sum(seconds[slot["stage"]][slot["part"] == "backward"] for slot in slots)
    return 1 - busy / (ranks * max(free))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--shape", required=True)
    parser.add_argument("--tokens", type=pathlib.Path, required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--schedules", nargs="+", default=["1f1b", "gpipe"], choices=["1f1b", "gpipe"])
    for name, value in dict(ranks=4, micro=8, steps=6).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    options.compile = ["--shape", options.shape, "--loss", "cross-entropy"]
    with tempfile.TemporaryDirectory() as folder:
        seconds = stage_seconds(options.model, options, pathlib.Path(folder))
    rows = []
    for schedule in options.schedules:
        plan = json.loads(run("kedge", "plan", options.model, *options.compile, "--mesh", f"pipeline={options.ranks}", "--accumulate", options.micro,
                              "--pipeline-schedule", schedule, "--json"))["pipeline"]
        rows.append([schedule, f"{100 * plan['bubble']:.1f}%", f"{100 * replayed(plan['slots'], seconds, options.ranks):.1f}%"])
        print(f"{schedule}: predicted {rows[-1][1]}, replayed with measured times {rows[-1][2]}")
    total = sum(a + b for a, b in seconds)
    planned = sum(stage["seconds"] for stage in plan["stages"])
    stages = [[stage, f"{100 * sum(own) / total:.1f}%", f"{100 * plan['stages'][stage]['seconds'] / planned:.1f}%", f"{1000 * own[0]:.1f}", f"{1000 * own[1]:.1f}"]
              for stage, own in enumerate(seconds)]
    for row in stages:
        print("stage {}: {} of the measured time, {} of the predicted; forward {} ms, backward {} ms".format(*row))
    if options.json:
        options.json.write_text(json.dumps({"schedules": rows, "stages": stages}, indent=1) + "\n")


if __name__ == "__main__":
    main()
