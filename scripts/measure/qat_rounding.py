#!/usr/bin/env python3
"""Why losses of --qat part from PyTorch's: qat_rounding.py [--steps 20] [--folder DIR] (a Python with torch and onnx; kedge in PATH)

A convnet with and without BatchNormalization trains for integers by SGD, from the same weights, rows and recipe: in the program, with every
value of every step kept (--trace-values), and in PyTorch
- as it is: fake_quantize_per_channel_affine and _per_tensor_affine, which multiply with 1 / scale, where ONNX and the program divide;
- dividing;
- as it is, with the library of its convolutions switched off: the same sums in another order;
- dividing, in 64 bits.
Prints how far losses are apart, and for the program and for PyTorch with other sums the first tensor where a value becomes a neighbour of
what it is in PyTorch: its step, how many elements, and how far from the middle of the two integers the furthest of them is.
"""
import argparse
import collections
import copy
import json
import pathlib
import subprocess
import tempfile

import numpy as np
import torch
from torch import nn

BATCH, AVERAGING = 32, np.float32(0.01)
LAYERS = ("c1", "c2", "c3", "head")


class Grid:
    """The range of a product's input."""

    def __init__(self):
        self.ends = None

    def follow(self, x):
        seen = torch.stack([x.detach().min(), x.detach().max()])
        averaging = torch.tensor(AVERAGING, dtype=x.dtype)
        self.ends = seen if self.ends is None else self.ends + averaging * (seen - self.ends)
        least, most = self.ends[0].clamp(max=0), self.ends[1].clamp(min=0)
        scale = (most - least) / 255
        return scale, (-torch.round(least / scale)).clamp(0, 255)


def through(x, scale, zero, low, high):
    """fake_quantize, dividing."""
    place = torch.round(x.detach() / scale) + zero
    inside = (place >= low) & (place <= high)
    values = (place.clamp(low, high) - zero) * scale
    return torch.where(inside, x, x.detach()) + (values - x.detach()) if x.dtype == torch.float64 else Straight.apply(x, values, inside)


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, values, inside):
        ctx.save_for_backward(inside)
        return values.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0], None, None


class Rounded(nn.Module):
    """A Conv or Linear that adds what it rounds, in steps of the grid, to `seen`."""

    def __init__(self, module, name, seen, divides):
        super().__init__()
        self.module, self.name, self.seen, self.divides, self.grid = module, name, seen, divides, Grid()

    def forward(self, x):
        m, w = self.module, self.module.weight
        scales = w.detach().flatten(1).abs().amax(1) / 127
        scale = scales.reshape((-1,) + (1,) * (w.dim() - 1))
        x_scale, x_zero = self.grid.follow(x)
        self.seen[self.name + ".input"] = x.detach() / x_scale + x_zero
        self.seen[self.name + ".weight"] = w.detach() / scale
        if self.divides:
            w, x = through(w, scale, 0, -127, 127), through(x, x_scale, x_zero, 0, 255)
        else:
            w = torch.fake_quantize_per_channel_affine(w, scales, torch.zeros(len(scales), dtype=torch.int32), 0, -127, 127)
            x = torch.fake_quantize_per_tensor_affine(x, x_scale, x_zero.to(torch.int32), 0, 255)
        return nn.functional.linear(x, w, m.bias) if isinstance(m, nn.Linear) else nn.functional.conv2d(x, w, m.bias, m.stride, m.padding)


class Network(nn.Module):
    def __init__(self, normalized):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 8, 3, padding=1, bias=not normalized), nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=not normalized)
        self.c3, self.head = nn.Conv2d(16, 16, 3, padding=1, bias=not normalized), nn.Linear(16, 10)
        self.n1, self.n2, self.n3 = (nn.BatchNorm2d(c) if normalized else nn.Identity() for c in (8, 16, 16))

    def forward(self, x):
        x = torch.relu(self.n1(self.c1(x)))
        x = torch.relu(self.n2(self.c2(x)))
        x = torch.relu(self.n3(self.c3(x)) + x)
        return self.head(x.mean((2, 3)))


def pytorch(network, x, labels, rate, divides, double=False):
    """Losses, and what each step rounds."""
    network, seen = copy.deepcopy(network), {}
    for name in LAYERS:
        setattr(network, name, Rounded(getattr(network, name), name, seen, divides))
    network = network.double() if double else network
    losses, steps = [], []
    update = torch.optim.SGD(network.parameters(), lr=rate)
    for rows, wanted in zip(x.split(BATCH), labels.split(BATCH)):
        loss = nn.functional.cross_entropy(network(rows.double() if double else rows), wanted)
        update.zero_grad()
        loss.backward()
        update.step()
        losses.append(loss.item())
        steps.append(dict(seen))
    return losses, steps


