"""Activations at the peak of plans in 16 bits against those in fp32: narrow_activations.py FP32.json NARROW.json..."""
import json
import sys

wide, *others = (json.load(open(path)) for path in sys.argv[1:])
held = lambda report: report["peak_breakdown"]["activations"]
for path, narrow in zip(sys.argv[2:], others):
    share = held(narrow) / held(wide)
    state, before = narrow["state_bytes"], wide["state_bytes"]
    assert share <= 0.52, f"{path}: {share:.4f} of fp32's activations"
    assert state["working_copies"] == state["gradients"] == before["parameters"] // 2 == state["parameters"] // 2, state
    print(f"{path}: {share:.4f}")
