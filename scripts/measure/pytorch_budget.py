#!/usr/bin/env python3
"""What torch.compile's activation_memory_budget plans for the models of memory_curves.py; nothing is executed.

pytorch_budget.py OUT.json [NAME...]     NAME: gpt2, bert-base, resnet50, unet, llama-1b; needs torch

Models are built on fake tensors, AOTAutograd partitions forward and backward under each budget, and the two graphs are
read: bytes that go from forward to backward (without parameters and inputs), and FLOPs of both as
torch.utils.flop_counter counts them (products, convolutions, attention). OUT.json: {NAME: {budget: {"saved", "flops"}}}.
memory_curves.py --pytorch OUT.json puts them into its tables.
"""
import json
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from functorch.compile import aot_function, make_boxed_func, min_cut_rematerialization_partition
from torch._functorch import config
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import flop_registry

BUDGETS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.0)


class Attention(nn.Module):
    def __init__(self, width, heads, kv_heads, causal, bias, rotary=False):
        super().__init__()
        self.heads, self.kv_heads, self.causal, self.rotary = heads, kv_heads, causal, rotary
        self.size = width // heads
        self.qkv = nn.Linear(width, self.size * (heads + 2 * kv_heads), bias=bias)
        self.out = nn.Linear(width, width, bias=bias)

    def turn(self, x, cos, sin):
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)

    def forward(self, x, angles=None):
        b, t, _ = x.shape
        parts = self.qkv(x).split([self.size * n for n in (self.heads, self.kv_heads, self.kv_heads)], -1)
        q, k, v = (p.view(b, t, -1, self.size).transpose(1, 2) for p in parts)
        if self.rotary:
            q, k = self.turn(q, *angles), self.turn(k, *angles)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, enable_gqa=self.heads != self.kv_heads)
        return self.out(y.transpose(1, 2).reshape(b, t, -1))


class Block(nn.Module):
    """GPT-2's (norms first) or BERT's (norms last)."""
    def __init__(self, width, heads, gpt):
        super().__init__()
        self.gpt, self.norm1, self.norm2 = gpt, nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, heads, gpt, True)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def mlp(self, x):
        return self.down(F.gelu(self.up(x), approximate="tanh" if self.gpt else "none"))

    def forward(self, x):
        if self.gpt:
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


