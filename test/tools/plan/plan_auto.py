"""Plans every way that --auto chooses from: plan_auto.py SHARE kedge plan MODEL --shape INPUT=ROWSx... OPTIONS.

The budget is SHARE percent of the peak of the plan without --auto. No plan of any way is faster than the bound of
--auto, and none is faster than its choice by more than the search leaves open. Prints what was found.
"""
import json
import re
import subprocess
import sys

share, command = int(sys.argv[1]), sys.argv[2:]
RANKS = 4


def run(*options, shape=None):
    words = [shape if shape and "=" in word and re.search(r"=\d+x", word) else word for word in command]
    result = subprocess.run([*words, *options, "--json"], capture_output=True, text=True)
    assert result.returncode in (0, 2), result.stderr
    return json.loads(result.stdout)


budget = str(run("--ranks", str(RANKS))["peak_bytes"] * share // 100)
fixed = ["--memory-budget", budget, "--effort", "1"]
whole = run("--ranks", str(RANKS), "--auto", *fixed)
found = whole["auto"]
assert whole["fits"] and found["rows"][0]["why"] == "chosen", found
assert abs(whole["step_seconds"] - found["seconds"]) <= 1e-9 * found["seconds"], "the plan is not that of the choice"
assert found == run("--ranks", str(RANKS), "--auto", *fixed)["auto"], "another run, another choice"

shape = next(word for word in command if re.search(r"=\d+x", word))
rows = int(re.search(r"=(\d+)x", shape).group(1))
ways = fits = 0
best = float("inf")
for accumulate in [n for n in range(1, rows + 1) if rows % n == 0]:
    part = re.sub(r"=\d+x", f"={rows // accumulate}x", shape)
    for mesh in ("data=4", "replica=2,data=2"):
        for zero in range(4) if mesh == "data=4" else range(1, 4):
            plan = run("--mesh", mesh, "--zero", str(zero), "--accumulate", str(accumulate), *fixed, shape=part)
            ways += 1
            if plan["fits"]:
                fits += 1
                best = min(best, plan["step_seconds"])
assert found["considered"] == ways, f"{found['considered']} considered, {ways} planned here"
assert found["lower_bound"] <= best * (1 + 1e-9), f"a plan takes {best} s, below the bound {found['lower_bound']}"
assert found["seconds"] <= best * 1.01 + 1e-12 or found["planned"] == 12, f"{found['seconds']} s, the best takes {best}"
print(f"{ways} ways, the bound holds, planned {found['planned']} of them, fewer than fit: {found['planned'] < fits}")
