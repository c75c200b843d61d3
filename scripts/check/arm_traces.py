#!/usr/bin/env python3
"""All runs of the shared golden models as programs for 64-bit Arm under an emulator, against PyTorch's traces:
arm_traces.py SHARED OUT PYTHON [CASE...] (PYTHON has the package onnx; an hour and a half for all).

Prints the rows of bench/aarch64-traces.json: of each model and each case the runs that are within PyTorch's tolerance, and the
largest difference of a loss as a share of the one that is allowed. OUT/runs.jsonl keeps the runs: what is there is not run again.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

CHECK = pathlib.Path(__file__).resolve().parents[2] / "test/golden/shared/check.py"
MODELS = ("mlp", "resnet", "vit", "llama", "gpt2")
# Case -> --cpu, processor that is emulated, precision. Products of fp32 are the same on all processors of --cpu aarch64-linux.
CASES = {
    "fp32, NEON": ("aarch64-linux", "cortex-a57", "fp32"),
    "bf16, bfdot": ("aarch64-linux", "max", "bf16"),
    "bf16, NEON": ("aarch64-linux", "cortex-a57", "bf16"),
    "fp16, NEON": ("aarch64-linux", "cortex-a57", "fp16"),
    "fp32, SVE": ("aarch64-linux+sve", "max,sve-default-vector-length=32", "fp32"),
    "bf16, SVE": ("aarch64-linux+sve", "max,sve-default-vector-length=32", "bf16"),
}


def precision(run):
    words = run["compile"]
    return words[words.index("--precision") + 1] if "--precision" in words else "fp32"


def follow(shared, out, python, case, model, name):
    """One run, judged by its model's checker."""
    cpu, processor, _ = CASES[case]
    environment = {**os.environ, "KEDGE_TEST_MACHINE": cpu, "QEMU_CPU": processor}
    done = subprocess.run([sys.executable, CHECK, shared, model, out, python, name], env=environment, capture_output=True, text=True)
    found = re.search(r"largest relative difference (\S+) at step \d+ \(allowed (\S+)\)", done.stdout)
    if not found:
        sys.exit(f"{case}, {model} {name}: no verdict\n{done.stdout}{done.stderr}")
    return {"case": case, "model": model, "run": name, "within": done.returncode == 0,
            "difference": float(found[1]), "allowed": float(found[2])}


def cell(runs):
    if not runs:
        return ""
    share = max(run["difference"] / run["allowed"] for run in runs)
    return f"{sum(run['within'] for run in runs)} of {len(runs)}, {share:.2g}"


def main():
    shared, out, python, *cases = sys.argv[1:]
    shared, out = pathlib.Path(shared), pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    kept = out / "runs.jsonl"
    runs = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    for case in cases or CASES:
        for model in MODELS:
            trace = json.loads((shared / "models" / model / "trace.json").read_text())
            for name in [name for name, run in trace["runs"].items() if precision(run) == CASES[case][2]]:
                if not any((run["case"], run["model"], run["run"]) == (case, model, name) for run in runs):
                    runs.append(follow(shared, out, python, case, model, name))
                    kept.open("a").write(json.dumps(runs[-1]) + "\n")
    for model in MODELS:
        row = [model, *(cell([run for run in runs if (run["case"], run["model"]) == (case, model)]) for case in CASES)]
        print(json.dumps(row))
    sys.exit(any(not run["within"] for run in runs))


if __name__ == "__main__":
    main()
