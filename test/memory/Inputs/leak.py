#!/usr/bin/env python3
"""Stands for a program that promises 1 MiB and takes MEBIBYTES: leak.py MEBIBYTES --memory-report FILE."""
import json
import sys
import time

with open("/proc/self/status") as status:
    before = next(int(line.split()[1]) for line in status if line.startswith("RssAnon:")) * 1024
kept = [b"x" * (1 << 20) for _ in range(int(sys.argv[1]))]
time.sleep(1)
reservations = [{"name": "library_kernels", "bytes": 0, "source": "measured", "rss_anon_before": before}]
with open(sys.argv[3], "w") as report:
    json.dump({"arena_bytes": 1 << 20, "reservations": reservations}, report)
