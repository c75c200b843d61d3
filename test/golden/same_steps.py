#!/usr/bin/env python3
"""Whether two logs have the same steps with the same numbers, timings apart: same_steps.py A.jsonl B.jsonl"""
import json
import sys

TIMINGS = ("seconds", "tokens_per_second", "samples_per_second", "memory_bytes")


def steps(path):
    return [{k: v for k, v in json.loads(line).items() if k not in TIMINGS} for line in open(path)]


def main():
    a, b = steps(sys.argv[1]), steps(sys.argv[2])
    different = [x["step"] for x, y in zip(a, b) if x != y]
    if len(a) != len(b) or different:
        sys.exit(f"{len(a)} and {len(b)} steps; different: {different[:5]}")
    print(f"{len(a)} equal steps")


if __name__ == "__main__":
    main()
