#!/usr/bin/env python3
"""Where the time of a step goes: profile_summary.py [--least] [--nodes] PROFILE.json...

Each PROFILE.json is what a program wrote by --profile. Prints milliseconds a step by kind of launch, as means over its whole
steps but the first, and the share of all: products, convolutions, attention, updates (generated kernels of weights), the loss,
norms and other generated kernels, gathers, copies. Of several ranks it is rank 0's. --least: of each launch the least over the steps instead, for a machine with
other work. --nodes: by node of the model, layers of one name together, instead of by kind; of two profiles only the difference.
"""
import collections
import json
import re
import sys

KINDS = (("products", ("onnx.Gemm", "onnx.MatMul", "train.fused_product", "train.accumulate_product", "train.scaled_product", "train.sum_products",
                      "train.grouped_matmul", "train.grouped_matmul_grad")),
         ("convolutions", ("onnx.Conv", "train.conv")),
         ("attention", ("train.attention", "train.attention_grad")),
         ("gathers", ("onnx.Gather", "train.gather_grad", "train.add_gather_grad")), ("copies", ("onnx.Split", "onnx.Concat", "copy")),
         ("collectives", ("dist.",)))


def kind_of(event):
    name, place = event["name"], event["args"].get("loc", "")
    for kind, starts in KINDS:
        if name.startswith(starts):
            return kind
    if place.endswith((".weight", ".bias")):
        return "updates"
    return "loss" if "loss" in name or "loss" in place else "norms and elementwise"


def node_of(event):
    return re.sub(r"\d+", "#", event["args"].get("loc", "")) or event["name"]


def steps_of(events):
    """Launches step by step."""
    launches = [e for e in events if e.get("cat") in ("step", "micro", "update")]
    for whole in (e for e in events if e.get("cat") == "steps"):
        yield [e for e in launches if whole["ts"] <= e["ts"] < whole["ts"] + whole["dur"]]


def times_of(path, least, name):
    """Milliseconds a step by `name` of a launch, number of steps."""
    with open(path) as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X" and e["tid"] in (0, 1000) and e.get("pid", 0) == 0]
    steps = list(steps_of(events))[1:]
    if not steps:
        sys.exit(f"{path}: has less than two steps")
    times = collections.Counter()
    for launches in zip(*steps, strict=True):
        durations = [event["dur"] / 1e3 for event in launches]
        times[name(launches[0])] += min(durations) if least else sum(durations) / len(durations)
    return times, len(steps)


def summary(path, least, name):
    times, steps = times_of(path, least, name)
    total = sum(times.values())
    print(f"{path}: {total:.1f} ms a step, {steps} steps")
    for kind, milliseconds in times.most_common():
        print(f"  {kind:24}{milliseconds:10.1f} ms {milliseconds / total:7.1%}")


def difference(first, second, least):
    (a, _), (b, _) = (times_of(path, least, node_of) for path in (first, second))
    print(f"{'':32}{sum(a.values()):10.1f}{sum(b.values()):10.1f} ms")
    for node in sorted({*a, *b}, key=lambda node: a[node] - b[node]):
        if abs(b[node] - a[node]) >= 1:
            print(f"{node:32}{a[node]:10.1f}{b[node]:10.1f}{b[node] - a[node]:+10.1f}")


def main(words):
    if not words or words[0] in ("-h", "--help"):
        sys.exit(__doc__)
    profiles, least = [word for word in words if not word.startswith("--")], "--least" in words
    if "--nodes" in words and len(profiles) == 2:
        difference(*profiles, least)
        return
    for profile in profiles:
        summary(profile, least, node_of if "--nodes" in words else kind_of)


if __name__ == "__main__":
    main(sys.argv[1:])
