#!/usr/bin/env python3
"""Regenerates the golden models with recurrent layers, with fake quantisation, with noise, and with inverted residuals.

Needs torch and onnx from PyPI. `recurrent` is exported without folding, so that its weights keep their names and are
packed by nodes; `packed` is the same model as TensorFlow's exporter and PyTorch's folding write it, with one W, R and B a
layer. Both follow the one trace: what packs weights only moves them. `vae` draws its own noise, so that only means over
seeds compare.
"""
import json
import warnings

import numpy as np
import onnx
import torch
import torch.nn as nn
from onnx import numpy_helper

from make import HERE, make


class Recurrent(nn.Module):
    """Two layers of LSTM in both directions, a GRU backwards in time, a plain cell."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 6, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(12, 7, batch_first=True)
        self.rnn = nn.RNN(7, 6, batch_first=True)
        self.head = nn.Linear(6, 4)

    def forward(self, input):
        x, _ = self.lstm(input)
        x, _ = self.gru(x)
        x, last = self.rnn(x)
        return self.head(x.mean(1) + last[0])


class Quantised(nn.Module):
    """Weights and activations pass 8 bits; some of each lie beyond their ends."""

    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(8, 16), nn.Linear(16, 3)

    def forward(self, input):
        weight = torch.fake_quantize_per_channel_affine(self.hidden.weight, self.scales, self.zeros, 0, -128, 127)
        x = torch.relu(nn.functional.linear(input, weight, self.hidden.bias))
        x = torch.fake_quantize_per_tensor_affine(x, 0.0078125, 0, 0, 255)
        return self.out(x)


class Vae(nn.Module):
    """Computes its loss: what it rebuilds, and how far its codes are from a normal distribution."""

    def __init__(self):
        super().__init__()
        self.hidden, self.mean, self.spread = nn.Linear(10, 16), nn.Linear(16, 3), nn.Linear(16, 3)
        self.up, self.out = nn.Linear(3, 16), nn.Linear(16, 10)

    def forward(self, input):
        x = torch.tanh(self.hidden(input))
        mean, spread = self.mean(x), self.spread(x)
        code = mean + torch.randn_like(spread) * torch.exp(0.5 * spread)
        rebuilt = self.out(torch.tanh(self.up(code)))
        apart = (1 + spread - mean * mean - torch.exp(spread)).sum(1).mean()
        return ((rebuilt - input) ** 2).sum(1).mean() - 0.25 * apart


class Inverted(nn.Module):
    """Wide inside, narrow at both ends, a depthwise convolution between: a block of MobileNetV2."""

    def __init__(self, width, inner):
        super().__init__()
        self.up, self.norm1 = nn.Conv2d(width, inner, 1, bias=False), nn.BatchNorm2d(inner)
        self.depth, self.norm2 = nn.Conv2d(inner, inner, 3, padding=1, groups=inner, bias=False), nn.BatchNorm2d(inner)
        self.down, self.norm3 = nn.Conv2d(inner, width, 1, bias=False), nn.BatchNorm2d(width)

    def forward(self, x):
        y = nn.functional.relu6(self.norm1(self.up(x)))
        y = nn.functional.relu6(self.norm2(self.depth(y)))
        return x + self.norm3(self.down(y))


class MobileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8)
        self.blocks = nn.ModuleList(Inverted(8, 24) for _ in range(3))
        self.head = nn.Linear(8, 5)

    def forward(self, pixels):
        x = nn.functional.relu6(self.norm(self.stem(pixels)))
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((2, 3)))


STEPS, LAST, SEEDS = 300, 100, 12


def vae_reference(start, data):
    """Mean loss of the last steps, a seed each."""
    found = []
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        model = Vae()
        model.load_state_dict(start)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        losses = []
        for s in range(STEPS):
            rows = [(s * 16 + i) % len(data) for i in range(16)]
            optimizer.zero_grad()
            loss = model(data[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        found.append(sum(losses[-LAST:]) / LAST)
    return found


def make_vae(draw):
    folder = HERE / "vae"
    folder.mkdir(exist_ok=True)
    model = Vae()
    basis = draw.normal(size=(2, 10))
    x = (np.sin(draw.normal(size=(64, 2)) * 2) @ basis).astype(np.float32)
    np.save(folder / "input.npy", x)
    torch.onnx.export(model, (torch.from_numpy(x[:16]),), folder / "model.onnx", input_names=["input"], output_names=["loss"],
                      dynamo=False, opset_version=17, do_constant_folding=False, training=torch.onnx.TrainingMode.TRAINING)
    found = vae_reference(model.state_dict(), torch.from_numpy(x))
    reference = {"steps": STEPS, "last": LAST, "losses": found}
    (folder / "reference.json").write_text(json.dumps(reference, indent=1) + "\n")
    print("vae", np.mean(found), "+-", np.std(found))


def pack(source, target):
    """Folds the nodes that pack weights into initializers, and drops the initializers that only they read."""
    model = onnx.load(HERE / source / "model.onnx")
    graph = model.graph
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    kept = []
    for node in graph.node:
        if node.op_type == "Constant":
            values[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
        elif node.op_type in ("Slice", "Concat", "Unsqueeze") and all(name in values for name in node.input):
            values[node.output[0]] = folded(node, [values[name] for name in node.input])
        else:
            kept.append(node)
    read = {name for node in kept for name in node.input}
    del graph.node[:], graph.initializer[:]
    graph.node.extend(kept)
    graph.initializer.extend(numpy_helper.from_array(values[name], name) for name in sorted(read & values.keys()))
    onnx.checker.check_model(model)
    (HERE / target).mkdir(exist_ok=True)
    (HERE / target / "model.onnx").write_bytes(model.SerializeToString())


def folded(node, operands):
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    if node.op_type == "Concat":
        return np.concatenate(operands, attributes["axis"])
    if node.op_type == "Unsqueeze":
        return np.expand_dims(operands[0], tuple(operands[1]))
    places = [slice(None)] * operands[0].ndim
    for start, end, axis in zip(operands[1], operands[2], operands[3]):
        places[axis] = slice(start, end)
    return operands[0][tuple(places)]


def narrow(name, relative):
    path = HERE / name / "trace.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "relative": relative}, indent=1) + "\n")


def make_mobilenet():
    torch.manual_seed(9)
    draw = np.random.default_rng(9)
    classes = draw.integers(0, 5, 32)
    pixels = (0.7 * draw.normal(size=(5, 3, 12, 12))[classes] + draw.normal(size=(32, 3, 12, 12))).astype(np.float32)
    make("mobilenet", MobileNet(), "pixels", pixels, classes.astype(np.int64), 8, 30,
         {"loss": "cross-entropy", "optimizer": "adamw", "lr": 2e-3, "weight_decay": 0.01},
         ["--optimizer", "adamw", "--train-mode"], ["--betas", "0.9,0.95", "--weight-decay", "0.01"],
         dynamo=True, opset_version=20, optimize=False, dynamic_shapes=({0: "batch"},))
    narrow("mobilenet", 1e-5)


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(7)
    draw = np.random.default_rng(7)
    x = draw.normal(size=(24, 9, 5)).astype(np.float32)
    labels = (np.abs(x[:, :, :2].sum((1, 2))) * 1.3).astype(np.int64) % 4
    adam = {"loss": "cross-entropy", "optimizer": "adamw", "lr": 0.01, "weight_decay": 0.1, "clip": 1.0}
    compiled = ["--weight-decay", "0.1", "--betas", "0.9,0.95", "--clip-norm", "1"]
    make("recurrent", Recurrent(), "input", x, labels, 6, 40, adam, compiled, [], dynamo=False, opset_version=17,
         do_constant_folding=False, training=torch.onnx.TrainingMode.TRAINING)
    pack("recurrent", "packed")

    model = Quantised()
    # A power of two: PyTorch multiplies by the reciprocal, ONNX divides.
    model.register_buffer("scales", torch.full((16,), 2.0 ** -9))
    model.register_buffer("zeros", torch.zeros(16, dtype=torch.int32))
    x = draw.normal(size=(24, 8)).astype(np.float32)
    target = np.sin(x[:, :3]).astype(np.float32)
    sgd = {"loss": "mse", "optimizer": "sgd", "lr": 0.1, "momentum": 0.9}
    make("quantised", model, "input", x, target, 8, 40, sgd, ["--optimizer", "sgd", "--momentum", "0.9"], [], dynamo=False,
         opset_version=17, do_constant_folding=False, training=torch.onnx.TrainingMode.TRAINING)
    trace = json.loads((HERE / "quantised/trace.json").read_text())
    del trace["norms"]["scales"]  # a constant of the program
    (HERE / "quantised/trace.json").write_text(json.dumps(trace, indent=1) + "\n")
    make_vae(draw)
    make_mobilenet()


if __name__ == "__main__":
    main()
