"""Counts buffers of an arena (kedge plan --arena) whose offset or size is no multiple of ALIGN: plan_alignment.py FILE.csv ALIGN"""
import csv
import sys

path, align = sys.argv[1], int(sys.argv[2])
with open(path) as file:
    buffers = list(csv.DictReader(file))
odd = [buffer for buffer in buffers if int(buffer["offset"]) % align or int(buffer["size"]) % align]
kinds = {buffer["id"].split(".")[0] for buffer in buffers}
print(f"{len(buffers)} buffers of {len(kinds)} kinds, {len(odd)} not at multiples of {align}")