def integers_of(path):
    """Of each step, the integers of each tensor, from a file of --trace-values."""
    steps, parts = collections.defaultdict(dict), {}
    with path.open("rb") as file:
        while line := file.readline():
            record = json.loads(line)
            data = file.read(record["bytes"])
            name = record.get("value", {}).get("value", "") if record["kind"] == "value" and not record["backward"] else ""
            layer, _, op = name.removeprefix("forward ").partition("/")
            op = op.partition(" ")[2]
            if layer not in LAYERS or not op.startswith(("range_scale", "fake_quantize")):
                continue
            value = torch.from_numpy(np.frombuffer(data, "f4").reshape(record["shape"]).copy())
            parts[op] = value
            if op.startswith("fake_quantize"):
                which = op.partition(".")[2]
                scale, zero = parts[f"range_scale.{which}"], parts[f"range_scale.{which}:1"]
                steps[record["step"]][f"{layer}.{('input', 'weight')[int(which)]}"] = torch.round(value / scale) + zero
    return [steps[step] for step in sorted(steps)]


def program(network, x, labels, rate, folder):
    torch.onnx.export(copy.deepcopy(network).train(), (x[:BATCH],), folder / "m.onnx", input_names=["x"], output_names=["logits"], dynamo=True,
                      optimize=False, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, verbose=False)
    np.save(folder / "x.npy", x.numpy())
    np.save(folder / "labels.npy", labels.numpy())
    run = lambda *words: subprocess.run([str(w) for w in words], cwd=folder, check=True, capture_output=True)
    run("kedge", "compile", "m.onnx", "--shape", f"x={BATCH}x1x16x16", "--loss", "cross-entropy", "--optimizer", "sgd", "--qat", ".*=int8", "-o", "train")
    run("./train", "--data", "x=x.npy", "labels=labels.npy", "--steps", len(x) // BATCH, "--lr", rate, "--weight-decay", 0, "--log", "log.jsonl",
        "--trace-values", "values")
    losses = [json.loads(line)["loss"] for line in (folder / "log.jsonl").read_text().splitlines()]
    return losses, integers_of(folder / "values")


def apart(a, b):
    return f"{max(abs(p - q) for p, q in zip(a, b)):.1e}"


def first_neighbour(places, integers):
    """`places`: before rounding, in PyTorch."""
    for step, (before, other) in enumerate(zip(places, integers)):
        for name, place in before.items():
            ends = (0, 255) if name.endswith("input") else (-127, 127)
            differs = torch.round(place).clamp(*ends) != torch.round(other[name]).clamp(*ends)
            if differs.any():
                furthest = (place[differs] - place[differs].floor() - 0.5).abs().max()
                return f"step {step}, {name}, {int(differs.sum())} of {differs.numel()}, {furthest:.0e}"
    return "none"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--folder", type=pathlib.Path)
    o = parser.parse_args()
    folder = o.folder or pathlib.Path(tempfile.mkdtemp())
    torch.set_num_threads(1)
    print("| BatchNormalization | rate | program and PyTorch | program and PyTorch dividing | PyTorch and itself dividing | PyTorch and other sums | "
          "PyTorch and 64 bits | first neighbour of the program's | first neighbour of PyTorch's other sums |")
    print("|---|---|---|---|---|---|---|---|---|")
    for normalized in (False, True):
        for rate in (0.01, 0.1):
            torch.manual_seed(1)
            network = Network(normalized).train()
            draw = np.random.default_rng(0)
            centers, labels = draw.standard_normal((10, 1, 16, 16)), draw.integers(0, 10, BATCH * o.steps)
            x = torch.from_numpy((centers[labels] + draw.standard_normal((len(labels), 1, 16, 16))).astype("f4"))
            labels = torch.from_numpy(labels)
            as_is, places = pytorch(network, x, labels, rate, divides=False)
            divided, divided_places = pytorch(network, x, labels, rate, divides=True)
            with torch.backends.mkldnn.flags(enabled=False):
                other, other_places = pytorch(network, x, labels, rate, divides=False)
            double, _ = pytorch(network, x, labels, rate, divides=True, double=True)
            ours, integers = program(network, x, labels, rate, folder)
            print(f"| {'yes' if normalized else 'no'} | {rate} | {apart(ours, as_is)} | {apart(ours, divided)} | {apart(as_is, divided)} | "
                  f"{apart(as_is, other)} | {apart(as_is, double)} | {first_neighbour(divided_places, integers)} | {first_neighbour(places, other_places)} |")


main()
