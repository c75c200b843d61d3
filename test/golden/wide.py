"""wide.py FOLDER: a layer whose products are cut into several blocks of columns and of depth, forward and backward, which the
golden models are too small for. Steps of SGD are numpy's in f64, and threads change no bit."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "precision" / "Inputs"))
from small import Small, array  # noqa: E402

ROWS, DEPTH, COLUMNS, RATE, STEPS = 300, 700, 4700, 0.01, 3

random = numpy.random.default_rng(5)
x = array(random.normal(size=(ROWS, DEPTH)))
w = array(random.normal(size=(DEPTH, COLUMNS)) / DEPTH ** 0.5)
v = array(random.normal(size=(COLUMNS, 3)) / COLUMNS ** 0.5)
labels = array(random.normal(size=(ROWS, 3)))
nodes = [("MatMul", ["x", "w"], ["h"]), ("MatMul", ["h", "v"], ["y"])]
case = Small(sys.argv[1], nodes, {"w": w, "v": v}, {"x": x}, {"y": [ROWS, 3]})
case.add_data("labels", labels)
program = case.compile("train", "--loss", "mse", "--optimizer", "sgd")
options = ["--steps", str(STEPS), "--lr", str(RATE)]
one, trained = case.trained(program, *options, "--threads", "1")

exact = {"w": w.astype(float), "v": v.astype(float)}
for line in one:
    h = x.astype(float) @ exact["w"]
    y = h @ exact["v"]
    assert abs(line["loss"] - numpy.mean((y - labels) ** 2)) < 1e-5 * line["loss"], line
    dy = 2 * (y - labels) / labels.size
    dw, dv = x.T.astype(float) @ (dy @ exact["v"].T), h.T @ dy
    exact = {"w": exact["w"] - RATE * dw, "v": exact["v"] - RATE * dv}
assert one[-1]["loss"] < 0.9 * one[0]["loss"], one
for name, value in exact.items():
    error = numpy.max(numpy.abs(trained[name] - value))
    assert error < 1e-5 * numpy.max(numpy.abs(value)), (name, error)
for threads in ("2", "3"):
    lines, found = case.trained(program, *options, "--threads", threads)
    assert [line["loss"] for line in lines] == [line["loss"] for line in one], threads
    assert all(numpy.array_equal(found[name], trained[name]) for name in exact), threads
print("wide products are numpy's, on any number of threads")
