#!/usr/bin/env python3
"""Regenerates optimizers.json: what torch.optim's, bitsandbytes' and their authors' optimizers do with the golden model gpt.

Needs torch, onnx, bitsandbytes, timm, schedulefree, prodigyopt and pytorch_optimizer from PyPI. A run an optimizer: the options of compiler and
program, loss and gradient norm of each step, parameter norms at the end. Also few_bits: weights in 4 bits as bitsandbytes' CPU backend makes
them. `make_optimizers.py RUN...` regenerates these runs alone.
"""
import json
import pathlib
import sys

import bitsandbytes as bnb
import bitsandbytes.functional as bits
import numpy as np
import onnx
import prodigyopt
import pytorch_optimizer
import schedulefree
import timm.optim
import torch
from make import GPT, HERE, losses

BATCH, STEPS, MANY = 4, 12, 50
MUON = ("qkv.weight", "proj.weight", "up.weight", "down.weight")


def loaded():
    model = GPT()
    values = {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy()) for t in onnx.load(HERE / "gpt" / "model.onnx").graph.initializer}
    for name, parameter in model.named_parameters():
        parameter.data = values[name].reshape(parameter.shape)
    return model


def muon(parameters, lr, weight_decay):
    matrices = [p for n, p in parameters if n.endswith(MUON)]
    rest = [p for n, p in parameters if not n.endswith(MUON)]
    return [torch.optim.Muon(matrices, lr=lr, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(rest, lr=lr, weight_decay=weight_decay)]


def normuon(parameters, lr):
    matrices = [p for n, p in parameters if n.endswith(MUON)]
    rest = [p for n, p in parameters if not n.endswith(MUON)]
    return [pytorch_optimizer.NorMuon([{"params": matrices, "lr": lr, "use_muon": True, "use_adjusted_lr": True},
                                       {"params": rest, "lr": lr, "betas": (0.9, 0.95), "eps": 1e-10, "use_muon": False}])]


class CautiousDecay(torch.optim.Optimizer):
    """AdamW with the decay of Chen et al. (2025), algorithm 1: where a weight has the sign of its update."""

    def __init__(self, params, lr, weight_decay):
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "t": 0})

    @torch.no_grad()
    def step(self):
        group = self.param_groups[0]
        group["t"] += 1
        for p in group["params"]:
            state = self.state[p]
            m, v = state.setdefault("m", torch.zeros_like(p)), state.setdefault("v", torch.zeros_like(p))
            m.lerp_(p.grad, 0.1)
            v.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
            update = (m / (1 - 0.9**group["t"])) / ((v / (1 - 0.999**group["t"])).sqrt() + 1e-8)
            p.sub_(group["lr"] * (update + group["weight_decay"] * (update * p >= 0) * p))


