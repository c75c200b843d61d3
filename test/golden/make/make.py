#!/usr/bin/env python3
"""Regenerates the project's own golden models: small ONNX files, their data, and what PyTorch does with them.

Needs torch, onnx and onnxscript from PyPI. Each folder holds model.onnx, one .npy per input and trace.json: the options
of the compiler and of the program, loss, learning rate and gradient norm of each step, parameter norms at the end.
"""
import json
import math
import pathlib

import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parents[1]


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(10, 24), nn.Linear(24, 3)

    def forward(self, input):
        return self.out(torch.tanh(self.hidden(input)))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(c, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    """Two layers, embedding and head tied."""

    def __init__(self, vocabulary=64, positions=24, width=32, heads=2):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(2))
        self.norm = nn.LayerNorm(width)
        for p in self.parameters():
            nn.init.normal_(p, std=0.08) if p.dim() > 1 else p.data.add_(0.02 * torch.randn(p.shape))

    def forward(self, input_ids):
        x = self.wte(input_ids) + self.wpe(torch.arange(input_ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.wte.weight)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(16)
        self.head = nn.Linear(16, 5)

    def forward(self, pixels):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(pixels))), 2)
        return self.head(F.relu(self.bn2(self.conv2(x))).mean((2, 3)))


def losses(kind, logits, labels):
    if kind == "mse":
        return F.mse_loss(logits, labels)
    return F.cross_entropy(logits.flatten(0, -2), labels.flatten())


def rate(s, steps, o):
    if s < o.get("warmup", 0):
        return o["lr"] * (s + 1) / o["warmup"]
    if o.get("schedule") != "cosine":
        return o["lr"]
    r = min(1, (s - o["warmup"]) / max(1, steps - o["warmup"]))
    return o["min_lr"] + (o["lr"] - o["min_lr"]) * (1 + math.cos(math.pi * r)) / 2


def train(model, inputs, labels, batch, steps, o):
    named = dict(model.named_parameters())
    groups = [{"params": [p for n, p in named.items() if not any(w in n for w in o.get("no_decay", []))]},
              {"params": [p for n, p in named.items() if any(w in n for w in o.get("no_decay", []))], "weight_decay": 0.0}]
    groups = [g for g in groups if g["params"]]
    if o["optimizer"] == "sgd":
        optimizer = torch.optim.SGD(groups, lr=o["lr"], momentum=o["momentum"])
    else:
        optimizer = torch.optim.AdamW(groups, lr=o["lr"], betas=(0.9, 0.95), weight_decay=o["weight_decay"])
    trace = {"loss": [], "lr": [], "grad_norm": []}
    for s in range(steps):
        rows = [(s * batch + i) % len(inputs) for i in range(batch)]
        for group in optimizer.param_groups:
            group["lr"] = rate(s, steps, o)
        optimizer.zero_grad()
        loss = losses(o["loss"], model(inputs[rows]), labels[rows])
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), o.get("clip", math.inf))
        optimizer.step()
        for key, value in (("loss", loss.item()), ("lr", rate(s, steps, o)), ("grad_norm", norm.item())):
            trace[key].append(value)
    state = {**named, **{n: b for n, b in model.named_buffers() if b.is_floating_point()}}
    # The bias of keys has no gradient but rounding noise, which AdamW makes as large as any other.
    trace["norms"] = {n: t.double().norm().item() for n, t in state.items() if not n.endswith("qkv.bias")}
    return trace


def make(name, model, input_name, inputs, labels, batch, steps, o, compile_options, run_options, **export):
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    path = folder / "model.onnx"
    torch.onnx.export(model, (torch.from_numpy(inputs[:batch]),), path, input_names=[input_name], output_names=["logits"], **export)
    proto = onnx.load(path)
    for node in proto.graph.node:  # stack traces hold paths of the machine that exported; the others only take room
        kept = [p for p in node.metadata_props if p.key in ("pkg.torch.onnx.fx_node", "pkg.torch.onnx.name_scopes")]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    path.write_bytes(proto.SerializeToString())
    for extra in folder.glob("*.data"):
        extra.unlink()
    np.save(folder / f"{input_name}.npy", inputs)
    np.save(folder / "labels.npy", labels)
    trace = train(model.train(), torch.from_numpy(inputs), torch.from_numpy(labels), batch, steps, o)
    shape = "x".join(map(str, (batch, *inputs.shape[1:])))
    everything = {"compile": ["--shape", f"{input_name}={shape}", "--loss", o["loss"], *compile_options],
                  "data": {input_name: f"{input_name}.npy", "labels": "labels.npy"},
                  "run": ["--steps", str(steps), "--lr", str(o["lr"]), *run_options], "relative": 2e-5, **trace}
    (folder / "trace.json").write_text(json.dumps(everything, indent=1) + "\n")
    print(name, trace["loss"][0], "->", trace["loss"][-1])


def main():
    draw = np.random.default_rng(3)
    torch.manual_seed(3)
    x = draw.normal(size=(24, 10)).astype(np.float32)
    make("perceptron", Perceptron(), "input", x, np.sin(x[:, :3] + x[:, 3:6]).astype(np.float32), 8, 40,
         {"loss": "mse", "optimizer": "sgd", "lr": 0.1, "momentum": 0.9}, ["--optimizer", "sgd", "--momentum", "0.9"], [],
         dynamo=False, opset_version=12, dynamic_axes={"input": {0: "batch"}}, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
    tokens = np.cumsum(draw.integers(1, 4, size=(20, 25)), axis=1) % 64
    make("gpt", GPT(), "input_ids", tokens[:, :-1].copy(), tokens[:, 1:].copy(), 4, 40,
         {"loss": "cross-entropy", "optimizer": "adamw", "lr": 3e-3, "weight_decay": 0.1, "no_decay": ["bias", "norm"], "clip": 0.7,
          "schedule": "cosine", "warmup": 5, "min_lr": 3e-4},
         ["--optimizer", "adamw", "--weight-decay-exclude", "bias$|norm", "--clip-norm", "0.7"],
         ["--betas", "0.9,0.95", "--weight-decay", "0.1", "--schedule", "cosine", "--warmup", "5", "--min-lr", "3e-4"],
         dynamo=True, opset_version=20, optimize=False, dynamic_shapes=({0: "batch", 1: "sequence"},))
    classes = draw.integers(0, 5, 30)
    pixels = (0.7 * draw.normal(size=(5, 3, 10, 10))[classes] + draw.normal(size=(30, 3, 10, 10))).astype(np.float32)
    make("convnet", ConvNet(), "pixels", pixels, classes.astype(np.int64), 6, 30,
         {"loss": "cross-entropy", "optimizer": "adamw", "lr": 2e-3, "weight_decay": 0.01},
         ["--optimizer", "adamw", "--train-mode"], ["--betas", "0.9,0.95", "--weight-decay", "0.01"],
         dynamo=True, opset_version=20, optimize=False, dynamic_shapes=({0: "batch"},))


if __name__ == "__main__":
    main()
