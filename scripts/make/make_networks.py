#!/usr/bin/env python3
"""Writes networks of all kinds as ONNX models with new weights: what scripts/measure/bench_networks.py times.

make_networks.py NAME OUT.onnx    (the batch is dynamic; needs torch, onnx and onnxscript)

lstm (a language model of 10,000 words, 512 wide, two layers), bigru (two layers of 256 in both directions over 80 features),
dcgan (its generator of 64 x 64 images), wavenet (two stacks of ten dilated convolutions, 64 channels), recommender (two tables
of 50,000 rows and a small network), mlp (five layers 2,048 wide), bert (BERT-base with the head for masked words), and of images
efficientnet, unet, densenet-121, convnext-tiny, mobilenet-v3, swin-tiny, vit-small as scripts/make/make_convnets.py makes them.
"""
import argparse
import dataclasses
import sys
import warnings

import make_convnets
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


def perceptron(width=2048, layers=5, classes=1000):
    body = [layer for _ in range(layers) for layer in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*body, nn.Linear(width, classes))


class BertBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention, self.norm1, self.norm2 = make_convnets.Attention(width, heads), nn.LayerNorm(width), nn.LayerNorm(width)
        self.body = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.body(x))


class Bert(nn.Module):
    """Logits of every word; the head shares the table."""

    def __init__(self, words=30522, width=768, heads=12, blocks=12, length=512):
        super().__init__()
        self.table, self.places, self.norm = nn.Embedding(words, width), nn.Embedding(length, width), nn.LayerNorm(width)
        self.blocks = nn.Sequential(*[BertBlock(width, heads) for _ in range(blocks)])
        self.head, self.bias = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width)), nn.Parameter(torch.zeros(words))

    def forward(self, tokens):
        x = self.norm(self.table(tokens) + self.places.weight[:tokens.shape[1]])
        return self.head(self.blocks(x)) @ self.table.weight.T + self.bias


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


def images(name):
    classes = make_convnets.classes_of(name)
    return Network(lambda: make_convnets.MODELS[name](classes), {"pixels": (3, 224, 224)}, 4, "cross-entropy", 0, classes)


NETWORKS = {
    **{name: images(name) for name in ("efficientnet", "unet", "densenet-121", "convnext-tiny", "mobilenet-v3", "swin-tiny",
                                       "vit-small")},
    "mlp": Network(perceptron, {"features": (2048,)}, 256, "cross-entropy", 0, 1000),
    "bert": Network(Bert, {"tokens": (128,)}, 4, "cross-entropy", 30522, 30522),
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
