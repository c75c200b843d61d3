#!/usr/bin/env python3
"""Weighted losses against their formulas in double precision, with gradients by differences: loss_weights.py OUT.

Cross-entropy with weights of classes is PyTorch's: sum of w[k] l over sum of w[k]; pos_weight too: mean of p y softplus(-x) +
(1 - y) softplus(x). Weights of rows: weighted sum over sum of weights. Needs numpy and onnx."""
import pathlib
import subprocess
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "precision" / "Inputs"))
from small import Small, array  # noqa: E402

out = pathlib.Path(sys.argv[1])
generator = numpy.random.default_rng(3)
ROWS, CLASSES, RATE, STEPS = 6, 3, 0.5, 4
w = generator.normal(size=(4, CLASSES)).astype(numpy.float32)
x = generator.normal(size=(ROWS, 4)).astype(numpy.float32)
classes = numpy.array([0, 2, 1, -100, 2, 0])
binary = generator.integers(0, 2, (ROWS, CLASSES)).astype(numpy.float32)
real = generator.normal(size=(ROWS, CLASSES)).astype(numpy.float32)
of_class, of_positive = array([0.5, 2, 3]), array([4, 0.25, 1])
of_row = array([1, 0.5, 2, 1, 0, 3])


def softplus(z):
    return numpy.logaddexp(0, z)


def cross_entropy(logits, rows, weights):
    known = classes >= 0
    label = numpy.where(known, classes, 0)
    losses = numpy.logaddexp.reduce(logits, axis=1) - logits[numpy.arange(ROWS), label]
    count = known * (weights[label] if weights is not None else 1) * rows
    return (losses * count).sum() / count.sum()


def smoothed(logits, rows, weights):
    """PyTorch's: classes are weighted in the part that is spread over them, too."""
    known = classes >= 0
    spread = (weights * (numpy.logaddexp.reduce(logits, axis=1)[:, None] - logits)).sum(axis=1) * known * rows
    count = known * weights[numpy.where(known, classes, 0)] * rows
    return 0.9 * cross_entropy(logits, rows, weights) + 0.1 / CLASSES * spread.sum() / count.sum()


def bce(logits, rows, weights):
    p = 1 if weights is None else weights
    losses = p * binary * softplus(-logits) + (1 - binary) * softplus(logits)
    return (losses * rows[:, None]).sum() / (numpy.ones_like(losses) * rows[:, None]).sum()


def mse(logits, rows, _):
    return ((logits - real) ** 2 * rows[:, None]).sum() / (CLASSES * rows.sum())


def reference(loss, rows, weights, clip=numpy.inf):
    value, losses = w.astype(numpy.float64), []
    rows = numpy.ones(ROWS) if rows is None else rows.astype(numpy.float64)
    at = lambda v: loss(x.astype(numpy.float64) @ v, rows, weights)
    for _ in range(STEPS):
        losses.append(at(value))
        gradient = numpy.zeros_like(value)
        for k in numpy.ndindex(value.shape):
            step = numpy.zeros_like(value)
            step[k] = 1e-6
            gradient[k] = (at(value + step) - at(value - step)) / 2e-6
        norm = numpy.linalg.norm(gradient)
        value = value - RATE * gradient * min(1, clip / (norm + 1e-6))
    return losses


def check(name, loss, formula, labels, rows, weights, *options, batch=ROWS):
    inputs = {"x": x[:batch], "labels": labels[:batch]} | ({} if rows is None else {"count": rows[:batch]})
    declared = {key: value for key, value in inputs.items() if key == "x"}
    case = Small(out / name, [("MatMul", ["x", "w"], ["y"])], {"w": w}, declared, {"y": [batch, CLASSES]})
    for key, value in {"x": x, "labels": labels, "count": rows}.items():
        if value is not None:
            case.add_data(key, value)
    if rows is not None:
        options += ("--sample-weights", "count")
    if weights is not None:
        numpy.save(case.folder / "weights.npy", weights)
        options += ("--class-weights" if loss == "cross-entropy" else "--pos-weight", case.folder / "weights.npy")
    program = case.compile("program", "--loss", loss, "--optimizer", "sgd", *options)
    found = [line["loss"] for line in case.run(program, "--lr", str(RATE), "--steps", str(STEPS))]
    clip = float(options[options.index("--clip-norm") + 1]) if "--clip-norm" in options else numpy.inf
    expected = reference(formula, rows, weights, clip)
    assert numpy.allclose(found, expected, rtol=2e-5), (name, found, expected)
    print(f"{name}: {STEPS} steps as the formula")


check("classes", "cross-entropy", cross_entropy, classes, None, of_class)
check("classes-chunked", "cross-entropy", cross_entropy, classes, None, of_class, "--logits-chunk", "24")
check("smoothed", "cross-entropy", smoothed, classes, of_row, of_class, "--label-smoothing", "0.1")
check("rows", "cross-entropy", cross_entropy, classes, of_row, None)
check("both-in-two", "cross-entropy", cross_entropy, classes, of_row, of_class, "--accumulate", "2", batch=3)
check("positive", "bce-with-logits", bce, binary, None, of_positive)
check("positive-rows", "bce-with-logits", bce, binary, of_row, of_positive[:1])
check("real-rows", "mse", mse, real, of_row, None)
# Weights whose sum is negative: the norm of what they leave is none, and clipping does not turn the gradient round.
check("negative-rows", "mse", mse, real, -of_row, None)
check("negative-rows-clipped", "mse", mse, real, -of_row, None, "--clip-norm", "0.05")


def refused(piece, *options):
    done = subprocess.run(["kedge", "compile", out / "classes" / "model.onnx", *options, "-o", out / "no"], capture_output=True, text=True)
    assert done.returncode == 1 and piece in done.stderr, done.stderr
    assert not (out / "no").exists()


def file(values):
    numpy.save(out / "w.npy", values)
    return out / "w.npy"


refused("--class-weights has 2 numbers, expected one for each of the 3 classes", "--loss", "cross-entropy", "--class-weights", file(array([1, 2])))
refused("its number 1 is -2, expected 0 or more", "--loss", "cross-entropy", "--class-weights", file(array([1, -2, 1])))
refused("expected floats in one dimension", "--loss", "cross-entropy", "--class-weights", file(numpy.ones((3, 1))))
refused("--pos-weight has 2 numbers, expected 1, or 3", "--loss", "bce-with-logits", "--pos-weight", file(array([1, 2])))
refused("--loss mse has no classes", "--loss", "mse", "--class-weights", file(array([1, 2, 3])))
refused("it is for --loss bce-with-logits", "--loss", "mse", "--pos-weight", file(array([1, 2, 3])))
refused("the input 'x' is", "--loss", "mse", "--sample-weights", "x")
print("weights that do not fit are refused")
