#!/usr/bin/env python3
"""Five steps in PyTorch, five in Kedge, five in PyTorch: round_trip.py, in a folder of its own."""
import copy
import importlib.util
import pathlib
import re
import subprocess
import sys

import kedge_compiler as kedge
import numpy as np
import torch

ROWS, STEPS = 16, 5


class Model(torch.nn.Module):
    """A residual network over a sequence, with a tied table."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(40, 24)
        self.norm = torch.nn.LayerNorm(24)
        self.up, self.down = torch.nn.Linear(24, 48), torch.nn.Linear(48, 24)

    def forward(self, input_ids):
        x = self.table(input_ids)
        x = x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))
        return torch.nn.functional.linear(x, self.table.weight)


def optimizer_of(name, model):
    if name == "AdamW":
        return torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    return torch.optim.SGD(model.parameters(), lr=1e-1, momentum=0.9)


def train(model, optimizer, rows, answers, first):
    losses = []
    for step in range(first, first + STEPS):
        at = step * ROWS % len(rows)
        logits = model(torch.from_numpy(rows[at:at + ROWS]))
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), torch.from_numpy(answers[at:at + ROWS]).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def round_trip(name, options):
    torch.manual_seed(1)
    draw = np.random.default_rng(2)
    rows, answers = (draw.integers(0, 40, (ROWS * 2 * STEPS, 8)) for _ in range(2))
    whole = Model()
    model = copy.deepcopy(whole)
    path = kedge.export(model, (torch.from_numpy(rows[:2]),), f"{name}.onnx")
    optimizer = optimizer_of(name, whole)
    wanted = [loss for first in (0, STEPS, 2 * STEPS) for loss in train(whole, optimizer, rows, answers, first)]

    optimizer = optimizer_of(name, model)
    losses = train(model, optimizer, rows, answers, 0)
    program = kedge.compile(path, shape={"input_ids": (ROWS, 8)}, loss="cross-entropy", folder=name, **options)
    program.load_state_dict(model.state_dict(), optimizer=kedge.torch_optimizer_state(optimizer, model), steps=STEPS)
    losses += [result.loss for result in program.run(data={"input_ids": rows, "labels": answers}, steps=STEPS)]
    model.load_state_dict(program.state_dict(model))
    optimizer = optimizer_of(name, model)
    kedge.load_torch_optimizer(optimizer, model, program.optimizer_state(), program.steps_done)
    losses += train(model, optimizer, rows, answers, 2 * STEPS)
    worst = max(abs(one - other) for one, other in zip(losses, wanted))
    assert len(losses) == 3 * STEPS and worst <= 1e-5, (worst, losses, wanted)
    print(f"{name}: {len(losses)} losses as those of PyTorch alone")


round_trip("AdamW", {"optimizer": "adamw", "lr": 1e-2, "weight_decay": 0.1})
round_trip("SGD", {"optimizer": "sgd", "lr": 1e-1, "momentum": 0.9})
if importlib.util.find_spec("transformers"):
    example = pathlib.Path(__file__).parents[2] / "examples/python/finetune.py"
    said = subprocess.run([sys.executable, example], stdout=subprocess.PIPE, check=True, text=True).stdout
    first, last = float(re.search(r"^0 ([0-9.]+)$", said, re.M)[1]), float(re.search(r"in PyTorch: ([0-9.]+)", said)[1])
    assert last < first - 1, said
    print("finetune: the loss falls")
else:
    print("finetune: transformers is not installed")
