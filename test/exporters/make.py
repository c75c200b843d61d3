#!/usr/bin/env python3
"""Makes the cases in `cases`: small files in the forms that tf2onnx, Paddle, spox and skl2onnx write, with PyTorch's losses: make.py [CASE...].

Needs numpy, onnx and torch. Cases that a framework itself wrote are made by scripts/sweep/exporters and kept as they came.
"""
import json
import pathlib
import shutil
import sys

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).parent / "cases"
ROWS, STEPS, RATE = 4, 4, 0.05
KNOWN = {}
FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def case(function):
    KNOWN[function.__name__.replace("_", "-")] = function
    return function


def numbers(seed, *shape):
    return (np.random.default_rng(seed).standard_normal(shape) / np.sqrt(shape[0])).astype("f4")


def constant(name, value):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value), name))


def node(op, inputs, outputs, **words):
    return helper.make_node(op, inputs.split(), outputs.split(), **words)


def value(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def initializer(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def train(forward, weights, x, y, loss, trained=None):
    """Losses of SGD; the outputs of the trained model at the end."""
    parameters = [torch.tensor(weight, requires_grad=True) for weight in weights]
    losses = []
    for step in range(STEPS):
        at = (np.arange(ROWS) + step * ROWS) % len(x)
        out = forward(torch.tensor(x[at]), *parameters)
        target = torch.tensor(y[at])
        error = F.cross_entropy(out, target) if loss == "cross-entropy" else F.mse_loss(out, target)
        for parameter, grad in zip(parameters, torch.autograd.grad(error, parameters)):
            parameter.data -= RATE * grad
        losses.append(error.item())
    with torch.no_grad():
        return losses, forward(torch.tensor(x), *parameters).numpy()


def write(folder, graph, about, forward, weights, x, y, loss="mse", options=(), after=None, output="y", opsets=(("", 17),), **expect):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*opset) for opset in opsets], producer_name=expect.pop("producer", ""), ir_version=8)
    onnx.checker.check_model(model) if expect.pop("checked", True) else None
    onnx.save(model, str(folder / "model.onnx"))
    losses, outputs = train(forward, weights, x, y, loss)
    expected = {"loss": losses, "relative": 1e-5, **expect}
    if after:
        np.save(folder / "after.npy", after(outputs).astype("f4"))
        expected["onnx_output"] = {output: "after.npy"}
    np.save(folder / "x.npy", x)
    np.save(folder / "labels.npy", y)
    record = {"about": about, "command": "train", "compile": ["--shape", f"x={ROWS}x{'x'.join(map(str, x.shape[1:]))}", "--loss", loss, "--optimizer", "sgd",
                                                              "--lr", str(RATE), *options],
              "run": ["--steps", str(STEPS)], "data": {"x": "x.npy", "labels": "labels.npy"}, "ranks": 1, "expect": expected}
    (folder / "case.json").write_text(json.dumps(record, indent=1) + "\n")


X, Y, CLASSES = numbers(1, 16, 6) * 4, numbers(2, 16, 3) * 4, np.random.default_rng(3).integers(0, 3, 16)


def two_layers(x, w1, b1, w2, b2):
    return torch.relu(x @ w1 + b1) @ w2 + b2


LAYERS = [numbers(4, 6, 8), numbers(5, 8) + 0.1, numbers(6, 8, 3), numbers(7, 3) + 0.1]
NAMES = ["fc_0.w_0", "fc_0.b_0", "fc_1.w_0", "fc_1.b_0"]
PRODUCTS = [node("MatMul", "x fc_0.w_0", "p0"), node("Add", "p0 fc_0.b_0", "a0"), node("Relu", "a0", "r0"), node("MatMul", "r0 fc_1.w_0", "p1"),
            node("Add", "p1 fc_1.b_0", "y")]


