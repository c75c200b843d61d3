#!/usr/bin/env python3
"""Every two options together: pairs.py FOLDER TEMP [--every N] [--with TEXT] [--list]

FOLDER holds a golden language model (model.onnx, its data of 32 tokens, trace.json). The rows cover each pair of values of optimizer, ZeRO stage,
precision, micro-batches, offload and adapters at least once. Each compiles for two ranks and trains three steps; the loss of
the first step is that of the same precision without the other options, and the last ones are finite and not the first.
With --every N, only each N-th row is tried: what the suite has time for. With --with TEXT, only rows that have it.
"""
import argparse
import itertools
import json
import math
import pathlib
import subprocess
import sys

AXES = {
    "optimizer": ["adamw", "adam", "sgd", "sgd --momentum 0.9", "lion", "adafactor", "muon", "rmsprop", "adagrad", "adamw8bit",
                  "adam8bit", "adopt", "adamw --cautious updates", "adamw --cautious decay", "schedule-free-adamw", "prodigy", "normuon", "soap --precondition-frequency 2",
                  "galore --proj-rank 8 --update-proj-gap 2", "apollo --proj-rank 8 --update-proj-gap 2", "adamw --moments int4"],
    "zero": ["0", "1", "2", "3"],
    "precision": ["fp32", "bf16", "fp16", "fp16 --loss-scale 1024", "bf16 --loss-scale dynamic", "bf16 --master-weights off"],
    "accumulate": ["1", "2"],
    "offload": ["", "optimizer", "optimizer,gradients,params"],
    "adapters": ["", "--lora c_attn|c_proj", "--lora c_attn|c_proj --lora-rank 3", "--lora c_attn|c_proj --lora-dora",
                 "--lora c_attn --lora-init pissa", "--lora c_fc --lora-init olora", "--ia3 c_attn|c_fc --ia3-inputs c_fc",
                 "--train-tokens wte=0,2-5"],
}
BOUND = {"fp32": 1e-5, "bf16": 3e-2, "fp16": 5e-3}


def goes_with(one, other):
    """What the guide says does not go together: an error names it."""
    pair = dict([one, other])
    return not (pair.get("precision", "").endswith("off") and pair.get("zero", "0") != "0")


def rows():
    """Greedy: each row takes, axis by axis, the value with most pairs that no row has had yet."""
    names = list(AXES)
    left = {pair for a, b in itertools.combinations(range(len(names)), 2)
            for pair in itertools.product([(a, x) for x in AXES[names[a]]], [(b, y) for y in AXES[names[b]]])
            if goes_with(*((names[axis], value) for axis, value in pair))}
    while left:
        first = min(left)
        row = dict(first)
        for axis, name in enumerate(names):
            if axis not in row:
                fits = [x for x in AXES[name] if all(goes_with((name, x), (names[a], y)) for a, y in row.items())]
                row[axis] = max(fits, key=lambda x: sum(tuple(sorted(((axis, x), other))) in left for other in row.items()))
        left -= set(itertools.combinations(sorted(row.items()), 2))
        yield {name: row[axis] for axis, name in enumerate(names)}


class Model:
    def __init__(self, folder, temp):
        trace = json.loads((folder / "trace.json").read_text())
        self.folder, self.temp, self.first = folder, temp, {}
        self.data = [word for name, file in trace["data"].items() for word in ("--data", f"{name}={folder / file}")]

    def train(self, options, rows, ranks):
        """The losses of three steps."""
        program, log = self.temp / "program", self.temp / "log.jsonl"
        check("kedge", "compile", self.folder / "model.onnx", "--shape", f"input_ids={rows}x32", "--loss", "cross-entropy",
              "--ranks", ranks, *options, "-o", program)
        launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", ranks] if ranks > 1 else []
        check(*launcher, program, *self.data, "--steps", 3, "--lr", "1e-3", "--threads", 1, "--log", log)
        return [json.loads(line)["loss"] for line in log.read_text().splitlines()]

    def loss_at_first(self, precision, micro):
        if (precision, micro) not in self.first:
            self.first[precision, micro] = self.train(["--precision", *precision.split()], 2 * micro, 1)[0]
        return self.first[precision, micro]

    def check(self, row):
        options = [value if name == "adapters" else f"--{name} {value}" for name, value in row.items() if value]
        micro = int(row["accumulate"])
        losses = self.train(" ".join(options).split(), 1, 2)
        kind = row["precision"].split()[0]
        wanted = self.loss_at_first(kind, micro)
        if len(losses) != 3 or not all(math.isfinite(loss) for loss in losses) or losses[2] == losses[0]:
            raise ValueError(f"losses {losses}")
        if abs(losses[0] - wanted) > BOUND[kind] * wanted:
            raise ValueError(f"the first loss is {losses[0]}, without these options {wanted}")


def check(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=200)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("kedge: error")] or [done.stderr[-600:]]
        raise ValueError(f"{' '.join(map(str, command))}\n{said[0]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("temp", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--with", dest="text", default="")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    given.temp.mkdir(parents=True, exist_ok=True)
    model, failed = Model(given.folder, given.temp), 0
    tried = [row for row in rows() if any(given.text in value for value in row.values())][::given.every]
    for row in tried:
        name = " ".join(f"{axis}={value or 'none'}" for axis, value in row.items())
        if given.list:
            print(name)
            continue
        try:
            model.check(row)
        except ValueError as error:
            failed += 1
            print(f"{name}: {error}", flush=True)
    print(f"{len(tried)} rows, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
