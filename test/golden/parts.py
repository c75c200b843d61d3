"""Gradients of operators that import writes as others, against differences of what onnx's reference computes: parts.py OUT.
Three operators are computed here. The reference interpolates DeformConv in float32, counts MaxPool's places within a plane, and
takes windows of LpPool that reach beyond the image for larger than they are.

One model has them all, in float64: DeformConv (two groups, two of offsets, with a mask), Det, LpPool, GlobalLpPool, MaxUnpool. A
step of SGD at rate 1 leaves each parameter less its gradient. Multinomial has no gradient; the one of a table that it
looks up counts how often each class was drawn.
"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
draw = np.random.default_rng(3)
SAMPLES = 4000
LOGITS = np.array([[0.5, -0.4, 1.1]])


class DeformConv(OpRun):
    """Of two groups and two of offsets, a channel each, stride 1 and no pads: all that the model has."""

    def _run(self, x, w, offset, bias, mask, **attributes):
        batch, channels, height, width = x.shape
        places = offset.shape[2:]
        offset, mask = offset.reshape(batch, channels, 2, 2, 2, *places), mask.reshape(batch, channels, 2, 2, *places)
        y = np.tile(bias.reshape(1, -1, 1, 1), (batch, 1, *places))
        for n, c, i, j, p, q in np.ndindex(batch, channels, 2, 2, *places):
            row, column = p + i + offset[n, c, i, j, 0, p, q], q + j + offset[n, c, i, j, 1, p, q]
            top, left = int(np.floor(row)), int(np.floor(column))
            read = sum(x[n, c, r, s] * (1 - abs(row - r)) * (1 - abs(column - s))
                       for r in (top, top + 1) for s in (left, left + 1) if 0 <= r < height and 0 <= s < width)
            for out in (2 * c, 2 * c + 1):
                y[n, out, p, q] += w[out, 0, i, j] * mask[n, c, i, j, p, q] * read
        return (y,)


class MaxPool(OpRun):
    """Of whole columns."""

    def _run(self, x, **attributes):
        rows = x.argmax(axis=2, keepdims=True)
        planes = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], 1, 1)
        places = (planes * x.shape[2] + rows) * x.shape[3] + np.arange(x.shape[3])
        return x.reshape(-1)[places], places


class LpPool(OpRun):
    """Windows of 2 x 2 side by side, the last ones cut off; p = 3."""

    def _run(self, x, **attributes):
        x = np.pad(np.abs(x) ** 3, ((0, 0), (0, 0), (0, x.shape[2] % 2), (0, x.shape[3] % 2)))
        return (np.cbrt(x.reshape(*x.shape[:2], x.shape[2] // 2, 2, x.shape[3] // 2, 2).sum(axis=(3, 5))),)


def normal(*shape, scale=1.0):
    return draw.normal(size=shape) * scale


PARAMETERS = {
    "offset.weight": normal(16, 2, 2, 2, scale=0.3), "mask.weight": normal(8, 2, 2, 2), "deform.weight": normal(4, 1, 2, 2),
    "deform.bias": normal(4), "unpool.weight": normal(2, 4, 3, 3), "det.weight": normal(2, 5, 5), "table.weight": normal(3),
}
X = normal(2, 2, 4, 4)


def model(parameters, drawn):
    """The loss of all operators; `drawn`: with the term of Multinomial, which the reference does not have."""
    nodes, terms = [], []

    def node(kind, inputs, count=1, **attributes):
        names = [f"{kind}{len(nodes)}_{k}" for k in range(count)]
        nodes.append(helper.make_node(kind, inputs, names, name=names[0], **attributes))
        return names[0] if count == 1 else names

    def term(value):
        terms.append(node("ReduceMean", [node("Mul", [value, value])], keepdims=0))

    offset = node("Conv", ["x", "offset.weight"])
    mask = node("Sigmoid", [node("Conv", ["x", "mask.weight"])])
    y = node("DeformConv", ["x", "deform.weight", offset, "deform.bias", mask], group=2, offset_group=2)
    term(node("LpPool", [y], kernel_shape=[2, 2], strides=[2, 2], p=3, ceil_mode=1))
    # The reference has no GlobalLpPool; of p = 2 it is this.
    term(node("GlobalLpPool", [y]) if drawn else node("Sqrt", [node("ReduceSumSquare", [y, "spatial"])]))
    pooled, places = node("MaxPool", [y], 2, kernel_shape=[3, 1], strides=[3, 1])
    unpooled = node("MaxUnpool", [pooled, places], kernel_shape=[3, 1], strides=[3, 1])
    term(node("Mul", [unpooled, "unpool.weight"]))
    term(node("Det", ["det.weight"]))
    if drawn:
        classes = node("Cast", [node("Multinomial", ["logits"], sample_size=SAMPLES)], to=TensorProto.INT64)
        terms.append(node("ReduceMean", [node("Gather", ["table.weight", classes])], keepdims=0))
    nodes.append(helper.make_node("Sum", terms, ["loss"]))
    made = dict(parameters, **({"logits": LOGITS} if drawn else {"spatial": np.array([2, 3])}))
    graph = helper.make_graph(nodes, "parts", [helper.make_tensor_value_info("x", TensorProto.DOUBLE, X.shape)],
                              [helper.make_tensor_value_info("loss", TensorProto.DOUBLE, [])],
                              [numpy_helper.from_array(value, name) for name, value in made.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def loss(parameters):
    return float(ReferenceEvaluator(model(parameters, False), new_ops=[DeformConv, LpPool, MaxPool]).run(None, {"x": X})[0])


onnx.save(model(PARAMETERS, True), out / "parts.onnx")
np.save(out / "x.npy", X)
subprocess.run(["kedge", "compile", out / "parts.onnx", "--loss-output", "loss", "--optimizer", "sgd", "-o", out / "parts"], check=True)
subprocess.run([out / "parts", "--data", f"x={out / 'x.npy'}", "--steps", "1", "--lr", "1", "--export-onnx", out / "after.onnx"],
               check=True, stderr=subprocess.DEVNULL)
after = {t.name: numpy_helper.to_array(t) for t in onnx.load(out / "after.onnx").graph.initializer}
for name, before in PARAMETERS.items():
    gradient = before - after[name]
    if name == "table.weight":
        wanted = np.exp(LOGITS[0]) / np.exp(LOGITS[0]).sum()
        assert abs(gradient.sum() - 1) < 1e-9 and np.abs(gradient - wanted).max() < 5 * 0.5 / SAMPLES ** 0.5, (gradient, wanted)
        continue
    way = normal(*before.shape)
    way /= np.linalg.norm(way)
    step = 1e-5
    difference = (loss({**PARAMETERS, name: before + step * way}) - loss({**PARAMETERS, name: before - step * way})) / (2 * step)
    found = float((gradient * way).sum())
    assert abs(found - difference) < 1e-6 * max(1, abs(difference)), (name, found, difference)
print(f"{len(PARAMETERS) - 1} gradients are their differences; classes are drawn as often as they should be")
