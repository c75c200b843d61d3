"""check_frontier.py PLAN.json COMMAND...: the points of --frontier fall in bytes and rise in time, lie over their bounds, and
some of them are the plans that the command makes with their bytes as the budget."""
import json
import subprocess
import sys

plan = json.load(open(sys.argv[1], encoding="utf-8"))
points = plan["frontier"]
assert len(points) >= 6, points
# Another order of the same work may need less.
assert points[0]["overhead"] == points[0]["lower_bound"] == 0 and points[0]["peak_bytes"] <= plan["unconstrained_peak_bytes"], points[0]
for before, after in zip(points, points[1:]):
    assert after["peak_bytes"] < before["peak_bytes"] and after["overhead"] > before["overhead"], (before, after)
    assert before["lower_bound"] <= after["lower_bound"] <= after["overhead"], (before, after)
for point in (points[len(points) // 2], points[-1]):
    done = subprocess.run([*sys.argv[2:], "--memory-budget", str(point["peak_bytes"]), "--json"], check=True, capture_output=True)
    found = json.loads(done.stdout)
    assert found["fits"] and abs(found["recompute"]["overhead"] - point["overhead"]) < 1e-9, (point, found["recompute"])
smaller = subprocess.run([*sys.argv[2:], "--memory-budget", str(points[-1]["peak_bytes"] - 1)], capture_output=True, text=True)
assert smaller.returncode == 2, smaller.stderr
for extra, code in ([], 0), (["--recompute", "full"], 2):
    assert subprocess.run([*sys.argv[2:], *extra, "--check", sys.argv[1]], capture_output=True).returncode == code
print("the frontier is what budgets give")
