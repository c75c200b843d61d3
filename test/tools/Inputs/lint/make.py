#!/usr/bin/env python3
"""Makes the models of this folder with torch's exporter (packages torch, onnxscript, onnx): make.py OUTPUT_FOLDER."""
import pathlib
import sys

import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F

OUT = pathlib.Path(sys.argv[1])


def export(name, model, args, **options):
    torch.manual_seed(0)
    path = OUT / f"{name}.onnx"
    if options.pop("legacy", False):
        torch.onnx.export(model, args, str(path), dynamo=False, **options)
    else:
        torch.onnx.export(model, args, str(path), dynamo=True, external_data=False, verbose=False, **options)
    loaded = onnx.load(path)
    for node in loaded.graph.node:  # stack traces name files of the machine that exported
        kept = [p for p in node.metadata_props if "stack_trace" not in p.key]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(loaded, path)


class FusedNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.head = nn.Conv2d(2, 4, 3, bias=False), nn.BatchNorm2d(4), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(F.relu(self.bn(self.conv(x))).mean((2, 3)))


class Lora(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 3))
        self.a, self.b = nn.Parameter(torch.randn(2, 3)), nn.Parameter(torch.zeros(4, 2))

    def forward(self, x):
        return F.linear(x, self.weight + self.b @ self.a)


class Regularized(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.drop, self.second = nn.Linear(3, 4), nn.Dropout(0.3), nn.Linear(4, 2)

    def forward(self, x):
        return self.second(self.drop(torch.relu(self.first(x))))


class Scale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight)


class Block(nn.Module):
    """Two norms of one value side by side, as in GPT-NeoX: equal weights make them one node."""

    def __init__(self, width):
        super().__init__()
        self.before, self.beside = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix, self.grow = nn.Linear(width, width), nn.Linear(width, width)
        nn.init.zeros_(self.mix.bias), nn.init.zeros_(self.grow.bias)

    def forward(self, x):
        return x + torch.tanh(self.mix(self.before(x))) + torch.relu(self.grow(self.beside(x)))


class Fresh(nn.Module):
    """Tied embedding, a position table, a class token, untrained norms and biases."""

    def __init__(self, width=4):
        super().__init__()
        self.words, self.places = nn.Embedding(6, width, padding_idx=0), nn.Embedding(8, width)
        self.start = nn.Parameter(torch.randn(1, 1, width))
        self.block, self.norm, self.head = Block(width), Scale(width), nn.Linear(width, 6, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids):
        x = torch.cat([self.start.expand(ids.shape[0], -1, -1), self.words(ids)], 1)
        x = x + self.places(torch.arange(x.shape[1]))
        return self.head(self.norm(self.block(x)))


torch.manual_seed(0)
export("fused-norm", FusedNorm().train(), (torch.randn(2, 2, 5, 5),))
export("lora", Lora().train(), (torch.randn(2, 3),))
export("dropout-opset9", Regularized().train(), (torch.randn(2, 3),), legacy=True, opset_version=9,
       training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
export("fresh", Fresh().train(), (torch.randint(1, 6, (2, 3)),))
