#!/usr/bin/env python3
"""Exports byte-gpt.onnx: a byte-level GPT (vocabulary 256, 4 layers, width 128, 4 heads, tied embedding), untrained.

Needs torch and onnxscript from PyPI. `optimize=False` is the export to train from: every parameter keeps its name and
its own tensor.
"""
import pathlib
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class ByteGPT(nn.Module):
    def __init__(self, width=128, heads=4, layers=4, length=256):
        super().__init__()
        self.bytes, self.positions = nn.Embedding(256, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        for table in (self.bytes, self.positions):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, input_ids):
        x = self.bytes(input_ids) + self.positions(torch.arange(input_ids.shape[1], device=input_ids.device))
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.bytes.weight.T


def drop_stack_traces(path):
    """The exporter writes where each node came from on this machine: of no use elsewhere, and most of the file's text."""
    import onnx
    model = onnx.load(path)
    for node in model.graph.node:
        kept = [p for p in node.metadata_props if p.key != "pkg.torch.onnx.stack_trace"]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(model, path)


def main():
    torch.manual_seed(0)
    example = torch.zeros(2, 16, dtype=torch.int64)
    out = pathlib.Path(__file__).parent / "byte-gpt.onnx"
    torch.onnx.export(ByteGPT().train(), (example,), out, dynamo=True, optimize=False, opset_version=20, external_data=False,
                      input_names=["input_ids"], output_names=["logits"],
                      dynamic_shapes=({0: "batch", 1: "sequence"},))
    drop_stack_traces(out)
    print(out, out.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
