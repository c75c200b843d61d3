"""Whether two logs tell of one training: near.py A.jsonl B.jsonl RELATIVE. Losses within RELATIVE, everything that is counted
equal."""
import json
import sys

a, b = ([json.loads(line) for line in open(path)] for path in sys.argv[1:3])
assert len(a) == len(b), (len(a), len(b))
for x, y in zip(a, b):
    for key in ("step", "lr", "skipped", "loss_scale", "growth_counter", "optimizer_steps"):
        assert x[key] == y[key], (key, x, y)
    assert abs(x["loss"] - y["loss"]) <= float(sys.argv[3]) * abs(y["loss"]), (x, y)
print(f"{len(a)} steps, {sum(line['skipped'] for line in a)} of them skipped")
