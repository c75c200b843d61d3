"""Trains a perceptron with the operator Snake of com.example: snake.py FOLDER PLUGIN. Losses are compared with the formula in float64.
snake.py --write FOLDER writes the model and its rows; snake.py --compare FOLDER takes losses and gradients that were made elsewhere."""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from program_files import arrays_in, losses_in

FOLDER, PLUGIN = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
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
        grad = 2 * error / error.size
        hidden = (grad @ w2.T) * (1 + np.sin(2 * ALPHA * h))
        gradients = {"layer.0.weight": x.T @ hidden, "layer.1.weight": s.T @ grad}
        yield (error ** 2).mean(), gradients
        w1, w2 = w1 - RATE * gradients["layer.0.weight"], w2 - RATE * gradients["layer.1.weight"]


def kedge(*words, fails=False):
    done = subprocess.run(["kedge", *map(str, words)], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, (words, done.stderr)
    return done.stderr


def losses(program):
    done = subprocess.run([program, "--data", f"x={FOLDER}/x.npy", "--data", f"labels={FOLDER}/y.npy", "--steps", str(STEPS),
                           "--shuffle", "0", "--lr", str(RATE), "--log", FOLDER / "log"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return losses_in(FOLDER / "log")


def write(folder):
    write_model(folder / "snake.onnx")
    np.save(folder / "x.npy", X)
    np.save(folder / "y.npy", Y)


def compare(folder):
    expected = list(formula())
    found, gradients = losses_in(folder / "losses"), dict(arrays_in(folder / "gradients.safetensors"))
    assert gradients.keys() == expected[0][1].keys(), gradients.keys()
    worst = max(np.abs(gradients[name] - value).max() / np.abs(value).max() for name, value in expected[0][1].items())
    assert worst < 1e-5, worst
    assert np.allclose(found, [loss for loss, _ in expected], rtol=1e-5), (found, expected)
    print(f"{len(found)} losses and {len(gradients)} gradients as the formula; largest difference of a gradient {worst:.1e}")


def main():
    model = FOLDER / "snake.onnx"
    write(FOLDER)
    common = [model, "--loss", "mse", "--optimizer", "sgd"]
    print("without the plugin:", kedge("compile", *common, "-o", FOLDER / "none", fails=True).splitlines()[0])
    expected = [loss for loss, _ in formula()]
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


if sys.argv[1] == "--write":
    write(PLUGIN)
elif sys.argv[1] == "--compare":
    compare(PLUGIN)
else:
    main()
