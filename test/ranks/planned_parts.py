"""Bytes of states and elements gathered of two plans: planned_parts.py TWICE.json ONCE.json"""
import json
import sys

twice, once = (json.load(open(path)) for path in sys.argv[1:3])
states = twice["state_bytes"]


def gathered(plan):
    return sum(row["elements"] for row in plan["communication"] if row["collective"] == "all_gather")


limit = 2 * gathered(once)
bound = "at most twice as many" if gathered(once) < gathered(twice) <= limit else f"{gathered(twice)}"
print(f"optimizer {states['optimizer']} bytes, parameters {states['parameters']}, gathered {gathered(once)} elements with "
      f"room, {bound} without")
