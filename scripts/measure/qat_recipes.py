#!/usr/bin/env python3
"""--qat beside PyTorch's own modules: qat_recipes.py [--steps 20] [--folder DIR] (a Python with torch and onnx; kedge in PATH)

A convnet with BatchNormalization and a residual trains for integers by SGD from the same weights and rows
- folded: convolutions are torch.ao.nn.intrinsic.qat.ConvBn2d, which round weights after BatchNormalization is multiplied into them;
- learned: inputs by torch._fake_quantize_learnable_per_tensor_affine (LSQ), scales by SGD; no BatchNormalization.
Prints how far the program's losses are from PyTorch's, and PyTorch's from itself with the library of its convolutions switched off.
"""
import argparse
import copy
import json
import pathlib
import subprocess
import tempfile
import warnings

import numpy as np
import torch
from torch import nn
from torch.ao.nn.intrinsic.qat import ConvBn2d
from torch.ao.quantization import FakeQuantize, MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver, QConfig

BATCH = 32


class Plain(nn.Module):
    def __init__(self, normalized):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 8, 3, padding=1, bias=True), nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=not normalized)
        self.c3, self.head = nn.Conv2d(16, 16, 3, padding=1, bias=not normalized), nn.Linear(16, 10)
        self.n1, self.n2, self.n3 = (nn.BatchNorm2d(c) if normalized else nn.Identity() for c in (8, 16, 16))

    def forward(self, x):
        x = torch.relu(self.n1(self.c1(x)))
        x = torch.relu(self.n2(self.c2(x)))
        x = torch.relu(self.n3(self.c3(x)) + x)
        return self.head(x.mean((2, 3)))


def weight_grid():
    return FakeQuantize.with_args(observer=MovingAveragePerChannelMinMaxObserver, averaging_constant=1.0, quant_min=-127, quant_max=127, dtype=torch.qint8,
                                  qscheme=torch.per_channel_symmetric, ch_axis=0)


def input_grid():
    return FakeQuantize.with_args(observer=MovingAverageMinMaxObserver, averaging_constant=0.01, quant_min=0, quant_max=255, dtype=torch.quint8)


class Learned(nn.Module):
    """The first batch's scale, then by its gradient."""

    def __init__(self):
        super().__init__()
        self.scale, self.zero = nn.Parameter(torch.zeros(1)), None

    def forward(self, x):
        if self.zero is None:
            least, most = x.detach().min().clamp(max=0), x.detach().max().clamp(min=0)
            self.scale.data[0] = (most - least) / 255
            self.zero = -torch.round(least / self.scale.data)
        factor = 1 / (x[0].numel() * 255) ** 0.5
        return torch._fake_quantize_learnable_per_tensor_affine(x, self.scale, self.zero, 0, 255, factor)


class Rounded(nn.Module):
    def __init__(self, module, grid):
        super().__init__()
        self.module, self.grid, self.weights = module, grid, weight_grid()()

    def forward(self, x):
        x, w, m = self.grid(x), self.module.weight if isinstance(self.module, ConvBn2d) else self.weights(self.module.weight), self.module
        if isinstance(m, ConvBn2d):
            return m(x)
        return nn.functional.linear(x, w, m.bias) if isinstance(m, nn.Linear) else nn.functional.conv2d(x, w, m.bias, m.stride, m.padding)


def rounding(network, recipe):
    network = copy.deepcopy(network)
    for k, name in enumerate(("c1", "c2", "c3", "head"), 1):
        module = getattr(network, name)
        if recipe == "folded" and name != "head":
            norm = getattr(network, f"n{k}")
            joined = ConvBn2d(module.in_channels, module.out_channels, 3, stride=module.stride, padding=module.padding, bias=module.bias is not None,
                              qconfig=QConfig(activation=input_grid(), weight=weight_grid()))
            joined.weight.data.copy_(module.weight.data)
            if module.bias is not None:
                joined.bias.data.copy_(module.bias.data)
            joined.bn.load_state_dict(norm.state_dict())
            module = joined.train()
            setattr(network, f"n{k}", nn.Identity())
        setattr(network, name, Rounded(module, Learned() if recipe == "learned" else input_grid()()))
    return network


def pytorch(network, x, labels, rate, recipe):
    network, losses = rounding(network, recipe), []
    update = torch.optim.SGD(network.parameters(), lr=rate)
    for rows, wanted in zip(x.split(BATCH), labels.split(BATCH)):
        loss = nn.functional.cross_entropy(network(rows), wanted)
        update.zero_grad()
        loss.backward()
        update.step()
        losses.append(loss.item())
    return losses, {n: float(m.scale) for n, m in network.named_modules() if isinstance(m, Learned)}


def program(network, x, labels, rate, recipe, folder):
    torch.onnx.export(copy.deepcopy(network).train(), (x[:BATCH],), folder / "m.onnx", input_names=["x"], output_names=["logits"], dynamo=True,
                      optimize=False, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, verbose=False)
    np.save(folder / "x.npy", x.numpy())
    np.save(folder / "labels.npy", labels.numpy())
    run = lambda *words: subprocess.run([str(w) for w in words], cwd=folder, check=True, capture_output=True)
    run("kedge", "compile", "m.onnx", "--shape", f"x={BATCH}x1x16x16", "--loss", "cross-entropy", "--optimizer", "sgd", "--qat", ".*=int8",
        *(["--qat-learned"] if recipe == "learned" else []), "-o", "train")
    run("./train", "--data", "x=x.npy", "labels=labels.npy", "--steps", len(x) // BATCH, "--lr", rate, "--weight-decay", 0, "--log", "log.jsonl")
    return [json.loads(line)["loss"] for line in (folder / "log.jsonl").read_text().splitlines()]


def apart(a, b):
    return f"{max(abs(p - q) for p, q in zip(a, b)):.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--folder", type=pathlib.Path)
    o = parser.parse_args()
    folder = o.folder or pathlib.Path(tempfile.mkdtemp())
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print("| recipe | rate | program and PyTorch | first five steps | PyTorch and itself with other sums |")
    print("|---|---|---|---|---|")
    for recipe in ("folded", "learned"):
        for rate in (0.01, 0.1):
            torch.manual_seed(1)
            network = Plain(recipe == "folded").train()
            draw = np.random.default_rng(0)
            centers, labels = draw.standard_normal((10, 1, 16, 16)), draw.integers(0, 10, BATCH * o.steps)
            x = torch.from_numpy((centers[labels] + draw.standard_normal((len(labels), 1, 16, 16))).astype("f4"))
            labels = torch.from_numpy(labels)
            theirs, _ = pytorch(network, x, labels, rate, recipe)
            with torch.backends.mkldnn.flags(enabled=False):
                other, _ = pytorch(network, x, labels, rate, recipe)
            ours = program(network, x, labels, rate, recipe, folder)
            print(f"| {recipe} | {rate} | {apart(ours, theirs)} | {apart(ours[:5], theirs[:5])} | {apart(theirs, other)} |")


main()
