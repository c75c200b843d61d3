"""Plans of GPT-2 124M's shapes over budgets of a memory curve take at most a hundredth more than their largest live sets.

plan-packing.py KEDGE MODEL.onnx

At a small search effort: a plan need not be the best one, but it is as full of recomputation as its budget asks for.
"""
import json
import subprocess
import sys

PLANS = [("--recompute", "full")] + [("--memory-budget", f"activations={share}%") for share in (40, 30, 25)]


def step_of(kedge, model, memory):
    command = [kedge, "plan", model, "--shape", "input_ids=4x1024", "--loss", "cross-entropy", "--device", "cpu",
               "--effort", "1000000", "--json", *memory]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return next(f for f in report["functions"] if f["name"] == "step")


def main():
    lives = []
    for memory in PLANS:
        step = step_of(*sys.argv[1:3], memory)
        live, packed = step["transient_live_bytes"], step["transient_peak_bytes"]
        print(*memory, f"{live} bytes live, {packed} packed")
        assert 100 * live <= 100 * packed <= 101 * live, f"{memory}: {packed} bytes for {live}"
        lives.append(live)
    assert len(set(lives)) == len(PLANS), "some budgets lead to the same plan"


main()
