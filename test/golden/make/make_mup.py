#!/usr/bin/env python3
"""Regenerates mup/: a model by width, and what Microsoft's mup does with it.

Needs torch, onnx, onnxscript and mup from PyPI. base.onnx is narrow, model.onnx four times as wide, both with mup's readout; a trace an optimizer.
"""
import json

import mup
import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F
from make import HERE, losses

BATCH, STEPS, LENGTH, VOCABULARY = 4, 50, 12, 24


class Mixer(nn.Module):
    """Tokens by position: an embedding, a norm, a wide layer that is four times as wide inside, and mup's readout."""

    def __init__(self, width):
        super().__init__()
        self.wte, self.norm = nn.Embedding(VOCABULARY, width), nn.LayerNorm(width)
        self.mix, self.up, self.down = nn.Linear(LENGTH, LENGTH), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.head = mup.MuReadout(width, VOCABULARY)

    def forward(self, input_ids):
        x = self.wte(input_ids)
        x = x + self.mix(x.transpose(1, 2)).transpose(1, 2)
        return self.head(x + self.down(F.relu(self.up(self.norm(x)))))


OPTIMIZERS = {
    "adamw": (lambda p: mup.MuAdamW(p, lr=3e-3, weight_decay=0.1), ["--optimizer", "adamw", "--weight-decay", "0.1"], 3e-3),
    "adam": (lambda p: mup.MuAdam(p, lr=3e-3, weight_decay=0.01), ["--optimizer", "adam", "--weight-decay", "0.01"], 3e-3),
    "sgd": (lambda p: mup.MuSGD(p, lr=0.05, momentum=0.9, weight_decay=0.001), ["--optimizer", "sgd", "--momentum", "0.9", "--weight-decay", "0.001"], 0.05),
}


def model(width):
    torch.manual_seed(5)
    return mup.set_base_shapes(Mixer(width), Mixer(16))


def write(model, path, inputs):
    torch.onnx.export(model, (torch.from_numpy(inputs[:BATCH]),), path, input_names=["input_ids"], output_names=["logits"], dynamo=True, opset_version=20,
                      optimize=False, dynamic_shapes=({0: "batch"},))
    proto = onnx.load(path)
    for node in proto.graph.node:
        kept = [p for p in node.metadata_props if p.key == "pkg.torch.onnx.name_scopes"]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    path.write_bytes(proto.SerializeToString())
    path.with_name(path.name + ".data").unlink(missing_ok=True)


def train(make, inputs, labels):
    wide = model(64)
    optimizer, trace = make(wide.parameters()), {"loss": [], "grad_norm": []}
    for s in range(STEPS):
        rows = [(s * BATCH + i) % len(inputs) for i in range(BATCH)]
        optimizer.zero_grad()
        loss = losses("cross-entropy", wide(inputs[rows]), labels[rows])
        loss.backward()
        trace["loss"].append(loss.item())
        trace["grad_norm"].append(torch.nn.utils.clip_grad_norm_(wide.parameters(), float("inf")).item())
        optimizer.step()
    trace["norms"] = {n: p.detach().double().norm().item() for n, p in wide.named_parameters()}
    return trace


def main():
    folder = HERE / "mup"
    folder.mkdir(exist_ok=True)
    draw = np.random.default_rng(7)
    tokens = np.cumsum(draw.integers(1, 4, size=(20, LENGTH + 1)), axis=1) % VOCABULARY
    inputs, labels = tokens[:, :-1].copy(), tokens[:, 1:].copy()
    np.save(folder / "input_ids.npy", inputs)
    np.save(folder / "labels.npy", labels)
    write(model(16), folder / "base.onnx", inputs)
    write(model(64), folder / "model.onnx", inputs)
    for name, (make, options, lr) in OPTIMIZERS.items():
        trace = train(make, torch.from_numpy(inputs), torch.from_numpy(labels))
        everything = {"compile": ["--shape", f"input_ids={BATCH}x{LENGTH}", "--loss", "cross-entropy", *options],
                      "data": {"input_ids": "input_ids.npy", "labels": "labels.npy"}, "run": ["--steps", str(STEPS), "--lr", str(lr)], "relative": 1e-5,
                      "lr": [lr] * STEPS, **trace}
        (folder / f"{name}.json").write_text(json.dumps(everything) + "\n")
        print(name, trace["loss"][0], "->", trace["loss"][-1])


if __name__ == "__main__":
    main()
