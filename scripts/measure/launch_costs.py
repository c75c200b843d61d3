#!/usr/bin/env python3
"""The predicted cost of a step by kernel: launch_costs.py LAUNCHES.csv [ROWS], of `kedge plan --launches LAUNCHES.csv`.

Launches that do the same (one kernel, equal work) are one row, the most expensive first; then what is left and the sum of all.
Times are the device model's predictions (docs/guide/devices.md), nothing measured.
"""
import collections
import csv
import re
import sys


def kind_of(row):
    """What launches of one row have in common: the kernel without its number, its shape and the part of the step."""
    part = "backward" if "backward" in row["place"] or "backward" in row["kernel"] else row["place"].split("/")[0]
    return re.sub(r"^(k|group)\d+_", r"\1_", row["kernel"]), row["kind"], row["flops"], row["bytes_read"], row["bytes_written"], \
        re.sub(r"\d+", "*", part)


def main():
    path, rows = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    groups = collections.defaultdict(list)
    for row in csv.DictReader(open(path)):
        if row["function"] not in ("eval", "predict", "restore"):
            groups[kind_of(row)].append(row)
    total = lambda launches, key: sum(float(launch[key]) for launch in launches)
    moved = lambda launches: total(launches, "bytes_read") + total(launches, "bytes_written")
    ranked = sorted(groups.items(), key=lambda item: -total(item[1], "seconds"))
    everything = [launch for _, launches in ranked for launch in launches]
    print("| launches | kernel, first place | ms | GFLOP | GB | share |\n|---|---|---|---|---|---|")

    def line(launches, name):
        seconds = total(launches, "seconds")
        print(f"| {len(launches)} | {name} | {1e3 * seconds:.3f} | {total(launches, 'flops') / 1e9:.1f} | {moved(launches) / 1e9:.2f} | "
              f"{100 * seconds / total(everything, 'seconds'):.1f} % |")

    for (kernel, *_), launches in ranked[:rows]:
        line(launches, f"{kernel}, {launches[0]['place'].strip()}")
    if rest := [launch for _, launches in ranked[rows:] for launch in launches]:
        line(rest, "all others")
    line(everything, "sum")


if __name__ == "__main__":
    main()
