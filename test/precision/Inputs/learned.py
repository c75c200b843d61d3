"""learned.py FIRST.jsonl AGAIN.jsonl: a run learned, and its export starts where it ended."""
import json
import sys

first, again = ([json.loads(line)["loss"] for line in open(path)] for path in sys.argv[1:])
assert first[-1] < 0.9 * first[0], first
assert abs(again[0] - first[-1]) < 0.2 * first[0], (first[-1], again[0])