# Name -> optimizers of named parameters, rate, further options, allowed relative difference.
RUNS = {
    "lion": (lambda p, lr: [bnb.optim.Lion([q for _, q in p], lr=lr, weight_decay=0.1)], 1e-3, ["--weight-decay", "0.1"], 2e-5),
    "rmsprop": (lambda p, lr: [torch.optim.RMSprop([q for _, q in p], lr=lr)], 1e-3, [], 2e-5),
    "rmsprop momentum": (lambda p, lr: [torch.optim.RMSprop([q for _, q in p], lr=lr, momentum=0.9, weight_decay=0.01)], 3e-4,
                         ["--momentum", "0.9", "--weight-decay", "0.01"], 2e-5),
    "adagrad": (lambda p, lr: [torch.optim.Adagrad([q for _, q in p], lr=lr, weight_decay=0.01)], 1e-2, ["--weight-decay", "0.01"], 2e-5),
    "adafactor": (lambda p, lr: [torch.optim.Adafactor([q for _, q in p], lr=lr, weight_decay=0.1)], 1e-2, ["--weight-decay", "0.1"], 2e-5),
    # Products in bf16 round where their sums are cut, which is each library's own.
    "muon": (lambda p, lr: muon(p, lr, 0.1), 3e-3, [], 2e-3),
    "adamw8bit": (lambda p, lr: [bnb.optim.AdamW8bit([q for _, q in p], lr=lr, weight_decay=0.1)], 3e-3, ["--weight-decay", "0.1"], 1e-4),
    "adopt": (lambda p, lr: [timm.optim.Adopt([q for _, q in p], lr=lr, weight_decay=0.1, decoupled=True, clip_exp=0.25)], 1e-3, ["--weight-decay", "0.1"], 1e-5),
    "adamw cautious updates": (lambda p, lr: [timm.optim.AdamWLegacy([q for _, q in p], lr=lr, weight_decay=0.1, caution=True)], 1e-4,
                               ["--weight-decay", "0.1", "--cautious", "updates"], 1e-5),
    "adamw cautious decay": (lambda p, lr: [CautiousDecay([q for _, q in p], lr=lr, weight_decay=0.5)], 1e-3,
                             ["--weight-decay", "0.5", "--cautious", "decay"], 1e-5),
    "schedule-free-adamw": (lambda p, lr: [schedulefree.AdamWScheduleFree([q for _, q in p], lr=lr, weight_decay=0.1, warmup_steps=10)], 2.5e-3,
                            ["--weight-decay", "0.1", "--warmup", "10"], 1e-5),
    "prodigy": (lambda p, lr: [prodigyopt.Prodigy([q for _, q in p], lr=lr, weight_decay=0.1)], 0.2, ["--weight-decay", "0.1"], 1e-5),
    "normuon": (normuon, 3e-3, [], 2e-3),
}
LONG = list(RUNS)[list(RUNS).index("adopt"):]  # compared over more steps


def train(make, lr, steps):
    model = loaded()
    inputs, labels = (torch.from_numpy(np.load(HERE / "gpt" / f"{n}.npy")).long() for n in ("input_ids", "labels"))
    optimizers = make(list(model.named_parameters()), lr)
    modes = [optimizer for optimizer in optimizers if hasattr(optimizer, "eval")]  # the weights that are evaluated are others
    for optimizer in modes:
        optimizer.train()
    run = {"loss": [], "grad_norm": []}
    for s in range(steps):
        rows = [(s * BATCH + i) % len(inputs) for i in range(BATCH)]
        model.zero_grad()
        loss = losses("cross-entropy", model(inputs[rows]), labels[rows])
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        run["loss"].append(loss.item())
        run["grad_norm"].append(norm.item())
    for optimizer in modes:
        optimizer.eval()
    run["norms"] = {n: p.detach().double().norm().item() for n, p in model.named_parameters() if not n.endswith("qkv.bias")}
    return run


def few_bits():
    """Codes (hexadecimal) and absmaxes of weights of the model."""
    named, found = dict(loaded().named_parameters()), {}
    for name, kind in (("blocks.0.proj.weight", "nf4"), ("blocks.1.proj.weight", "fp4")):
        codes, state = bits.quantize_4bit(named[name].data, quant_type=kind, blocksize=64)
        found[name] = {"format": kind, "table": bits.get_4bit_type(kind, device="cpu").tolist(), "codes": bytes(codes.flatten().tolist()).hex(),
                       "absmax": state.absmax.tolist()}
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    wanted = sys.argv[1:]
    record = json.loads((HERE / "optimizers.json").read_text()) if wanted else {"runs": {}}
    record.update(bitsandbytes=bnb.__version__, torch=torch.__version__)
    for name, (make, lr, options, relative) in RUNS.items():
        if wanted and name not in wanted:
            continue
        steps = MANY if name in LONG else STEPS
        run = train(make, lr, steps)
        record["runs"][name] = {"compile": ["--shape", f"input_ids={BATCH}x24", "--loss", "cross-entropy", "--clip-norm", "1", "--optimizer",
                                            name.split()[0], *options], "run": ["--steps", str(steps), "--lr", str(lr)],
                                "relative": relative, **run}
        print(name, run["loss"][0], "->", run["loss"][-1], flush=True)
    if not wanted:
        record["few_bits"] = few_bits()
    (HERE / "optimizers.json").write_text(json.dumps(record) + "\n")
