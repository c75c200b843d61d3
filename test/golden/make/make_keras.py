#!/usr/bin/env python3
"""Regenerates the golden model `keras`: recurrent layers in the graph that tf2onnx writes for

    Sequential([Bidirectional(LSTM(6, return_sequences=True)), LSTM(7), Dense(4)])

Needs torch and onnx from PyPI, and no TensorFlow: the graph is written here node by node. Sequences come with the batch
first and are transposed, since LSTM has time first (layout 0). Each layer has its weights as one W, R and B of gates in the order
i, o, f, c, the recurrent half of B zero; lengths and initial states are nodes of their own. Directions are split, squeezed and
joined; the second layer gives its last state. The trace is PyTorch's with the same weights, the half of zeros frozen: Keras has one bias.
"""
import json

import numpy as np
import onnx
import torch
import torch.nn as nn
from onnx import TensorProto, helper, numpy_helper

from make import HERE, train

BATCH, TIME, FEATURES, CLASSES, STEPS = 6, 9, 5, 4, 40
FIRST, SECOND = 6, 7
GATES = (0, 3, 1, 2)  # of PyTorch's i, f, c, o


class Reference(nn.Module):
    def __init__(self):
        super().__init__()
        self.both = nn.LSTM(FEATURES, FIRST, bidirectional=True, batch_first=True)
        self.last = nn.LSTM(2 * FIRST, SECOND, batch_first=True)
        self.dense = nn.Linear(SECOND, CLASSES)
        for name, parameter in self.named_parameters():
            if "bias_hh" in name:  # Keras has one bias
                nn.init.zeros_(parameter)
                parameter.requires_grad_(False)

    def forward(self, input):
        x, _ = self.both(input)
        x, _ = self.last(x)
        return self.dense(x[:, -1])


def packed(layer, kind):
    """All directions' tensors of a kind (weight_ih, weight_hh, bias), as ONNX has them."""
    found = []
    for suffix in ("", "_reverse")[:1 + layer.bidirectional]:
        names = ["bias_ih", "bias_hh"] if kind == "bias" else [kind]
        parts = [getattr(layer, f"{name}_l0{suffix}").detach().numpy() for name in names]
        found.append(np.concatenate([np.split(part, 4)[gate] for part in parts for gate in GATES]))
    return np.stack(found)


class Graph:
    def __init__(self):
        self.nodes, self.values = [], {}

    def value(self, name, array):
        self.values[name] = np.asarray(array)
        return name

    def node(self, kind, inputs, name, outputs=1, **attributes):
        made = [f"{name}:{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, made, name=name, **attributes))
        return made[0] if outputs == 1 else made

    def lstm(self, layer, x, path, hidden):
        """Y, Y_h; x has time first."""
        directions = 1 + layer.bidirectional
        weights = [self.value(f"{path}/{short}", packed(layer, kind)) for short, kind in (("W", "weight_ih"), ("R", "weight_hh"), ("B", "bias"))]
        shape = self.node("Shape", [x], f"{path}/Shape")
        batch = self.node("Slice", [shape, self.value(f"{path}/one", np.int64([1])), self.value(f"{path}/two", np.int64([2]))], f"{path}/strided_slice")
        lengths = self.node("Expand", [self.value(f"{path}/time", np.int32([TIME])), batch], f"{path}/sequence_lens")
        ends = [self.value(f"{path}/directions", np.int64([directions])), batch, self.value(f"{path}/units", np.int64([hidden]))]
        states = self.node("Concat", ends, f"{path}/state_shape", axis=0)
        zeros = self.node("ConstantOfShape", [states], f"{path}/zeros", value=numpy_helper.from_array(np.zeros(1, np.float32)))
        return self.node("LSTM", [x, *weights, lengths, zeros, zeros], f"{path}/LSTM", 3, hidden_size=hidden,
                         direction="bidirectional" if directions == 2 else "forward")[:2]


def write(model, path):
    g = Graph()
    x = g.node("Transpose", ["input"], "sequential/bidirectional/transpose", perm=[1, 0, 2])
    y, _ = g.lstm(model.both, x, "sequential/bidirectional", FIRST)
    axis = g.value("axis_1", np.int64([1]))
    halves = g.node("Split", [y], "sequential/bidirectional/split", 2, axis=1)
    halves = [g.node("Squeeze", [half, axis], f"sequential/bidirectional/squeeze_{k}") for k, half in enumerate(halves)]
    joined = g.node("Concat", halves, "sequential/bidirectional/concat", axis=2)
    rows = g.node("Transpose", [joined], "sequential/bidirectional/transpose_1", perm=[1, 0, 2])  # Keras' value between layers
    x = g.node("Transpose", [rows], "sequential/lstm/transpose", perm=[1, 0, 2])
    _, last = g.lstm(model.last, x, "sequential/lstm", SECOND)
    state = g.node("Squeeze", [last, g.value("axis_0", np.int64([0]))], "sequential/lstm/squeeze")
    kernel = g.value("sequential/dense/kernel", model.dense.weight.detach().numpy().T.copy())
    product = g.node("MatMul", [state, kernel], "sequential/dense/MatMul")
    g.nodes.append(helper.make_node("Add", [product, g.value("sequential/dense/bias", model.dense.bias.detach().numpy())], ["dense"],
                                    name="sequential/dense/BiasAdd"))
    graph = helper.make_graph(g.nodes, "tf2onnx", [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", TIME, FEATURES])],
                              [helper.make_tensor_value_info("dense", TensorProto.FLOAT, ["batch", CLASSES])],
                              [numpy_helper.from_array(array, name) for name, array in g.values.items()])
    made = helper.make_model(graph, producer_name="tf2onnx", opset_imports=[helper.make_opsetid("", 15)], ir_version=8)
    onnx.checker.check_model(made, full_check=True)
    path.write_bytes(made.SerializeToString())


def main():
    torch.manual_seed(11)
    draw = np.random.default_rng(11)
    folder = HERE / "keras"
    folder.mkdir(exist_ok=True)
    x = draw.normal(size=(24, TIME, FEATURES)).astype(np.float32)
    labels = (np.abs(x[:, :, :2].sum((1, 2))) * 1.3).astype(np.int64) % CLASSES
    model = Reference()
    write(model, folder / "model.onnx")
    np.save(folder / "input.npy", x)
    np.save(folder / "labels.npy", labels)
    options = {"loss": "cross-entropy", "optimizer": "adamw", "lr": 0.01, "weight_decay": 0.1, "clip": 1.0}
    trace = train(model, torch.from_numpy(x), torch.from_numpy(labels), BATCH, STEPS, options)
    layers = (("sequential/bidirectional", model.both), ("sequential/lstm", model.last))
    trace["norms"] = {f"{path}/{short}": float(np.linalg.norm(packed(layer, kind).astype(np.float64)))
                      for path, layer in layers for short, kind in (("W", "weight_ih"), ("R", "weight_hh"), ("B", "bias"))}
    trace["norms"]["sequential/dense/kernel"] = model.dense.weight.double().norm().item()
    everything = {"compile": ["--shape", f"input={BATCH}x{TIME}x{FEATURES}", "--loss", "cross-entropy", "--clip-norm", "1"],
                  "data": {"input": "input.npy", "labels": "labels.npy"},
                  "run": ["--steps", str(STEPS), "--lr", "0.01", "--weight-decay", "0.1", "--betas", "0.9,0.95"], "relative": 2e-5, **trace}
    (folder / "trace.json").write_text(json.dumps(everything, indent=1) + "\n")
    print("keras", trace["loss"][0], "->", trace["loss"][-1])


if __name__ == "__main__":
    main()
