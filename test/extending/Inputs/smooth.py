"""Trains a network with the operator Smooth of com.example.filters, whose kernel is a function in C of its plugin: smooth.py FOLDER PLUGIN.
Losses are compared with the formula in float64, and gradients with differences of it."""
import ctypes
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from program_files import arrays_in, losses_in

FOLDER, PLUGIN = (pathlib.Path(path) for path in sys.argv[1:3])
ROWS, TIMES, FEATURES, DECAY, RATE, STEPS = 6, 9, 5, 0.7, 0.05, 10
random = np.random.default_rng(11)
W = {"mix.weight": random.standard_normal((FEATURES, TIMES)) / 2, "head.weight": random.standard_normal((TIMES, 1)) / 2}
X = random.standard_normal((ROWS, FEATURES)).astype(np.float32)
Y = np.tanh(X.sum(1, keepdims=True)).astype(np.float32)


def write_model(path, **attributes):
    nodes = [helper.make_node("MatMul", ["x", "mix.weight"], ["h"]),
             helper.make_node("Smooth", ["h"], ["s"], domain="com.example.filters", **attributes),
             helper.make_node("Tanh", ["s"], ["t"]),
             helper.make_node("MatMul", ["t", "head.weight"], ["y"])]
    graph = helper.make_graph(nodes, "smooth", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", FEATURES])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 1])],
                              [numpy_helper.from_array(value.astype(np.float32), name) for name, value in W.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.example.filters", 1)],
                                ir_version=8), path)


def smooth(x, reverse):
    x = x[:, ::-1] if reverse else x
    found, average = np.empty_like(x), np.zeros(len(x))
    for time in range(x.shape[1]):
        average = DECAY * average + (1 - DECAY) * x[:, time]
        found[:, time] = average
    return found[:, ::-1] if reverse else found


def loss_of(weights, reverse):
    y = np.tanh(smooth(X.astype(np.float64) @ weights["mix.weight"], reverse)) @ weights["head.weight"]
    return ((y - Y) ** 2).mean()


def differences(weights, reverse, step=1e-5):
    gradients = {}
    for name, value in weights.items():
        gradients[name] = np.empty_like(value)
        for at in np.ndindex(value.shape):
            ends = []
            for sign in (1, -1):
                moved = value.copy()
                moved[at] += sign * step
                ends.append(loss_of({**weights, name: moved}, reverse))
            gradients[name][at] = (ends[0] - ends[1]) / (2 * step)
    return gradients


def formula(reverse):
    weights = {name: value.astype(np.float32).astype(np.float64) for name, value in W.items()}
    for _ in range(STEPS):
        gradients = differences(weights, reverse)
        yield loss_of(weights, reverse), gradients
        weights = {name: value - RATE * gradients[name] for name, value in weights.items()}


def kedge(*words, fails=False):
    done = subprocess.run(["kedge", *map(str, words)], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, (words, done.stderr)
    return done.stderr


def run(program, *words):
    log, gradients = FOLDER / "log", FOLDER / "gradients.safetensors"
    done = subprocess.run([program, "--data", f"x={FOLDER}/x.npy", "--data", f"labels={FOLDER}/y.npy", "--steps", str(STEPS), "--shuffle", "0",
                           "--lr", str(RATE), "--log", log, "--dump-gradients", gradients, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return losses_in(log), dict(arrays_in(gradients))


def compiled(name, model, *words):
    kedge("compile", model, "--shape", f"x={ROWS}x{FEATURES}", "--loss", "mse", "--optimizer", "sgd", "--load-pass-plugin", PLUGIN, *words,
          "-o", FOLDER / name)
    return FOLDER / name


def trains():
    for reverse in (0, 1):
        model = FOLDER / f"smooth{reverse}.onnx"
        write_model(model, decay=DECAY, **({"reverse": 1} if reverse else {}))  # what the node leaves out has its default
        expected = list(formula(reverse))
        losses, gradients = run(compiled("program", model))
        worst = max(np.abs(gradients[name] - value).max() / np.abs(value).max() for name, value in expected[0][1].items())
        assert gradients.keys() == W.keys() and worst < 1e-5, worst
        assert np.allclose(losses, [loss for loss, _ in expected], rtol=1e-5), (losses, expected)
        print(f"reverse {reverse}: {STEPS} losses as the formula, gradients as its differences")
        one = run(FOLDER / "program", "--threads", "1")
        assert one[0] == losses and all((one[1][name] == value).all() for name, value in gradients.items())
    print("one thread: the same bits")
    narrow, _ = run(compiled("narrow", model, "--precision", "bf16"))
    assert np.allclose(narrow, [loss for loss, _ in expected], rtol=5e-2), (narrow, expected)
    print("bf16: near the formula")
    for words in (["--cpu", "x86-64-v3,x86-64-v4"], ["--ranks", "1,2"], ["--recompute", "full"]):
        found, _ = run(compiled("other", model, *words))
        assert found == losses, (words, found, losses)
    kedge("plan", model, "--shape", f"x={ROWS}x{FEATURES}", "--loss", "mse", "--load-pass-plugin", PLUGIN, "--mesh", "tensor=2")
    print("levels, numbers of ranks, recomputation: the same losses")
    return model


def other_forms(model):
    compiled("learns", model, "--emit", "archive", "--embed-weights")
    compiled("learns", model, "--emit", "lib", "--embed-weights", "--depfile", FOLDER / "learns.d")
    kernels = PLUGIN.parent / "smooth-kernels.a"
    assert f"  {kernels.resolve()}" in (FOLDER / "learns.d").read_text(), (FOLDER / "learns.d").read_text()
    library = ctypes.CDLL(str(FOLDER / "liblearns.so"))
    session, loss = ctypes.c_void_p(), ctypes.c_double()
    assert library.kedge_open(None, ctypes.byref(session)) == 0
    for name, rows in (("x", X), ("labels", Y)):
        assert library.kedge_set_input(session, name.encode(), rows.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(ROWS)) == 0
    assert library.kedge_evaluate(session, ctypes.byref(loss)) == 0
    wanted = loss_of(W, 1)
    assert abs(loss.value - wanted) < 1e-5 * wanted, (loss.value, wanted)
    print("a library and an archive have the kernel; the depfile names it")


def refused(model):
    write_model(FOLDER / "wrong.onnx", decay=1.5)
    print(kedge("plan", FOLDER / "wrong.onnx", "--shape", f"x={ROWS}x{FEATURES}", "--loss", "mse", "--load-pass-plugin", PLUGIN, fails=True).strip())
    print(kedge("compile", model, "--shape", f"x={ROWS}x{FEATURES}", "--loss", "mse", "--load-pass-plugin", PLUGIN, "--target", "cuda",
                "--emit", "ptx", "-o", FOLDER / "ptx", fails=True).strip())
    alone = FOLDER / "alone"
    alone.mkdir()
    (alone / "smooth.so").write_bytes(PLUGIN.read_bytes())
    print(kedge("compile", model, "--shape", f"x={ROWS}x{FEATURES}", "--loss", "mse", "--load-pass-plugin", alone / "smooth.so", "-o",
                FOLDER / "none", fails=True).strip())


np.save(FOLDER / "x.npy", X)
np.save(FOLDER / "y.npy", Y)
kept = trains()
other_forms(kept)
refused(kept)
