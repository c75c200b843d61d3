#!/usr/bin/env python3
"""plan_launches.py TABLE.csv EXEC.mlir -- whether `plan --launches` lists the launches of `compile --emit exec`: in each
function as many, in its order, under the program's names. Prints how many, and how many of them are several that joined."""
import csv
import re
import sys

program, function = {}, None
for line in open(sys.argv[2]):
    if found := re.match(r"\s*exec\.function @(\w+)", line):
        function = program.setdefault(found[1], [])
    elif found := re.match(r'\s*exec\.launch (?:library )?"([^"]*)"', line):
        function.append(found[1])
    elif re.match(r"\s*exec\.copy ", line):
        function.append("copy")
table = {}
for row in csv.DictReader(open(sys.argv[1])):
    names = table.setdefault(row["function"], [])
    if int(row["launch"]) != len(names):
        sys.exit(f"@{row['function']}: row {len(names)} is numbered {row['launch']}")
    names.append(row["kernel"])
    if float(row["bytes_written"]) <= 0 or float(row["seconds"]) <= 0:
        sys.exit(f"@{row['function']} {row['launch']} {row['kernel']}: no work: {row}")
for name in program.keys() | table.keys():
    if program.get(name) != table.get(name):
        pairs = zip(program.get(name, []), table.get(name, []))
        first = next((i for i, (a, b) in enumerate(pairs) if a != b), "the end")
        sys.exit(f"@{name}: the table has {len(table.get(name, []))} launches, the program {len(program.get(name, []))}; "
                 f"they differ from {first} on")
joined = sum("_tensors" in name for names in program.values() for name in names)
print(f"{sum(map(len, program.values()))} launches, {joined} joined")
