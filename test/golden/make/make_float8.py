#!/usr/bin/env python3
"""Regenerates gpt/float8.json: how the golden gpt trains under --precision fp8, by PyTorch.

Needs torch and onnx from PyPI. 16-bit weights over fp32 masters; each nn.Linear but the head multiplies 8-bit floats that
torch's own conversions made, its sums are fp32, rounded once.
"""
import json
import pathlib

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from make import GPT, rate

FOLDER = pathlib.Path(__file__).parent / "gpt"
STEPS, BATCH = 20, 4
OPTIONS = {"lr": 3e-3, "schedule": "cosine", "warmup": 5, "min_lr": 3e-4}


def narrow(x, kind):
    """x in 8 bits, as float; and what it is to be multiplied by."""
    largest = torch.finfo(kind).max
    scale = (largest / x.abs().max().double().clamp(min=1e-12)).float()
    return (x.float() * scale).clamp(-largest, largest).to(kind).float(), scale.reciprocal()


def product(a, b):
    (x, inverse_x), (y, inverse_y) = a, b
    return x @ y * (inverse_x * inverse_y)


class Linear8(torch.autograd.Function):
    @staticmethod
    def forward(context, x, w, b):
        rows = narrow(x.flatten(0, -2), torch.float8_e4m3fn), narrow(w, torch.float8_e4m3fn)
        context.save_for_backward(*rows[0], *rows[1])
        context.shape = x.shape
        y = product(rows[0], (rows[1][0].T, rows[1][1])) + b.float()
        return y.bfloat16().view(*x.shape[:-1], -1)

    @staticmethod
    def backward(context, dy):
        x, inverse_x, w, inverse_w = context.saved_tensors
        dy = dy.flatten(0, -2)
        d, inverse_d = narrow(dy, torch.float8_e5m2)
        dx, dw = product((d, inverse_d), (w, inverse_w)), product((d.T, inverse_d), (x, inverse_x))
        return dx.bfloat16().view(context.shape), dw.bfloat16(), dy.float().sum(0).bfloat16()


def main():
    masters = GPT()
    # The exporter gives parameters their names; the head is the embedding.
    initializers = {i.name: onnx.numpy_helper.to_array(i) for i in onnx.load(FOLDER / "model.onnx").graph.initializer}
    masters.load_state_dict({name: torch.from_numpy(initializers[name].copy()) for name in masters.state_dict()})
    working = GPT().bfloat16()
    for module in working.modules():
        if isinstance(module, torch.nn.Linear):
            module.forward = lambda x, m=module: Linear8.apply(x, m.weight, m.bias)
    named = dict(masters.named_parameters())
    plain = [n for n in named if "bias" in n or "norm" in n]
    optimizer = torch.optim.AdamW([{"params": [p for n, p in named.items() if n not in plain], "weight_decay": 0.1},
                                   {"params": [named[n] for n in plain], "weight_decay": 0.0}], betas=(0.9, 0.95))
    inputs, labels = (torch.from_numpy(np.load(FOLDER / f"{name}.npy")) for name in ("input_ids", "labels"))
    trace = {"loss": [], "lr": [], "grad_norm": []}
    for s in range(STEPS):
        rows = [(s * BATCH + i) % len(inputs) for i in range(BATCH)]
        working.load_state_dict(masters.state_dict())
        working.zero_grad()
        logits = working(inputs[rows])
        loss = F.cross_entropy(logits.float().flatten(0, -2), labels[rows].flatten())
        loss.backward()
        for name, p in working.named_parameters():
            named[name].grad = p.grad.float()
        norm = torch.nn.utils.clip_grad_norm_(masters.parameters(), 0.7)
        for group in optimizer.param_groups:
            group["lr"] = rate(s, STEPS, OPTIONS)
        optimizer.step()
        for key, value in (("loss", loss.item()), ("lr", rate(s, STEPS, OPTIONS)), ("grad_norm", norm.item())):
            trace[key].append(value)
    whole = json.loads((FOLDER / "trace.json").read_text())
    run = [str(STEPS) if before == "--steps" else word for before, word in zip([""] + whole["run"], whole["run"])]
    # AdamW makes the noise of a small gradient as large as any other: of vectors it is all that is there at first.
    norms = {n: t.double().norm().item() for n, t in named.items() if t.dim() > 1}
    everything = {"compile": [*whole["compile"], "--precision", "fp8"], "data": whole["data"], "run": run, "relative": 4e-3,
                  **trace, "norms": norms}
    (FOLDER / "float8.json").write_text(json.dumps(everything, indent=1) + "\n")
    print("float8", trace["loss"][0], "->", trace["loss"][-1])


if __name__ == "__main__":
    main()
