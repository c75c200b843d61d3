#!/usr/bin/env python3
"""The bubble of a schedule with measured times of its stages, beside the predicted one.

pipeline_bubble.py MODEL --shape INPUT=8x128 --tokens FILE [--ranks 4] [--micro 8] [--schedules 1f1b ...] [--steps 6] [--json FILE]

A machine with fewer cores than ranks cannot show a bubble: ranks wait for cores, too. So the stages are timed one at a time: with one micro-batch no two
ranks compute at once. Each launch counts with its least time of all steps, for the stage whose modules it is of, forward and backward apart. The time
of a backward pass is split into that of inputs and that of weights (zero-bubble) as the plan's is. Then the schedule of the plan is replayed with these
times, every slot as soon as what it waits for has ended: a simulation of the schedule on ranks that have a core each and send in no time. The
prediction is the same with times of the device model. Kedge and mpirun are taken from PATH.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import tempfile

SCHEDULES = ["1f1b", "gpipe", "interleaved=2", "zero-bubble"]


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


class Stages:
    """Measured seconds of a micro-batch by stage and part, and the plan of a schedule."""

    def __init__(self, model, options, schedule, temp):
        self.ranks, self.options, self.temp = options.ranks, options, temp
        self.command = [model, *options.compile, "--mesh", f"pipeline={options.ranks}", "--pipeline-schedule", schedule]
        self.plan = json.loads(run("kedge", "plan", *self.command, "--accumulate", options.micro, "--json"))["pipeline"]
        self.slots = self.plan["slots"]
        self.count = len(self.plan["stages"])
        self.seconds = self.measured()

    def measured(self):
        program, trace = self.temp / "program", self.temp / "trace.json"
        run("kedge", "compile", *self.command, "--accumulate", 1, "-o", program)
        run("mpirun", "--allow-run-as-root", "--oversubscribe", "-np", self.ranks, program, "--tokens", self.options.tokens, "--steps", self.options.steps,
            "--threads", 1, "--profile", trace)
        least, locs = collections.defaultdict(lambda: float("inf")), {}
        for event in json.loads(trace.read_text())["traceEvents"]:
            if event["ph"] == "X" and event["cat"] == "step" and not event["name"].startswith("dist."):
                key = event["pid"], event["args"]["launch"]
                least[key] = min(least[key], event["dur"] / 1e6)
                locs[key] = event["args"].get("loc", "")
        seconds = collections.Counter()
        for rank in range(self.ranks):
            self.add_rank(rank, {at: least[rank, at] for at in sorted(at for of, at in least if of == rank)}, locs, seconds)
        return self.with_weights(seconds)

    def add_rank(self, rank, least, locs, seconds):
        """A launch that names no module of the rank's stages is of the stage of the one before it. What comes after the last backward one is the update."""
        stage_of = {module: stage["stage"] for stage in self.plan["stages"] if stage["rank"] == rank for module in stage["modules"]}
        backward = [at for at in least if "(backward)" in locs[rank, at]]
        stage = min(stage_of.values())
        for at in least:
            stage = stage_of.get(locs[rank, at].split(" ")[0].split(",")[0], stage)
            if at <= backward[-1]:
                seconds["backward" if at in backward else "forward", stage] += least[at]

    def with_weights(self, seconds):
        planned = collections.Counter()
        for slot in self.slots:
            if slot["micro"] == 0:
                planned[slot["part"], slot["stage"]] += slot["end"] - slot["begin"]
        for stage in range(self.count):
            share = planned["weights", stage] / (planned["weights", stage] + planned["backward", stage])
            seconds["weights", stage] = share * seconds["backward", stage]
            seconds["backward", stage] *= 1 - share
        return seconds

    def needs(self, slot):
        part, stage, micro = slot["part"], slot["stage"], slot["micro"]
        wanted = {"forward": [("forward", stage - 1, micro)], "backward": [("forward", stage, micro), ("backward", stage + 1, micro)],
                  "weights": [("backward", stage, micro)]}[part]
        return [one for one in wanted if 0 <= one[1] < self.count]

    def replayed(self):
        """The share of waiting, with each rank's own order."""
        orders = [[slot for slot in self.slots if slot["rank"] == rank] for rank in range(self.ranks)]
        ends, free, turn, moved = {}, [0.0] * self.ranks, [0] * self.ranks, True
        while moved:
            moved = False
            for rank, order in enumerate(orders):
                while turn[rank] < len(order) and all(one in ends for one in self.needs(order[turn[rank]])):
                    slot = order[turn[rank]]
                    begin = max([free[rank], *(ends[one] for one in self.needs(slot))])
                    free[rank] = ends[slot["part"], slot["stage"], slot["micro"]] = begin + self.seconds[slot["part"], slot["stage"]]
                    turn[rank] += 1
                    moved = True
        assert all(turn[rank] == len(order) for rank, order in enumerate(orders)), "the schedule waits for ever"
        busy = sum(self.seconds[slot["part"], slot["stage"]] for slot in self.slots)
        return 1 - busy / (self.ranks * max(free))

    def rows(self):
        total, planned = sum(self.seconds.values()), sum(stage["seconds"] for stage in self.plan["stages"])
        parts = [[self.seconds[part, stage] for part in ("forward", "backward", "weights")] for stage in range(self.count)]
        return [[stage, f"{100 * sum(own) / total:.1f}%", f"{100 * self.plan['stages'][stage]['seconds'] / planned:.1f}%",
                 *(f"{1000 * one:.1f}" for one in own)] for stage, own in enumerate(parts)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--shape", required=True)
    parser.add_argument("--tokens", type=pathlib.Path, required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--schedules", nargs="+", default=SCHEDULES, choices=SCHEDULES)
    for name, value in dict(ranks=4, micro=8, steps=6).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    options.compile = ["--shape", options.shape, "--loss", "cross-entropy"]
    rows = []
    for schedule in options.schedules:
        with tempfile.TemporaryDirectory() as folder:
            stages = Stages(options.model, options, schedule, pathlib.Path(folder))
        rows.append([schedule, f"{100 * stages.plan['bubble']:.1f}%", f"{100 * stages.replayed():.1f}%"])
        print(f"{schedule}: predicted {rows[-1][1]}, replayed with measured times {rows[-1][2]}", flush=True)
        for row in stages.rows():
            print("  stage {}: {} of the measured time, {} of the predicted; forward {} ms, backward {} ms, weights apart {} ms".format(*row))
    if options.json:
        options.json.write_text(json.dumps({"columns": ["schedule", "predicted", "replayed with measured times"], "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
