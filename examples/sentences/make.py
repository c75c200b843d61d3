#!/usr/bin/env python3
"""Exports sentences.onnx: a Transformer encoder that says of token numbers and a mask which of two classes they are, untrained.
Needs torch and onnxscript."""
import pathlib
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from exporting import export  # noqa: E402


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x, seen):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Classifier(nn.Module):
    def __init__(self, words=40, width=32, heads=4, layers=1, length=16):
        super().__init__()
        self.words, self.positions = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 2)

    def forward(self, input_ids, attention_mask):
        x = self.words(input_ids) + self.positions(torch.arange(input_ids.shape[1]))
        seen = attention_mask[:, None, None, :] > 0
        for layer in self.layers:
            x = layer(x, seen)
        share = attention_mask.to(x.dtype)[:, :, None]
        return self.head((self.norm(x) * share).sum(1) / share.sum(1))


torch.manual_seed(0)
example = (torch.zeros(2, 16, dtype=torch.int64), torch.ones(2, 16, dtype=torch.int64))
export(Classifier(), example, HERE / "sentences.onnx", ["input_ids", "attention_mask"], "logits", ({0: "batch"}, {0: "batch"}))
