#!/usr/bin/env python3
"""plan_ranks.py MODEL.onnx TEMP -- whether predicted times of communication follow the device's links, and rows of
--compare what is planned."""
import json
import subprocess
import sys

MODEL, TEMP = sys.argv[1:]


def plan(*options, ranks=4):
    command = ["kedge", "plan", MODEL, "--shape", "input_ids=4x24", "--loss", "cross-entropy", "--effort", "2000", "--json",
               *(["--ranks", str(ranks)] if ranks > 1 else []), *options]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def device(name, **changes):
    path = f"{TEMP}.{name}.json"
    json.dump(DEVICE | changes, open(path, "w"))
    return path


# A GPU's figures in round numbers: only the link matters here.
DEVICE = dict.fromkeys(["vector_flops", "irregular_flops", "fp64_flops", "fp32_flops", "tf32_flops", "bf16_flops", "fp16_flops",
                        "special_functions_per_second", "bytes_per_second", "host_bytes_per_second",
                        "cache_bytes_per_second"], 1e12)
DEVICE |= dict.fromkeys(["matmul_efficiency", "convolution_efficiency", "attention_efficiency", "narrow_attention_efficiency", "memory_efficiency",
                         "copy_efficiency", "link_efficiency", "team"], 1)
DEVICE |= dict.fromkeys(["cache_bytes", "launch_seconds", "team_seconds", "update_weight", "half_rate_flops",
                         "attention_half_keys", "convolution_half_channels", "link_seconds"], 0)
DEVICE |= {"name": "test", "memory_bytes": 1 << 40, "link_bytes_per_second": 1e9}

fast = plan("--zero", "2", "--device", device("fast"))
sent = sum(row["bytes"] for row in fast["communication"])
# Three of four parts go around; an all-reduce counts twice, and goes around twice.
assert abs(fast["communication_seconds"] - sent * 3 / 4 / 1e9) < 1e-12, fast["communication_seconds"]
assert 0 <= fast["communication_hidden_seconds"] < fast["communication_seconds"]

half = plan("--zero", "2", "--device", device("half", link_efficiency=0.5))
assert abs(half["communication_seconds"] - 2 * fast["communication_seconds"]) < 1e-12

late = plan("--zero", "2", "--device", device("late", link_seconds=1))
calls = sum(row["calls"] for row in late["communication"])
assert calls - 1e-3 < late["communication_seconds"] < calls + 1e-3, (late["communication_seconds"], calls)

# What computes takes as long; what is not hidden is all that links add.
def computing(report):
    return report["step_seconds"] - report["communication_seconds"] + report["communication_hidden_seconds"]


assert abs(computing(fast) - computing(half)) < 1e-12, (computing(fast), computing(half))
slow = plan("--zero", "2", "--device", device("slow", vector_flops=1e6, fp32_flops=1e8, link_bytes_per_second=1e12))
assert slow["communication_hidden_seconds"] > 0.1 * slow["communication_seconds"], slow["communication_hidden_seconds"]
alone = plan("--device", device("fast"), ranks=1)
assert "communication_seconds" not in alone and alone["communication"] == []

compare = plan("--zero", "2", "--device", device("fast"), "--compare", "--precision", "fp16,fp32")["compare"]
rows = {row["name"]: row for row in compare}
for stage in range(4):
    row, report = rows[f"zero {stage}"], plan("--zero", str(stage), "--device", device("fast"), "--precision", "fp16")
    assert row["zero"] == stage and row["peak_bytes"] == report["peak_bytes"], (row, report["peak_bytes"])
    assert row["communication_bytes"] == sum(entry["bytes"] for entry in report["communication"])
    assert row["communication_seconds"] == report["communication_seconds"]
steps = compare[-5:]
assert [row["name"] for row in steps] == ["baseline", "+ recompute", "+ fp16", "+ zero 2", "+ zero 3, offload"], steps
assert [row["zero"] for row in steps] == [0, 0, 0, 2, 3] and [row["precision"] for row in steps] == ["fp32"] * 2 + ["fp16"] * 3
peaks = [row["peak_bytes"] for row in steps]
assert all(a > b for a, b in zip(peaks, peaks[1:])), peaks
print("links are told apart")
