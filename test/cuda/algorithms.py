#!/usr/bin/env python3
"""Changes an algorithm table: algorithms.py renumber TABLE N OUT gives every product the stand-in's algorithm N;
algorithms.py shorten TABLE OUT takes a byte from the first one;
algorithms.py pad TABLE OUT makes all of them those of padded products."""
import json
import sys


def main():
    verb, path, *rest = sys.argv[1:]
    table = json.load(open(path))
    for entry in table["entries"] if verb == "renumber" else []:
        entry["algorithm"] = f"{int(rest[0]):02x}" + entry["algorithm"][2:]
    for entry in table["entries"] if verb == "pad" else []:
        entry["padded"] = True
    if verb == "shorten":
        table["entries"][0]["algorithm"] = table["entries"][0]["algorithm"][2:]
    json.dump(table, open(rest[-1], "w"))


if __name__ == "__main__":
    main()
