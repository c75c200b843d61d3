#!/usr/bin/env python3
"""plan_last_reads.py LAUNCHES.csv ARENA.csv EXEC.mlir -- whether the column last_reads names each value once, at the launch that the
program's text shows as the last to use it, and whether persistent buffers bear the names of states."""
import csv
import re
import sys

text = open(sys.argv[3]).read()
wanted = {}
for function, body in re.findall(r"exec\.function @(\w+)(.*?)(?=exec\.function @|\Z)", text, re.S):
    names, uses, launch = {}, {}, -1
    for line in body.splitlines():
        if found := re.match(r'\s*(%\w+) = exec\.buffer "([^"]*)"', line):
            names[found[1]] = found[2]
        elif re.match(r"\s*exec\.(launch|copy)", line):
            launch += 1
            for value in re.findall(r"%\w+", re.search(r"reads\(([^)]*)\)|$", line)[0]):
                uses[value] = launch
    wanted[function] = {value: (names[value], last) for value, last in uses.items() if value in names}
count = 0
for row in csv.DictReader(open(sys.argv[1])):
    for name in row["last_reads"].split():
        places = [value for value, (one, last) in wanted[row["function"]].items() if one == name and last == int(row["launch"])]
        assert places, f"@{row['function']} {row['launch']}: '{name}' is not used there for the last time"
        count += 1
states = set(re.findall(r"train\.state\s+\w+ @\"?([\w.:/]+)", text)) | set(re.findall(r'exec\.buffer "([^"]*)" .* binds', text))
rows = [row["id"].removeprefix("persistent.") for row in csv.DictReader(open(sys.argv[2])) if row["id"].startswith("persistent.")]
assert rows and set(rows) <= states and len(set(rows)) == len(rows), set(rows) - states
print(f"{count} values, each with its last reader; {len(rows)} persistent buffers by name")
