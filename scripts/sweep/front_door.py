#!/usr/bin/env python3
"""40 models through Python's front door with nothing but the calls' defaults: front_door.py [REGEX] [--work DIR] [--size N].

kedge.export, kedge.compile, ten steps of SGD, state_dict back into the module: losses next to PyTorch's from the same weights (and how far those are
from PyTorch's in 64 bits), and the
losses of the module that got the weights back. Then the first half of the parameters is frozen (requires_grad=False), and the same again: frozen
tensors must come back equal to the bit. Models with Dropout draw other numbers than PyTorch: their probabilities are set to 0, and the
row says "dropout". Prints a row of a table a model. Needs what default_exports.py needs, and kedge_compiler in PYTHONPATH.
"""
import argparse
import copy
import pathlib
import re
import tempfile

import default_exports as models
import kedge_compiler as kedge
import numpy as np
import torch

STEPS, ROWS, RATE = 10, 8, 1e-3  # rows enough for statistics of a batch to mean something


def data_of(shape, vocabulary, module):
    draw = np.random.default_rng(3)
    rows = STEPS * ROWS
    x = draw.integers(1, vocabulary, (rows, *shape)) if vocabulary else draw.standard_normal((rows, *shape)).astype("f4")
    with torch.no_grad():
        out = copy.deepcopy(module)(torch.from_numpy(x[:ROWS]))
    axis = 1 if out.dim() > 3 else out.dim() - 1
    items = [size for at, size in enumerate(out.shape) if at != axis]
    return x, draw.integers(0, out.shape[axis], (rows, *items[1:])), axis


def pytorch(module, x, labels, axis):
    module = copy.deepcopy(module).train()
    x = x.astype(next(module.parameters()).numpy(force=True).dtype) if x.dtype.kind == "f" else x
    update = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], lr=RATE)
    losses = []
    for step in range(STEPS):
        rows = slice(step * ROWS, (step + 1) * ROWS)
        loss = torch.nn.functional.cross_entropy(module(torch.from_numpy(x[rows])).movedim(axis, 1), torch.from_numpy(labels[rows]))
        update.zero_grad()
        loss.backward()
        update.step()
        losses.append(loss.item())
    return losses, module


def in_double(module, x, labels, axis):
    """How far PyTorch's own losses are from those of 64 bits: what rounding alone does to this model."""
    try:
        return f"{worst(pytorch(module, x, labels, axis)[0], pytorch(copy.deepcopy(module).double(), x, labels, axis)[0]):.1e}"
    except RuntimeError:  # a model that makes tensors of a type of its own
        return "-"


def without_dropout(module):
    found = False
    for part in module.modules():
        for name in ("p", "dropout", "drop_prob", "attention_dropout", "drop_rate", "dropout_prob", "hidden_dropout_prob"):
            value = getattr(part, name, None)
            if isinstance(value, float) and value > 0:
                setattr(part, name, 0.0)
                found = True
    return found


def through(module, x, labels, axis, folder):
    path = kedge.export(module, (torch.from_numpy(x[:ROWS]),), folder / "m.onnx", input_names=["x"])
    program = kedge.compile(path, shape={"x": (ROWS, *x.shape[1:])}, loss="cross-entropy", class_axis=axis, optimizer="sgd", folder=folder)
    losses = program.run(data={"x": x, "labels": labels}, steps=STEPS, lr=RATE).loss
    back = copy.deepcopy(module)
    back.load_state_dict(program.state_dict(back))
    return losses, back


def worst(ours, wanted):
    return max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(ours, wanted))


def row(name, make, shape, vocabulary, work):
    torch.manual_seed(1)
    module = make().train()
    dropout = without_dropout(module)
    x, labels, axis = data_of(shape, vocabulary, module)
    wanted, trained = pytorch(module, x, labels, axis)
    rounding = in_double(module, x, labels, axis)
    ours, back = through(module, x, labels, axis, work / "all")
    moved = max(float((a.detach() - b.detach()).abs().max()) for a, b in zip(back.parameters(), trained.parameters()))
    for parameter in list(module.parameters())[:len(list(module.parameters())) // 2]:
        parameter.requires_grad_(False)
    frozen_wanted, _ = pytorch(module, x, labels, axis)
    frozen_ours, frozen_back = through(module, x, labels, axis, work / "frozen")
    kept = all(torch.equal(a, b) for a, b in zip(module.parameters(), frozen_back.parameters()) if not a.requires_grad)
    changed = any(not torch.equal(a, b) for a, b in zip(module.parameters(), frozen_back.parameters()) if a.requires_grad)
    assert kept and changed, "a frozen parameter moved" if not kept else "nothing trained"
    return f"{worst(ours, wanted):.1e} | {rounding} | {moved:.1e} | {worst(frozen_ours, frozen_wanted):.1e} | to the bit" + (" | dropout" if dropout else " | ")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--work")
    parser.add_argument("--size", type=int, help="pictures of N x N")
    options = parser.parse_args()
    for family in models.FAMILIES:
        family(options.size)
    print("| model | losses, relative | PyTorch's own from 64 bits | weights, absolute | losses, half frozen | frozen tensors | |\n|---|---|---|---|---|---|---|", flush=True)
    for name, (make, shape, vocabulary) in models.MODELS.items():
        if not re.search(options.pattern, name):
            continue
        with tempfile.TemporaryDirectory(dir=options.work) as work:
            for part in ("all", "frozen"):
                (pathlib.Path(work) / part).mkdir()
            try:
                text = models.quiet(lambda: row(name, make, shape, vocabulary, pathlib.Path(work)))
            except Exception as error:  # one model's; the others go on
                text = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:300]} | | | | | "
        print(f"| {name} | {text} |", flush=True)


if __name__ == "__main__":
    main()
