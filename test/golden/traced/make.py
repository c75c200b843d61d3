#!/usr/bin/env python3
"""Regenerates the models of this folder: what torch.onnx.export(..., dynamo=False) writes of fresh models, and what PyTorch does
with the models themselves.

Needs torch, onnx and onnxruntime from PyPI. Each NAME.onnx has its data in NAME-INPUT.npy and the rest in NAME.json: options,
what lint finds, loss, learning rate and gradient norm of 20 steps, and the norm of each parameter by PyTorch's name at the end.
"""
import json
import math
import pathlib
import warnings

import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
STEPS, RATE, DECAY = 20, 1e-2, 0.1


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, x):
        return x + torch.relu(self.linear(self.norm(x)))


def mlp():
    """Three fresh norms, in a Sequential, whose members the exporter calls "/1/norm"."""
    return nn.Sequential(Residual(8), Residual(8), nn.LayerNorm(8), nn.Linear(8, 4))


class Attention(nn.Module):
    def __init__(self, width, causal):
        super().__init__()
        self.causal = causal
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (f(x).view(b, t, 2, c // 2).transpose(1, 2) for f in (self.query, self.key, self.value))
        scores = q @ k.transpose(2, 3) / math.sqrt(c // 2)
        if self.causal:
            scores = scores + torch.full((t, t), -1e9).triu(1)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c))


class Layer(nn.Module):
    def __init__(self, width, causal, first):
        super().__init__()
        self.first = first  # norms before (GPT-2, ViT) or after (BERT)
        self.attention, self.up, self.down = Attention(width, causal), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        if self.first:
            x = x + self.attention(self.norm1(x))
            return x + self.down(F.gelu(self.up(self.norm2(x))))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


def fresh(model):
    """As the models of the hubs start: normal matrices, zero biases, norms of one and zero."""
    for name, p in model.named_parameters():
        if p.dim() > 1:
            nn.init.normal_(p, std=0.1)
        elif name.endswith("bias"):
            nn.init.zeros_(p)
    return model


class GPT2(nn.Module):
    def __init__(self, tied, width=16, vocabulary=30, positions=8):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.h = nn.ModuleList(Layer(width, True, True) for _ in range(2))
        self.ln_f, self.lm_head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        fresh(self)
        if tied:
            self.lm_head.weight = self.wte.weight

    def forward(self, input_ids):
        x = self.wte(input_ids) + self.wpe(torch.arange(input_ids.shape[1]))
        for layer in self.h:
            x = layer(x)
        return self.lm_head(self.ln_f(x))


class BERT(nn.Module):
    """With a masked-language head: a transform, a tied decoder and a bias of its own."""

    def __init__(self, width=16, vocabulary=30, positions=8):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.norm = nn.LayerNorm(width)
        self.layer = nn.Sequential(*(Layer(width, False, False) for _ in range(2)))
        self.transform, self.transform_norm = nn.Linear(width, width), nn.LayerNorm(width)
        self.decoder = nn.Linear(width, vocabulary)
        fresh(self)
        self.decoder.weight = self.words.weight

    def forward(self, input_ids):
        x = self.norm(self.words(input_ids) + self.positions(torch.arange(input_ids.shape[1])))
        return self.decoder(self.transform_norm(F.gelu(self.transform(self.layer(x)))))


class ViT(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.cls_token, self.places = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.zeros(1, 5, width))
        self.layers = nn.ModuleList(Layer(width, False, True) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 3)
        fresh(self)

    def forward(self, pixels):
        x = self.patches(pixels).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.places
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


class Clones(nn.Module):
    """nn.TransformerEncoder copies its first layer: all layers start equal, and are not tied."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.encoder, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(8, 4)

    def forward(self, input):
        return self.head(self.encoder(input).mean(1))


class ScaleByOneMore(nn.Module):
    """Gemma's norm: the exporter folds 1 + weight."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * (1.0 + self.weight)


class Gemma(nn.Module):
    def __init__(self):
        super().__init__()
        self.n, self.f, self.head = nn.ModuleList(ScaleByOneMore(8) for _ in range(2)), nn.Linear(8, 8), nn.Linear(8, 4)
        self.head.register_buffer("final_logits_bias", torch.full((1, 4), 0.25))  # BART's: not trained

    def forward(self, input):
        return self.head(self.n[1](self.f(self.n[0](input)))) + self.head.final_logits_bias


class Repeated(nn.Module):
    """A module that is called again has the scope "ln_1_1", which no parameter is called after."""

    def __init__(self):
        super().__init__()
        self.ln_1, self.other, self.f = nn.LayerNorm(8), nn.LayerNorm(8), nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8, bias=False))

    def forward(self, input):
        return self.other(self.f(self.ln_1(self.f(self.ln_1(input)))))


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(8, 8, bias=False)

    def forward(self, input):
        return self.f(torch.relu(self.f(input)))


