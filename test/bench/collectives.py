#!/usr/bin/env python3
"""Bytes a second of the runtime's collectives beside those of MPI's own: collectives.py KEDGE-BENCH-COLLECTIVES [RANKS...].

The two run in turns, and the least time of all turns counts, as other programs may run on the machine. Bytes are those of
the whole tensor. Exits 1 when a size of at least 4 MiB (buckets have 25) is below 80% of MPI's.
"""
import subprocess
import sys

TURNS, SHARE, JUDGED = 3, 0.8, 4 << 20


def measure(program, ranks, engine):
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks), program, engine]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    return {tuple(line.split()[:2]): float(line.split()[2]) for line in lines if line}


def main():
    program, ranks = sys.argv[1], [int(n) for n in sys.argv[2:]] or [2, 4]
    slow = False
    print(f"{'collective':16} {'ranks':>5} {'MiB':>8} {'kedge GB/s':>11} {'MPI GB/s':>9} {'ratio':>6}")
    for n in ranks:
        best = {"kedge": {}, "mpi": {}}
        for _ in range(TURNS):
            for engine, times in best.items():
                for key, seconds in measure(program, n, engine).items():
                    times[key] = min(seconds, times.get(key, seconds))
        for key, seconds in best["kedge"].items():
            size = 4 * int(key[1])
            ratio = best["mpi"][key] / seconds
            slow |= size >= JUDGED and ratio < SHARE
            print(f"{key[0]:16} {n:5} {size / 2**20:8.3f} {size / seconds / 1e9:11.2f} "
                  f"{size / best['mpi'][key] / 1e9:9.2f} {ratio:6.2f}")
    return slow


if __name__ == "__main__":
    sys.exit(main())