@case
def weights_in_constants(folder):
    nodes = [constant(name, weight) for name, weight in zip(NAMES, LAYERS)] + PRODUCTS
    graph = helper.make_graph(nodes, "g", [value("x", ["batch", 6])], [value("y", ["batch", 3])])
    write(folder, graph, "Constants of a file without initializers are its weights; an exported file has them in its Constants", two_layers, LAYERS, X, Y,
          after=lambda out: out, producer="PaddlePaddle")


@case
def branch_by_value(folder):
    def branch(name, weights):
        def own(text):
            return " ".join(f"{name}_{word}" if word != "x" else word for word in text.split())
        nodes = [constant(own(word), weight) for word, weight in zip(NAMES, weights)]
        nodes += [node(n.op_type, own(" ".join(n.input)), own(" ".join(n.output))) for n in PRODUCTS]
        return helper.make_graph(nodes, name, [], [value(own("y"), ["batch", 3])])
    nodes = [constant("rate", np.array(16000)), node("Equal", "sr rate", "is_fast"),
             helper.make_node("If", ["is_fast"], ["y"], then_branch=branch("fast", LAYERS), else_branch=branch("slow", [weight * 2 for weight in LAYERS]))]
    graph = helper.make_graph(nodes, "g", [value("x", ["batch", 6]), value("sr", [], INT)], [value("y", ["batch", 3])])
    write(folder, graph, "An If on an input that --value gives takes its branch, and trains the Constants there", two_layers, LAYERS, X, Y,
          options=["--value", "sr=16000"], producer="spox")


@case
def branch_by_shape(folder):
    inner = helper.make_graph([node("Identity", "p0", "same")], "then", [], [value("same", ["batch", 8])])
    other = helper.make_graph([node("Neg", "p0", "less")], "else", [], [value("less", ["batch", 8])])
    nodes = [PRODUCTS[0], node("Shape", "x", "shape"), node("Size", "shape", "rank"), node("Equal", "rank two", "flat"),
             helper.make_node("If", ["flat"], ["chosen"], then_branch=inner, else_branch=other), node("Add", "chosen fc_0.b_0", "a0"), *PRODUCTS[2:]]
    graph = helper.make_graph(nodes, "g", [value("x", ["batch", 6])], [value("y", ["batch", 3])],
                              [initializer(name, weight) for name, weight in zip(NAMES, LAYERS)] + [initializer("two", np.array(2))])
    write(folder, graph, "An If on a shape takes its branch", two_layers, LAYERS, X, Y, after=lambda out: out)


@case
def loop_to_a_number(folder):
    """TensorFlow's while: a counter that is cast to float and compared, beside Loop's own."""
    body = helper.make_graph(
        [node("MatMul", "h w", "p"), node("Add", "p bias", "b"), node("Tanh", "b", "h2"), node("Add", "k one", "k2"), node("Cast", "k2", "kf", to=FLOAT),
         node("Cast", "turn", "tf", to=FLOAT), node("Less", "kf bound", "c1"), node("LessOrEqual", "tf bound", "c2"), node("And", "c1 c2", "more"),
         node("Identity", "w", "w2")],
        "body", [value("turn", [], INT), value("go", [], BOOL), value("k", [], TensorProto.INT32), value("h", ["batch", 6]), value("w", [6, 6])],
        [value("more", [], BOOL), value("k2", [], TensorProto.INT32), value("h2", ["batch", 6]), value("w2", [6, 6])],
        [initializer("bound", np.float32(3)), initializer("one", np.int32(1)), initializer("bias", numbers(8, 6) + 0.1)])
    nodes = [node("Less", "from to", "first"), helper.make_node("Loop", ["limit", "first", "zero", "x", "cell/MatMul/ReadVariableOp:0"], ["n", "h3", "w3"], body=body),
             node("MatMul", "h3 head/MatMul/ReadVariableOp:0", "y")]
    held = [("from", np.float32(0)), ("to", np.float32(3)), ("limit", np.array(9)), ("zero", np.int32(0)), ("cell/MatMul/ReadVariableOp:0", numbers(9, 6, 6)),
            ("head/MatMul/ReadVariableOp:0", numbers(10, 6, 3))]
    graph = helper.make_graph(nodes, "tf2onnx", [value("x", ["batch", 6])], [value("y", ["batch", 3])], [initializer(*entry) for entry in held])

    def forward(x, w, head, bias):
        for _ in range(3):
            x = torch.tanh(x @ w + bias)
        return x @ head
    write(folder, graph, "A Loop whose end is a counter below a constant has a known length; what it carries around unchanged, and what its body holds, trains",
          forward, [held[4][1], held[5][1], numbers(8, 6) + 0.1], X, Y, after=lambda out: out, producer="tf2onnx")


