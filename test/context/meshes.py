#!/usr/bin/env python3
"""meshes.py MODEL FOLDER: an axis `context` beside the others, with every stage of ZeRO, micro-batches, recomputation and 16 bits. Evaluation and predictions
are one rank's, and checkpoints go on with any mesh."""
import json
import sys

import numpy as np
from golden import ROWS, Golden, check

case, steps = Golden(*sys.argv[1:3]), 6
evaluated = ["--eval-data", *[word for word in case.data if word != "--data"], "--eval-every", steps]
predicted = case.folder / "one.npy"
program = case.compile("one")
one = case.run(program, "--steps", steps, *evaluated, "--predict", f"logits={predicted}")
loss = json.loads((case.folder / "log.jsonl").read_text().splitlines()[-1])["eval_loss"]
case.run(program, "--steps", 3, "--checkpoint-dir", case.folder / "of-one")

MESHES = [("context=3",), ("replica=2,context=2",), ("context=2", "--accumulate", 2), ("context=2", "--recompute", "full"), ("context=2", "--zero", 2),
          ("data=2,context=2", "--zero", 3)]
for mesh, *options in MESHES:
    sizes = dict(word.split("=") for word in mesh.split(","))
    rows = ROWS // int(sizes.get("data", 1)) // int(sizes.get("replica", 1)) // (2 if "--accumulate" in options else 1)
    ranks = int(np.prod([int(size) for size in sizes.values()]))
    check(case.run(case.compile("cut", "--mesh", mesh, *options, rows=rows), "--steps", steps, ranks=ranks), one, (mesh, options))

# Evaluation, predictions, checkpoints both ways; the last program has four ranks.
cut, found = case.folder / "cut", case.folder / "four.npy"
check(case.run(cut, "--steps", steps, *evaluated, "--predict", f"logits={found}", ranks=4), one, "evaluated")
assert abs(json.loads((case.folder / "log.jsonl").read_text().splitlines()[-1])["eval_loss"] / loss - 1) < 1e-5
assert np.abs(np.load(found) - np.load(predicted)).max() < 1e-4 * np.abs(np.load(predicted)).max()
last = [numbers[3:] for numbers in one]
check([numbers[-3:] for numbers in case.run(cut, "--steps", steps, "--resume", case.folder / "of-one", ranks=4)], last, "from one rank")
case.run(cut, "--steps", 3, "--checkpoint-dir", case.folder / "of-four", ranks=4)
check([numbers[-3:] for numbers in case.run(program, "--steps", steps, "--resume", case.folder / "of-four")], last, "to one rank")

half = case.run(case.compile("half", "--precision", "bf16"), "--steps", steps)[0]
two = case.run(case.compile("half2", "--mesh", "context=2", "--precision", "bf16"), "--steps", steps, ranks=2)[0]
assert max(abs(a - b) / b for a, b in zip(two, half)) < 2e-3, (two, half)
print("every mesh with positions of its own trains as one rank does")
