#!/usr/bin/env python3
"""Cost, proven bound and gap of the instances of Google's contest on intra-operator parallelism, as a table and as JSON.

shard_gaps.py FOLDER TEMP [--only A,B] [--seeds N] [--share X] [--out FILE.json]

FOLDER holds A.json.gz and the like, read as they are. Each gets the contest's seconds of one processor, or a share X of them, for each of N
seeds (1). test/tools/Inputs/shard_proof.py, which knows the instance alone, follows each proof; a wrong one ends the script. A run that was
interrupted goes on: what TEMP has is not run again. kedge-bench is taken from PATH.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

CHECKER = pathlib.Path(__file__).resolve().parents[2] / "test/tools/Inputs/shard_proof.py"
# The contest's seconds, and the best cost and bound that are known (entries of the contest, and toulbar2 with Gurobi:
# ti2-group/iopddl_experiments; values that end in zeros are rounded).
KNOWN = {
    "A": (60, 6548641531, 6513812172), "B": (60, 532843, 532843), "C": (60, 84102445244, 82509087987), "G": (120, 217039, 216931),
    "K": (180, 2242635780, 2065623588), "M": (180, 49928157500, 49407421919), "P": (240, 651833115436, 616246285727),
    "S": (240, 1521949310, 1511240136),
}  # fmt: skip


def run(path, seconds, seed, temp):
    name = path.name.split(".")[0]
    kept = temp / f"{name}-{seed}-{seconds:g}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    proof = temp / f"{name}.proof"
    command = ["kedge-bench", "shard", path, "--seconds", str(seconds), "--effort", "1000000000", "--seed", str(seed), "--json", "--proof", proof]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{path}: {done.stderr[-2000:]}")
    record = json.loads(done.stdout)[0]
    checked = subprocess.run([sys.executable, CHECKER, path, proof], capture_output=True, text=True)
    if checked.returncode != 0:
        sys.exit(f"{path}: {checked.stdout}{checked.stderr}")
    row = {"instance": name, "seed": seed, **{key: record[key] for key in ("nodes", "edges", "cost", "bound", "gap", "seconds")}}
    kept.write_text(json.dumps(row))
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("temp", type=pathlib.Path)
    parser.add_argument("--only")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--share", type=float, default=1)
    parser.add_argument("--out", type=pathlib.Path)
    flags = parser.parse_args()
    flags.temp.mkdir(parents=True, exist_ok=True)
    rows = []
    print("| instance | seed | seconds given | cost | best known | bound | best known bound | gap |\n|---|---|---|---|---|---|---|---|")
    for path in sorted(flags.folder.glob("*.json.gz")):
        name = path.name.split(".")[0]
        if flags.only and name not in flags.only.split(","):
            continue
        seconds, cost, bound = KNOWN.get(name, (240, "", ""))
        for seed in range(1, flags.seeds + 1):
            row = run(path, seconds * flags.share, seed, flags.temp)
            rows.append({**row, "given": seconds * flags.share, "known_cost": cost, "known_bound": bound})
            print(f"| {name} | {seed} | {seconds * flags.share:g} | {row['cost']} | {cost} | {row['bound']} | {bound} | {100 * row['gap']:.3f} % |", flush=True)
    gaps = [row["gap"] for row in rows]
    better = {row["instance"] for row in rows if row["known_cost"] and row["cost"] <= row["known_cost"]}
    print(f"gap: {100 * statistics.median(gaps):.3f} % in the median, {100 * max(gaps):.3f} % at worst; at or below the best known cost: {' '.join(sorted(better))}")
    if flags.out:
        flags.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