@case
def erfc(folder):
    nodes = [PRODUCTS[0], PRODUCTS[1], node("Mul", "half a0", "h"), node("Neg", "a0", "n"), node("Mul", "n root", "s"), node("Erfc", "s", "e"), node("Mul", "h e", "r0"),
             *PRODUCTS[3:]]
    held = [*zip(NAMES, LAYERS), ("half", np.float32(0.5)), ("root", np.float32(np.sqrt(0.5)))]
    graph = helper.make_graph(nodes, "tf2onnx", [value("x", ["batch", 6])], [value("y", ["batch", 3])], [initializer(*entry) for entry in held])

    def forward(x, w1, b1, w2, b2):
        return F.gelu(x @ w1 + b1) @ w2 + b2
    write(folder, graph, "Keras' GELU by Erfc, an operator that tf2onnx alone knows", forward, LAYERS, X, Y, producer="tf2onnx", checked=False)


ML = (("", 17), ("ai.onnx.ml", 3))


@case
def linear_regressor(folder):
    w, b = numbers(11, 3, 6), numbers(12, 3)
    linear = helper.make_node("LinearRegressor", ["n"], ["y"], "LinearRegressor", domain="ai.onnx.ml", coefficients=w.reshape(-1), intercepts=b, targets=3)
    nodes = [helper.make_node("Normalizer", ["s"], ["n"], domain="ai.onnx.ml", norm="L2"),
             helper.make_node("Scaler", ["x"], ["s"], domain="ai.onnx.ml", offset=[0.1] * 6, scale=[1.0, 2.0, 3.0, 1.0, 2.0, 3.0])]
    graph = helper.make_graph([nodes[1], nodes[0], linear], "g", [value("x", ["batch", 6])], [value("y", ["batch", 3])])

    def forward(x, w, b):
        s = (x - 0.1) * torch.tensor([1.0, 2, 3, 1, 2, 3])
        return F.normalize(s) @ w.T + b
    write(folder, graph, "Coefficients and intercepts train, and an exported file has them in its attributes; a scaling and a norm in front do not",
          forward, [w, b], X, Y, after=lambda out: out, opsets=ML, producer="skl2onnx")


@case
def linear_classifier(folder):
    w, b = numbers(13, 3, 6), numbers(14, 3)
    linear = helper.make_node("LinearClassifier", ["x"], ["label", "scores"], "LinearClassifier", domain="ai.onnx.ml", coefficients=w.reshape(-1), intercepts=b,
                              classlabels_strings=["a", "b", "c"], post_transform="SOFTMAX", multi_class=1)
    nodes = [linear, helper.make_node("Normalizer", ["scores"], ["probabilities"], domain="ai.onnx.ml", norm="L1")]
    graph = helper.make_graph(nodes, "g", [value("x", ["batch", 6])], [value("label", ["batch"], TensorProto.STRING), value("probabilities", ["batch", 3])])
    write(folder, graph, "The loss reads the scores before their softmax; labels of text are not needed",
          lambda x, w, b: x @ w.T + b, [w, b], X, CLASSES, "cross-entropy", ["--logits", "scores/logits"], opsets=ML, producer="skl2onnx",
          stderr="'label' is not computed")


def main():
    for name in sys.argv[1:] or KNOWN:
        folder = HERE / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        KNOWN[name](folder)
        print(name, sum(file.stat().st_size for file in folder.iterdir()), "bytes", flush=True)


if __name__ == "__main__":
    main()
