#!/usr/bin/env python3
"""Writes networks of text, sound and tables as ONNX models with new weights: what scripts/measure/bench_networks.py times.

make_networks.py NAME OUT.onnx    (the batch is dynamic; needs torch, onnx and onnxscript)

lstm (a language model of 10,000 words, 512 wide, two layers), bigru (two layers of 256 in both directions over 80 features),
dcgan (its generator of 64 x 64 images), wavenet (two stacks of ten dilated convolutions, 64 channels), recommender (two tables
of 50,000 rows and a small network).
"""
import argparse
import dataclasses
import sys
import warnings

import torch
import torch.nn as nn


class Words(nn.Module):
    def __init__(self, words=10000, width=512):
        super().__init__()
        self.table, self.layers = nn.Embedding(words, width), nn.LSTM(width, width, 2, batch_first=True)
        self.last = nn.Linear(width, words)

    def forward(self, tokens):
        return self.last(self.layers(self.table(tokens))[0])


class Frames(nn.Module):
    def __init__(self, features=80, hidden=256, classes=40):
        super().__init__()
        self.layers = nn.GRU(features, hidden, 2, batch_first=True, bidirectional=True)
        self.last = nn.Linear(2 * hidden, classes)

    def forward(self, frames):
        return self.last(self.layers(frames)[0])


def generator(width=64, noise=100):
    def up(fan_in, fan_out, stride, padding):
        return [nn.ConvTranspose2d(fan_in, fan_out, 4, stride, padding, bias=False), nn.BatchNorm2d(fan_out), nn.ReLU()]

    layers = up(noise, 8 * width, 1, 0)
    for factor in (8, 4, 2):
        layers += up(factor * width, factor * width // 2, 2, 1)
    return nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False), nn.Tanh())


class WaveNet(nn.Module):
    """Logits of the next sample's class."""

    def __init__(self, classes=256, width=64, stacks=2, depth=10):
        super().__init__()
        self.table = nn.Embedding(classes, width)
        self.dilations = [2**i for _ in range(stacks) for i in range(depth)]
        self.gates = nn.ModuleList(nn.Conv1d(width, 2 * width, 2, dilation=d) for d in self.dilations)
        self.outs = nn.ModuleList(nn.Conv1d(width, 2 * width, 1) for _ in self.dilations)
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(width, width, 1), nn.ReLU(), nn.Conv1d(width, classes, 1))

    def forward(self, samples):
        x, skips = self.table(samples).transpose(1, 2), 0
        for dilation, gate, out in zip(self.dilations, self.gates, self.outs):
            filtered, gated = gate(nn.functional.pad(x, (dilation, 0))).chunk(2, 1)
            kept, skip = out(torch.tanh(filtered) * torch.sigmoid(gated)).chunk(2, 1)
            x, skips = x + kept, skips + skip
        return self.last(skips).transpose(1, 2)


class Recommender(nn.Module):
    def __init__(self, rows=50000, width=64):
        super().__init__()
        self.users, self.items = nn.Embedding(rows, width), nn.Embedding(rows, width)
        self.body = nn.Sequential(nn.Linear(2 * width, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, users, items):
        return self.body(torch.cat([self.users(users), self.items(items)], 1))


@dataclasses.dataclass
class Network:
    make: type
    inputs: dict      # name: shape without the batch; of whole numbers where `below` is given
    batch: int
    loss: str         # as kedge compile takes it
    below: int = 0    # bound of whole numbers among the inputs
    classes: int = 0  # bound of labels

    def example(self, batch):
        def drawn(shape):
            return torch.randint(self.below, (batch, *shape)) if self.below else torch.randn(batch, *shape)

        return tuple(drawn(shape) for shape in self.inputs.values())


NETWORKS = {
    "lstm": Network(Words, {"tokens": (64,)}, 16, "cross-entropy", 10000, 10000),
    "bigru": Network(Frames, {"frames": (100, 80)}, 16, "cross-entropy", 0, 40),
    "dcgan": Network(generator, {"noise": (100, 1, 1)}, 64, "mse"),
    "wavenet": Network(WaveNet, {"samples": (4096,)}, 2, "cross-entropy", 256, 256),
    "recommender": Network(Recommender, {"users": (), "items": ()}, 2048, "mse", 50000),
}


def make(name):
    torch.manual_seed(0)
    return NETWORKS[name].make().train()


def write(name, path):
    warnings.filterwarnings("ignore")
    inputs = NETWORKS[name].example(2)
    torch.onnx.export(make(name), inputs, path, dynamo=True, optimize=False, verbose=False, opset_version=20,
                      input_names=list(NETWORKS[name].inputs), output_names=["result"],
                      dynamic_shapes=({0: torch.export.Dim("batch")},) * len(inputs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=NETWORKS)
    parser.add_argument("out")
    o = parser.parse_args()
    write(o.name, o.out)


if __name__ == "__main__":
    sys.exit(main())
