"""The rows of plan --compare --json agree with each other."""
import json
import sys

report = json.load(sys.stdin)
rows = {row["name"]: row for row in report["compare"]}
assert list(rows) == ["none", "full", "sqrt", "attention", "offload", "auto"], list(rows)
assert rows["none"]["overhead"] == 0 and rows["none"]["peak_bytes"] == report["unconstrained_peak_bytes"]
assert rows["full"]["overhead"] > 0 and rows["full"]["peak_bytes"] < rows["none"]["peak_bytes"]
assert 0 < rows["offload"]["overhead"] and rows["offload"]["peak_bytes"] < rows["none"]["peak_bytes"]
assert rows["auto"]["peak_bytes"] == report["peak_bytes"] <= report["budget_bytes"]
assert rows["auto"]["overhead"] <= rows["full"]["overhead"], rows
for row in rows.values():
    assert row["fits"] == (row["peak_bytes"] <= report["budget_bytes"]), row
