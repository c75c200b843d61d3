#!/usr/bin/env python3
"""How far one rank is from itself when only the order of sums differs: row_orders.py GOLDEN-GPT TEMP [--optimizer O] [--batches N] [--orders K]

For each of N draws of data: K runs on one rank, whose steps have the same 12 rows in other orders, a run in 6 micro-batches, and one on a
mesh of 3x2 ranks with --zero 3. Prints the largest relative distances of losses and of gradient norms over 20 steps. Needs numpy.
"""
import argparse
import itertools
import json
import pathlib
import subprocess

import numpy

STEPS, ROWS = 20, 12


def distances(log, other):
    """Largest of losses, of norms."""
    return (numpy.abs(log - other) / numpy.abs(other)).max(0)


class Trainer:
    def __init__(self, golden, temp, optimizer):
        self.golden, self.temp, self.optimizer = golden, temp, optimizer
        self.options = json.loads((golden / "trace.json").read_text())["compile"]
        temp.mkdir(parents=True, exist_ok=True)

    def compile(self, name, rows, *more):
        options = list(self.options)
        options[options.index("--shape") + 1] = f"input_ids={rows}x24"
        options[options.index("--optimizer") + 1] = self.optimizer
        subprocess.run(["kedge", "compile", self.golden / "model.onnx", *options, *more, "-o", self.temp / name], check=True)

    def train(self, name, ids, labels, ranks=1):
        numpy.save(self.temp / "ids.npy", ids)
        numpy.save(self.temp / "labels.npy", labels)
        log = self.temp / "log.jsonl"
        launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks)] if ranks > 1 else []
        subprocess.run([*launcher, self.temp / name, "--data", f"input_ids={self.temp}/ids.npy", "--data", f"labels={self.temp}/labels.npy", "--steps",
                        str(STEPS), "--lr", "1e-3", "--threads", "1", "--log", log], check=True, capture_output=True)
        return numpy.array([(line["loss"], line["grad_norm"]) for line in map(json.loads, log.read_text().splitlines())])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("golden", type=pathlib.Path)
    parser.add_argument("temp", type=pathlib.Path)
    parser.add_argument("--optimizer", default="adamw8bit")
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--orders", type=int, default=5)
    given = parser.parse_args()
    trainer = Trainer(given.golden, given.temp, given.optimizer)
    trainer.compile("one", ROWS)
    trainer.compile("parts", ROWS // 6, "--accumulate", "6")
    trainer.compile("mesh", ROWS // 6, "--mesh", "replica=3,data=2", "--zero", "3", "--bucket-bytes", "16KiB")
    ids, labels = (numpy.load(given.golden / name) for name in ("input_ids.npy", "labels.npy"))
    for batch in range(given.batches):
        draw = numpy.random.default_rng(batch)
        rows = draw.integers(0, len(ids), STEPS * ROWS) if batch else numpy.arange(STEPS * ROWS) % len(ids)
        orders = [numpy.arange(ROWS)] + [draw.permutation(ROWS) for _ in range(given.orders - 1)]
        runs = []
        for order in orders:
            at = rows.reshape(STEPS, ROWS)[:, order].ravel()
            runs.append(trainer.train("one", ids[at], labels[at]))
        among = [distances(a, b) for a, b in itertools.combinations(runs, 2)]
        found = {"one rank, orders, most": numpy.max(among, 0), "median": numpy.median(among, 0),
                 "six micro-batches": distances(trainer.train("parts", ids[rows], labels[rows]), runs[0]),
                 "3x2": distances(trainer.train("mesh", ids[rows], labels[rows], 6), runs[0])}
        print(f"data {batch}:", ", ".join(f"{name} {loss:.1e} and {norm:.1e}" for name, (loss, norm) in found.items()), flush=True)


if __name__ == "__main__":
    main()
