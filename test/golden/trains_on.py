"""An exported model trains on from where it was: trains_on.py FIRST.jsonl STILL.jsonl AGAIN.jsonl, logs of the program that
exported it, of the exported model's at a learning rate of 0, and of the same with the rate that it has."""
import json
import pathlib
import sys

first, still, again = ([json.loads(line) for line in pathlib.Path(path).read_text().splitlines()] for path in sys.argv[1:])
held = first[-1]["eval_loss"]
assert abs(still[-1]["eval_loss"] - held) <= 1e-6 * held, f"evaluates to {still[-1]['eval_loss']}, was {held}"
assert again[0]["loss"] == still[0]["loss"], f"starts with loss {again[0]['loss']}, at rate 0 {still[0]['loss']}"
assert len(again) == len(first) and first[0]["loss"] > held > again[-1]["eval_loss"], "does not learn on"
print(f"trains on from {held:.4f} to {again[-1]['eval_loss']:.4f}")
