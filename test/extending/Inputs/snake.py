"""Trains a perceptron with the operator Snake of com.example: snake.py FOLDER PLUGIN. Losses are compared with the formula in float64."""
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER, PLUGIN = pathlib.Path(sys.argv[1]), sys.argv[2]
ROWS, FEATURES, HIDDEN, ALPHA, RATE, STEPS = 16, 6, 12, 1.5, 0.05, 12
random = np.random.default_rng(7)
W1 = random.standard_normal((FEATURES, HIDDEN)).astype(np.float32) / 2
W2 = random.standard_normal((HIDDEN, 1)).astype(np.float32) / 2
X = random.standard_normal((ROWS, FEATURES)).astype(np.float32)
Y = np.sin(X.sum(1, keepdims=True)).astype(np.float32)


def write_model(path):
    nodes = [helper.make_node("MatMul", ["x", "layer.0.weight"], ["h"]),
             helper.make_node("Snake", ["h"], ["s"], domain="com.example", alpha=ALPHA),
             helper.make_node("MatMul", ["s", "layer.1.weight"], ["y"])]
    graph = helper.make_graph(nodes, "snake", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [ROWS, FEATURES])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [ROWS, 1])],
                              [numpy_helper.from_array(W1, "layer.0.weight"), numpy_helper.from_array(W2, "layer.1.weight")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)],
                                ir_version=8), path)


def formula():
    w1, w2, x, y = (array.astype(np.float64) for array in (W1, W2, X, Y))
    for _ in range(STEPS):
        h = x @ w1
        s = h + np.sin(ALPHA * h) ** 2 / ALPHA
        error = s @ w2 - y
        yield (error ** 2).mean()
        grad = 2 * error / error.size
        hidden = (grad @ w2.T) * (1 + np.sin(2 * ALPHA * h))
        w1, w2 = w1 - RATE * x.T @ hidden, w2 - RATE * s.T @ grad


def kedge(*words, fails=False):
    done = subprocess.run(["kedge", *map(str, words)], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, (words, done.stderr)
    return done.stderr


def losses(program):
    done = subprocess.run([program, "--data", f"x={FOLDER}/x.npy", "--data", f"labels={FOLDER}/y.npy", "--steps", str(STEPS),
                           "--shuffle", "0", "--lr", str(RATE), "--log", FOLDER / "log"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["loss"] for line in (FOLDER / "log").read_text().splitlines()]


def main():
    model = FOLDER / "snake.onnx"
    write_model(model)
    np.save(FOLDER / "x.npy", X)
    np.save(FOLDER / "y.npy", Y)
    common = [model, "--loss", "mse", "--optimizer", "sgd"]
    print("without the plugin:", kedge("compile", *common, "-o", FOLDER / "none", fails=True).splitlines()[0])
    expected = list(formula())
    for precision, tolerance in (("fp32", 1e-5), ("bf16", 3e-2)):
        program = FOLDER / precision
        kedge("compile", *common, "--load-pass-plugin", PLUGIN, "--precision", precision, "-o", program)
        found = losses(program)
        assert np.allclose(found, expected, rtol=tolerance), (found, expected)
        print(f"{precision}: {STEPS} steps as the formula")
    kedge("plan", *common, "--load-pass-plugin", PLUGIN, "--mesh", "tensor=2")
    print("two ranks along tensor: planned")
    kedge("compile", *common, "--load-pass-plugin", PLUGIN, "--save-ir", FOLDER / "ir", "-o", FOLDER / "fp32")
    step = next((FOLDER / "ir").glob("*step*.mlir"))
    (FOLDER / "again").mkdir()  # a program has the name of its file
    kedge("compile", step, "--load-pass-plugin", PLUGIN, "-o", FOLDER / "again/fp32")
    assert (FOLDER / "again/fp32").read_bytes() == (FOLDER / "fp32").read_bytes()
    print("as saved: the same program")


main()
