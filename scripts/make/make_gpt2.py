#!/usr/bin/env python3
"""Writes a GPT-2 as an ONNX model with new weights: what docs/results.md times.

make_gpt2.py OUT.onnx [--layers 12 --width 768 --heads 12 --vocab 50257 --positions 1024 --opset 20]

Batch and length are dynamic ("batch", "length"); the embedding is tied to the logits. Needs torch and onnx.
"""
import argparse
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        heads = (t.reshape(batch, length, self.heads, width // self.heads).transpose(1, 2)
                 for t in self.qkv(self.norm1(x)).split(width, dim=2))
        y = F.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.tokens = nn.Embedding(options.vocab, options.width)
        self.positions = nn.Embedding(options.positions, options.width)
        self.blocks = nn.ModuleList(Block(options.width, options.heads) for _ in range(options.layers))
        self.norm = nn.LayerNorm(options.width)
        for embedding in (self.tokens, self.positions):
            nn.init.normal_(embedding.weight, std=0.02)

    def forward(self, input_ids):
        x = self.tokens(input_ids) + self.positions(torch.arange(input_ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.tokens.weight.T


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    for name, value in dict(layers=12, width=768, heads=12, vocab=50257, positions=1024, opset=20).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    torch.manual_seed(0)
    warnings.filterwarnings("ignore")
    tokens = torch.zeros(2, 16, dtype=torch.int64)
    shapes = {"input_ids": {0: torch.export.Dim("batch"), 1: torch.export.Dim("length", max=options.positions)}}
    torch.onnx.export(GPT2(options), (tokens,), options.out, dynamo=True, optimize=False, verbose=False,
                      opset_version=options.opset, input_names=["input_ids"], output_names=["logits"],
                      dynamic_shapes=shapes)


if __name__ == "__main__":
    main()