def optimized(path):
    """onnxruntime's offline optimisation of the graph leaves out the Identity nodes that name merged parameters."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    onnx.save(onnx.load(path), path)


def trained(model, data, labels):
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)
    losses, norms = [], []
    for _ in range(STEPS):
        logits = model(data)
        loss = F.cross_entropy(logits.flatten(0, -2), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        losses.append(loss.item())
        norms.append(math.sqrt(sum(float((p.grad.double() ** 2).sum()) for p in model.parameters())))
        optimizer.step()
    return losses, norms, {name: float(p.detach().double().norm()) for name, p in model.named_parameters()}


def export(model, data, path, input_name, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model.train(), (data,), path, dynamo=False, input_names=[input_name], output_names=["logits"], **options)


def make(name, model, input_name, data, labels, after=None, lost=None, **findings):
    """`lost`: what the file calls parameters that a look-up at export took the name from. A key's bias has no gradient but rounding."""
    path, lost = HERE / f"{name}.onnx", lost or {}
    export(model, data, path, input_name)
    if after:
        after(path)
    for what, values in ((input_name, data), ("labels", labels)):
        np.save(HERE / f"{name}-{what}.npy", values.numpy())
    losses, gradients, norms = trained(model, data, labels)
    trace = {
        "model": path.name, "findings": findings,
        "compile": ["--repair", "--shape", f"{input_name}={'x'.join(map(str, data.shape))}", "--loss", "cross-entropy", "--optimizer", "adamw"],
        "data": {what: f"{name}-{what}.npy" for what in (input_name, "labels")},
        "run": ["--steps", str(STEPS), "--lr", str(RATE), "--weight-decay", str(DECAY)],
        "relative": 1e-5, "loss": losses, "lr": [RATE] * STEPS, "grad_norm": gradients, "norms": {lost.get(n, n): norm for n, norm in norms.items() if not n.endswith(("key.bias", "in_proj_bias"))}}
    (HERE / f"{name}.json").write_text(json.dumps(trace, indent=1) + "\n")


def main():
    torch.manual_seed(0)
    ids, next_ids = torch.randint(30, (4, 8)), torch.randint(30, (4, 8))
    rows, classes = torch.randn(16, 8), torch.randint(4, (16,))
    make("mlp", mlp(), "input", rows, classes, merged=4)
    make("mlp-optimized", mlp(), "input", rows, classes, optimized, merged=4)
    make("gpt2", GPT2(tied=True), "input_ids", ids, next_ids, lost={"wpe.weight": "onnx::Add_200"}, merged=19, untied=1)
    make("gpt2-apart", GPT2(tied=False), "input_ids", ids, next_ids, lost={"wpe.weight": "onnx::Add_201"}, merged=19)
    make("bert", BERT(), "input_ids", ids, next_ids, lost={"positions.weight": "onnx::Add_204"}, merged=22, untied=1)
    make("vit", ViT(), "pixels", torch.randn(6, 3, 8, 8), torch.randint(3, (6,)), merged=20)
    make("clones", Clones(), "input", torch.randn(6, 5, 8), torch.randint(4, (6,)), merged=15)
    export(GPT2(tied=True), ids, HERE / "unfolded.onnx", "input_ids", do_constant_folding=False)
    export(Gemma(), torch.randn(2, 3, 8), HERE / "gemma.onnx", "input")
    export(Repeated(), torch.randn(2, 3, 8), HERE / "repeated.onnx", "input")
    export(Twice(), torch.randn(2, 3, 8), HERE / "twice.onnx", "input", training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=True)


if __name__ == "__main__":
    main()
