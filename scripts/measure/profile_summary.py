#!/usr/bin/env python3
"""Where the time of a step goes: profile_summary.py [--least] PROFILE.json...

Each PROFILE.json is what a program wrote by --profile. Prints milliseconds a step by kind of launch, as means over its whole
steps but the first, and the share of all: products, convolutions, attention, updates (generated kernels of weights), the loss,
norms and other generated kernels, gathers, copies. Of several ranks it is rank 0's. --least: of each launch the least over the steps instead, for a machine with
other work.
"""
import collections
import json
import sys

KINDS = (("products", ("onnx.Gemm", "onnx.MatMul", "train.FusedProduct", "train.AccumulateProduct", "train.ScaledProduct")),
         ("convolutions", ("onnx.Conv", "train.Conv")),
         ("attention", ("train.Attention", "train.AttentionGrad")),
         ("gathers", ("onnx.Gather", "train.GatherGrad")), ("copies", ("onnx.Split", "onnx.Concat", "copy")),
         ("collectives", ("dist.",)))


def kind_of(event):
    name, place = event["name"], event["args"].get("loc", "")
    for kind, starts in KINDS:
        if name.startswith(starts):
            return kind
    if place.endswith((".weight", ".bias")):
        return "updates"
    return "loss" if "loss" in name or "loss" in place else "norms and elementwise"


def steps_of(events):
    """Launches step by step: a step begins where launch numbers begin anew."""
    step = []
    for event in events:
        if step and event["args"]["launch"] < step[-1]["args"]["launch"] and event["tid"] == 0:
            yield step
            step = []
        step.append(event)
    yield step


def summary(path, least):
    with open(path) as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X" and e.get("cat") == "step" and e["tid"] == 0
                  and e.get("pid", 0) == 0]
    steps = list(steps_of(events))[1:]
    if not steps:
        sys.exit(f"{path}: has less than two steps")
    times = collections.Counter()
    for launches in zip(*steps):
        durations = [event["dur"] / 1e3 for event in launches]
        times[kind_of(launches[0])] += min(durations) if least else sum(durations) / len(durations)
    total = sum(times.values())
    print(f"{path}: {total:.1f} ms a step, {len(steps)} steps")
    for kind, milliseconds in times.most_common():
        print(f"  {kind:24}{milliseconds:10.1f} ms {milliseconds / total:7.1%}")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    for profile in sys.argv[1:]:
        if profile != "--least":
            summary(profile, least="--least" in sys.argv)
