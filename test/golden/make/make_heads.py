#!/usr/bin/env python3
"""Regenerates heads: a golden model whose layers have heads of 64 and of 128, as the kernels of large models want them, and how
PyTorch trains it in fp32 and with bf16 weights over fp32 masters (bf16.json).

Needs torch, onnx and onnxscript from PyPI.
"""
import json
import pathlib

import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F
from make import make, rate

FOLDER = pathlib.Path(__file__).parents[1] / "heads"
WIDTH, VOCABULARY, LENGTH, BATCH, STEPS = 32, 64, 72, 2, 16
OPTIONS = {"loss": "cross-entropy", "optimizer": "adamw", "lr": 2e-3, "weight_decay": 0.1, "no_decay": ["bias", "norm"], "clip": 0.7,
           "schedule": "cosine", "warmup": 4, "min_lr": 2e-4}


class Layer(nn.Module):
    """Causal attention over `heads` heads of `depth`, whatever the width of a row is."""

    def __init__(self, heads, depth):
        super().__init__()
        self.heads, self.depth = heads, depth
        self.norm = nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * heads * depth), nn.Linear(heads * depth, WIDTH)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (y.view(b, t, self.heads, self.depth).transpose(1, 2)
                   for y in self.qkv(self.norm(x)).split(self.heads * self.depth, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.proj(y.transpose(1, 2).reshape(b, t, -1))


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList([Layer(2, 64), Layer(1, 128)])
        self.norm = nn.LayerNorm(WIDTH)
        for p in self.parameters():
            nn.init.normal_(p, std=0.12) if p.dim() > 1 else p.data.add_(0.02 * torch.randn(p.shape))

    def forward(self, input_ids):
        x = self.wte(input_ids) + self.wpe(torch.arange(input_ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.wte.weight)


def low(masters, inputs, labels):
    """The first steps with working weights, activations and gradients in bf16."""
    working = Heads().bfloat16()
    named = dict(masters.named_parameters())
    plain = [n for n in named if "bias" in n or "norm" in n]
    optimizer = torch.optim.AdamW([{"params": [p for n, p in named.items() if n not in plain], "weight_decay": 0.1},
                                   {"params": [named[n] for n in plain], "weight_decay": 0.0}], betas=(0.9, 0.95))
    trace = {"loss": [], "lr": [], "grad_norm": []}
    for s in range(STEPS):
        rows = [(s * BATCH + i) % len(inputs) for i in range(BATCH)]
        working.load_state_dict(masters.state_dict())
        working.zero_grad()
        loss = F.cross_entropy(working(inputs[rows]).float().flatten(0, -2), labels[rows].flatten())
        loss.backward()
        for name, p in working.named_parameters():
            named[name].grad = p.grad.float()
        norm = torch.nn.utils.clip_grad_norm_(masters.parameters(), OPTIONS["clip"])
        for group in optimizer.param_groups:
            group["lr"] = rate(s, STEPS, OPTIONS)
        optimizer.step()
        for key, value in (("loss", loss.item()), ("lr", rate(s, STEPS, OPTIONS)), ("grad_norm", norm.item())):
            trace[key].append(value)
    # AdamW makes the noise of a small gradient as large as any other: of vectors it is all that is there at first.
    return trace | {"norms": {n: t.double().norm().item() for n, t in named.items() if t.dim() > 1}}


def main():
    draw = np.random.default_rng(11)
    torch.manual_seed(11)
    tokens = np.cumsum(draw.integers(1, 4, size=(8, LENGTH + 1)), axis=1) % VOCABULARY
    inputs, labels = tokens[:, :-1].copy(), tokens[:, 1:].copy()
    model = Heads()
    make("heads", model, "input_ids", inputs, labels, BATCH, STEPS, OPTIONS,
         ["--optimizer", "adamw", "--weight-decay-exclude", "bias$|norm", "--clip-norm", "0.7"],
         ["--betas", "0.9,0.95", "--weight-decay", "0.1", "--schedule", "cosine", "--warmup", "4", "--min-lr", "2e-4"],
         dynamo=True, opset_version=20, optimize=False, dynamic_shapes=({0: "batch", 1: "sequence"},))
    # `make` has trained it: begin again with what the file holds.
    initializers = {i.name: onnx.numpy_helper.to_array(i) for i in onnx.load(FOLDER / "model.onnx").graph.initializer}
    model.load_state_dict({name: torch.from_numpy(initializers[name].copy()) for name in model.state_dict()})
    whole = json.loads((FOLDER / "trace.json").read_text())
    everything = {"compile": [*whole["compile"], "--precision", "bf16"], "data": whole["data"], "run": whole["run"], "relative": 2e-3,
                  **low(model, torch.from_numpy(inputs), torch.from_numpy(labels))}
    (FOLDER / "bf16.json").write_text(json.dumps(everything, indent=1) + "\n")
    print("heads in bf16", everything["loss"][0], "->", everything["loss"][-1])


if __name__ == "__main__":
    main()
