"""Plans the ways that --auto chooses from: plan_auto.py RANKS SHARE all|whole kedge plan MODEL --shape INPUT=ROWSx... OPTIONS.

The budget is SHARE percent of the peak of the plan without --auto. No plan of any way is faster than the bound of
--auto, and none is faster than its choice by more than the search leaves open. `whole`: only ways whose ranks have the
whole model are planned. Prints what was found.
"""
import itertools
import json
import re
import subprocess
import sys

ranks, share, kinds, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
SCHEDULES = ("1f1b", "zero-bubble", "interleaved=2", "gpipe")


def run(*options, shape=None, may_refuse=False):
    words = [shape if shape and "=" in word and re.search(r"=\d+x", word) else word for word in command]
    result = subprocess.run([*words, *options, "--json"], capture_output=True, text=True)
    if may_refuse and result.returncode == 1 and "error" in result.stderr:
        return None
    assert result.returncode in (0, 2), result.stderr
    return json.loads(result.stdout)


def divisors(number):
    return [size for size in range(1, number + 1) if number % size == 0]


def meshes():
    for stages in divisors(ranks):
        for blocks in divisors(ranks // stages):
            rest = ranks // stages // blocks
            for copies in divisors(rest):
                if copies < rest or rest == 1:
                    yield {"pipeline": stages, "replica": copies, "data": rest // copies, "tensor": blocks}


def ways(rows):
    """(mesh, zero, micro-batches, rows of one, options)"""
    for mesh in meshes():
        of_step = rows * ranks // (mesh["replica"] * mesh["data"])
        zeros = [0] if mesh["data"] == 1 else [1, 2, 3] if mesh["replica"] > 1 else [0, 1, 2, 3]
        micros = [n for n in divisors(of_step) if mesh["pipeline"] == 1 or n > 1]
        layouts = [["--sequence-parallel", word] for word in ("on", "off")] if mesh["tensor"] > 1 else [[]]
        schedules = [["--pipeline-schedule", word] for word in SCHEDULES] if mesh["pipeline"] > 1 else [[]]
        for zero, micro, layout, schedule in itertools.product(zeros, micros, layouts, schedules):
            yield mesh, zero, micro, of_step // micro, layout + schedule


budget = str(run("--ranks", str(ranks))["peak_bytes"] * share // 100)
fixed = ["--memory-budget", budget, "--effort", "1"]
whole = run("--ranks", str(ranks), "--auto", *fixed)
found = whole["auto"]
assert whole["fits"] and found["rows"][0]["why"] == "chosen", found
assert abs(whole["step_seconds"] - found["seconds"]) <= 1e-9 * found["seconds"], "the plan is not that of the choice"
assert found == run("--ranks", str(ranks), "--auto", *fixed)["auto"], "another run, another choice"

shape = next(word for word in command if re.search(r"=\d+x", word))
considered = list(ways(int(re.search(r"=(\d+)x", shape).group(1))))
assert found["considered"] == len(considered), f"{found['considered']} considered, {len(considered)} here"
planned = fits = 0
best = float("inf")
for mesh, zero, micros, rows, options in considered:
    split = mesh["pipeline"] * mesh["tensor"] > 1
    if kinds == "whole" and split:
        continue
    words = ",".join(f"{axis}={size}" for axis, size in mesh.items() if size > 1)
    plan = run("--mesh", words, "--zero", str(zero), "--accumulate", str(micros), *options, *fixed,
               shape=re.sub(r"=\d+x", f"={rows}x", shape), may_refuse=split)
    planned += plan is not None
    if plan and plan["fits"]:
        fits += 1
        best = min(best, plan["step_seconds"])
assert found["lower_bound"] <= best * (1 + 1e-9), f"a plan takes {best} s, below the bound {found['lower_bound']}"
assert found["seconds"] <= best * 1.01 + 1e-12 or found["planned"] == 12, f"{found['seconds']} s, the best takes {best}"
print(f"{len(considered)} ways, {planned} planned here, the bound holds, planned {found['planned']} of them, fewer than fit:",
      found["planned"] < fits)
