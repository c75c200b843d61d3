#!/usr/bin/env python3
"""load.py FOLDER: predicted times follow how many rows each expert has. A log that a run wrote is as good as its counts in JSON; products and what is sent
are those of the rank with the most rows, by formulas; training stays as it is."""
import csv
import json
import subprocess
import sys

from mixture import EXPERTS, LENGTH, Mixture

ROWS, SLOTS, RANKS = 8, 2, 2
case = Mixture(sys.argv[1])
case.run(case.compile("counted", "--log-experts", rows=ROWS), "--steps", 3)
log = case.folder / "counted.jsonl"
(case.folder / "log.jsonl").rename(log)
lines = [json.loads(line)["experts"] for line in log.read_text().splitlines()]
(layer,) = lines[0]
counts = [sum(line[layer][expert] for line in lines) for expert in range(EXPERTS)]
assert sum(counts) == 3 * ROWS * LENGTH * SLOTS


def saved(name, load):
    path = case.folder / name
    path.write_text(json.dumps(load, indent=1))
    return path


def planned(load, *options):
    """Of a step: its plan, and the work of the launches by what they call."""
    table = case.folder / "launches.csv"
    plan = case.plan("model.onnx", "--device", "cpu", "--launches", table, *options, *(["--expert-load", load] if load else []), rows=ROWS)
    work = {}
    for row in csv.DictReader(table.open()):
        for key in ("train.grouped_matmul", "train.grouped_matmul_grad", "dist.dispatch", "dist.combine"):
            if row["function"] == "step" and row["kernel"] == key:
                flops, read, seconds = work.get(key, (0, 0, 0))
                work[key] = flops + float(row["flops"]), read + float(row["bytes_read"]), seconds + float(row["seconds"])
    return plan, work


by_name, by_order = saved("by-name.json", {layer: counts}), saved("by-order.json", [counts])
even, skewed = saved("even.json", [[1] * EXPERTS]), saved("skewed.json", [[0.75] + [0.25 / (EXPERTS - 1)] * (EXPERTS - 1)])
cut = ["--mesh", f"expert={RANKS}"]
free, without = planned(None, *cut)
plan, work = planned(even, *cut)
assert (plan["step_seconds"], work) == (free["step_seconds"], without), (plan["step_seconds"], free["step_seconds"])
plans = [planned(load, *cut) for load in (log, by_name, by_order)]
assert all((plan["step_seconds"], work) == (plans[0][0]["step_seconds"], plans[0][1]) for plan, work in plans)


def share(load):
    """Of the rank with the most rows, as a multiple of the even share."""
    own = EXPERTS // RANKS
    return RANKS * max(sum(load[first:first + own]) for first in range(0, EXPERTS, own)) / sum(load)


for (plan, work), load in ((plans[0], counts), (planned(skewed, *cut), json.loads(skewed.read_text())[0])):
    for key, (flops, read, seconds) in work.items():
        before = without[key]
        if key.startswith("dist"):
            assert abs(read / before[1] - share(load)) < 2e-3, (key, read, before, share(load))
        else:
            assert abs(flops / before[0] - share(load)) < 2e-3, (key, flops, before, share(load))
        assert seconds > before[2], (key, seconds, before)
    assert plan["step_seconds"] > free["step_seconds"] and plan["communication_seconds"] > free["communication_seconds"]
    assert (plan["peak_bytes"], plan["arena_bytes"]) == (free["peak_bytes"], free["arena_bytes"])
print(f"a skewed load takes {planned(skewed, *cut)[0]['step_seconds'] / free['step_seconds']:.2f} of the time")

# On one rank the work is that of any load; matrices without rows are not read (these would be in the cache: no time is won).
alone, whole = planned(None)
one, first = planned(saved("first.json", [[1] + [0] * (EXPERTS - 1)]))
assert first["train.grouped_matmul"][0] == whole["train.grouped_matmul"][0]
assert first["train.grouped_matmul"][1] < whole["train.grouped_matmul"][1] and one["step_seconds"] <= alone["step_seconds"]

# Training is the same to the bit.
assert case.run(case.compile("one", rows=ROWS), "--steps", 2) == case.run(case.compile("one-told", "--expert-load", by_name, rows=ROWS), "--steps", 2)
assert case.run(case.compile("cut", *cut, rows=ROWS // RANKS), "--steps", 2, ranks=RANKS) == case.run(
    case.compile("told", *cut, "--expert-load", log, rows=ROWS // RANKS), "--steps", 2, ranks=RANKS)


def said(load, *options):
    return subprocess.run(["kedge", "plan", case.folder / "model.onnx", "--shape", f"ids={ROWS}x{LENGTH}", "--loss", "cross-entropy", *cut, "--expert-load", load, *options],
                          capture_output=True, text=True)


note = said(skewed, "--expert-capacity", "1.5")
assert note.returncode == 0 and "give --expert-capacity 1.75 or more" in note.stderr, note.stderr
for load, words in ((saved("other.json", {"other": counts}), f"other.json:2: it has no layer '{layer}'"), (saved("few.json", [[1, 2]]), "few.json:2: it has 2 experts"),
                    (saved("below.json", [[1, -1]]), "below.json:2: a layer says -1 of expert 1"), (case.folder / "none.json", "cannot be read")):
    refused = said(load)
    assert refused.returncode == 1 and words in refused.stderr, (words, refused.stderr)
print("predicted times follow the load of experts")
