"""Rows of plan --precision LIST --compare --json: LIST.json, and the plans of bf16 alone under both policies."""
import json
import sys

report, alone, autocast = (json.load(open(path)) for path in sys.argv[1:])
rows = report["compare"]
assert [row["name"] for row in rows[-3:]] == ["fp32", "bf16", "fp16"], rows
assert all(row["precision"] == "fp32" for row in rows[:-3]), rows
fp32, bf16, fp16 = rows[-3:]
assert fp32["peak_bytes"] == report["peak_bytes"] == report["unconstrained_peak_bytes"]
assert bf16["precision"] == "bf16" and bf16["peak_bytes"] == alone["peak_bytes"] < fp32["peak_bytes"], (bf16, fp32)
# fp16 has the states of its loss scaler besides.
assert bf16["peak_bytes"] <= fp16["peak_bytes"] < fp32["peak_bytes"], (bf16, fp16)
assert fp32["step_seconds"] > 0 and bf16["step_seconds"] > 0
# Under `master` weights are read in 16 bits and float inputs are the only ones to cast: a language model has none.
assert report["casts"] == alone["casts"] == 0 < autocast["casts"], (report["casts"], alone["casts"], autocast["casts"])