class Transformer(nn.Module):
    def __init__(self, layers, width, heads, vocab, positions, gpt):
        super().__init__()
        self.gpt, self.tokens, self.positions = gpt, nn.Embedding(vocab, width), nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(Block(width, heads, gpt) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), None if gpt else nn.Linear(width, vocab)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight[:ids.shape[1]]
        x = x if self.gpt else self.norm(x)
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.tokens.weight.T if self.gpt else self.head(x)


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, kv_heads, hidden):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention = Attention(width, heads, kv_heads, True, False, rotary=True)
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x, angles):
        x = x + self.attention(self.norm1(x), angles)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, layers=16, width=2048, heads=32, kv_heads=8, hidden=8192, vocab=128256):
        super().__init__()
        self.tokens, self.norm = nn.Embedding(vocab, width), nn.RMSNorm(width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, kv_heads, hidden) for _ in range(layers))
        self.register_buffer("angles", torch.zeros(2, 8192, width // heads // 2))

    def forward(self, ids):
        x, angles = self.tokens(ids), self.angles[:, :ids.shape[1]]
        for block in self.blocks:
            x = block(x, angles)
        return self.norm(x) @ self.tokens.weight.T


def convolution(fan_in, fan_out, size, stride=1):
    return nn.Sequential(nn.Conv2d(fan_in, fan_out, size, stride, size // 2, bias=False), nn.BatchNorm2d(fan_out, track_running_stats=False))


class Bottleneck(nn.Module):
    def __init__(self, width, inner, stride, first):
        super().__init__()
        self.body = nn.Sequential(convolution(width, inner, 1), nn.ReLU(), convolution(inner, inner, 3, stride), nn.ReLU(),
                                  convolution(inner, 4 * inner, 1))
        self.down = convolution(width, 4 * inner, 1, stride) if first else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.down(x))


def resnet50():
    layers, width = [convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for stage, (blocks, inner) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for i in range(blocks):
            layers.append(Bottleneck(width, inner, 2 if stage and not i else 1, not i))
            width = 4 * inner
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 1000))


class UNet(nn.Module):
    def __init__(self, widths=(64, 128, 256, 512, 1024), classes=2):
        super().__init__()
        double = lambda a, b: nn.Sequential(convolution(a, b, 3), nn.ReLU(), convolution(b, b, 3), nn.ReLU())
        self.down = nn.ModuleList(double(a, b) for a, b in zip((3, *widths), widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in widths[:-1])
        self.join = nn.ModuleList(double(2 * w, w) for w in widths[:-1])
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        skips = []
        for i, level in enumerate(self.down):
            x = level(F.max_pool2d(x, 2) if i else x)
            skips.append(x)
        for i in reversed(range(len(self.up))):
            x = self.join[i](torch.cat((skips[i], self.up[i](x)), 1))
        return self.head(x)


ids = lambda vocab, *shape: torch.randint(0, vocab, shape)
MODELS = {
    "gpt2": (lambda: Transformer(12, 768, 12, 50257, 1024, True), lambda: (ids(50257, 8, 1024), ids(50257, 8, 1024))),
    "bert-base": (lambda: Transformer(12, 768, 12, 30522, 512, False), lambda: (ids(30522, 16, 512), ids(30522, 16, 512))),
    "resnet50": (resnet50, lambda: (torch.randn(64, 3, 224, 224), ids(1000, 64))),
    "unet": (UNet, lambda: (torch.randn(4, 3, 256, 256), ids(2, 4, 256, 256))),
    "llama-1b": (Llama, lambda: (ids(128256, 2, 1024), ids(128256, 2, 1024))),
}


class Trained(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, labels):
        y = self.model(x)
        return F.cross_entropy(y.flatten(0, 1) if y.dim() == 3 else y, labels.flatten() if y.dim() == 3 else labels)


class Reader:
    """Takes the two graphs as they are compiled."""
    def __init__(self):
        self.saved = self.flops = 0

    def forward(self, graph, _):
        given = {n for n in graph.graph.nodes if n.op == "placeholder"}
        kept = {n for n in graph.graph.output_node().args[0][1:] if isinstance(n, torch.fx.Node) and n not in given}
        values = [n.meta["val"] for n in kept if self.is_activation(n)]
        self.saved = sum(v.numel() * v.element_size() for v in values if isinstance(v, torch.Tensor))
        return self.counted(graph, _)

    def counted(self, graph, _):
        for node in graph.graph.nodes:
            kind = getattr(node.target, "overloadpacket", None)
            if node.op == "call_function" and kind in flop_registry:
                value = lambda n: n.meta["val"]
                arguments, options = (torch.fx.map_arg(part, value) for part in (node.args, node.kwargs))
                self.flops += flop_registry[kind](*arguments, **options, out_val=node.meta["val"])
        return make_boxed_func(graph.forward)

    @staticmethod
    def is_activation(node):
        """Not a parameter under another shape."""
        views = [getattr(torch.ops.aten, name).default for name in ("t", "permute", "view", "detach")]
        while node.op == "call_function" and node.target in views:
            node = node.args[0]
        return node.op != "placeholder"


def plan(name, budget):
    reader = Reader()
    build, inputs = MODELS[name]
    with torch.device("meta"):
        model = Trained(build())
    names = [n for n, _ in model.named_parameters()] + [n for n, _ in model.named_buffers()]

    def step(tensors, x, labels):
        return torch.func.functional_call(model, dict(zip(names, tensors)), (x, labels))

    with FakeTensorMode(), config.patch(activation_memory_budget=budget):
        like = lambda t: torch.empty(t.shape, dtype=t.dtype)
        tensors = [like(t).requires_grad_() for t in model.parameters()] + [like(t) for t in model.buffers()]
        compiled = aot_function(step, fw_compiler=reader.forward, bw_compiler=reader.counted,
                                partition_fn=min_cut_rematerialization_partition)
        compiled(tensors, *inputs()).backward()
    return {"saved": reader.saved, "flops": reader.flops}


def main():
    out, names = sys.argv[1], sys.argv[2:] or list(MODELS)
    results = {}
    for name in names:
        results[name] = {}
        for budget in BUDGETS:
            results[name][budget] = plan(name, budget)
            print(name, budget, results[name][budget], flush=True)
    with open(out, "w") as file:
        json.dump({"torch": torch.__version__, "models": results}, file)


if __name__ == "__main__":
    if len(sys.argv) < 2 or any(name not in MODELS for name in sys.argv[2:]):
        sys.exit(__doc__)
    main()
