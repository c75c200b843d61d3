#!/usr/bin/env python3
"""Trains a small classifier for integers, beside the same steps in numpy, and runs what it exports in ONNX Runtime: qat.py OUT."""
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OUT = pathlib.Path(sys.argv[1])
ROWS, BATCH, STEPS, LR = 640, 32, 20, 0.1
HIDDEN = 320  # scales of as many channels stand beside an external file, too
F = np.float32
GRIDS = {"int8": (-127, 127), "uint8": (0, 255), "int4": (-7, 7)}


def write_model(numbers):
    weights = {"first.weight": numbers.normal(size=(HIDDEN, 16), scale=0.3), "first.bias": numbers.normal(size=HIDDEN, scale=0.1),
               "second.weight": numbers.normal(size=(HIDDEN, 10), scale=0.08)}
    weights = {name: value.astype(F) for name, value in weights.items()}
    nodes = [helper.make_node("Gemm", ["x", "first.weight", "first.bias"], ["a"], transB=1), helper.make_node("Relu", ["a"], ["h"]),
             helper.make_node("MatMul", ["h", "second.weight"], ["logits"])]
    graph = helper.make_graph(nodes, "classifier", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 16])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", 10])],
                              [numpy_helper.from_array(value, name) for name, value in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, OUT / "model.onnx")
    onnx.save(model, OUT / "apart.onnx", save_as_external_data=True, location="apart.data", size_threshold=0)
    return weights


def grid_of(least, most, low, high):
    least, most = np.minimum(least, F(0)), np.maximum(most, F(0))
    if low == -high:
        return np.maximum(-least, most) / F(high), np.zeros_like(least)
    scale = (most - least) / F(high - low)
    return scale, np.clip(F(low) - np.rint(least / scale), F(low), F(high))


def rounded(x, scale, zero, low, high):
    """The values, and where the gradient passes."""
    place = np.rint(x / scale) + zero
    return ((np.clip(place, low, high) - zero) * scale).astype(F), (place >= low) & (place <= high)


class Layer:
    def __init__(self, weight, out_axis, case):
        self.weight, self.out_axis, self.case, self.range = weight, out_axis, case, None
        self.step, self.parts = F(0), 0  # of a scale that is learned, and what its gradient is the sum of

    def rounded_weight(self):
        low, high = GRIDS[self.case["weights"]]
        w, block = self.weight, self.case.get("block")
        if block:
            apart = w.T if self.out_axis == 1 else w
            parts = apart.reshape(len(apart), -1, block)
            scale, zero = grid_of(parts.min(2, keepdims=True), parts.max(2, keepdims=True), low, high)
            value, passes = rounded(parts, scale, zero, low, high)
            value, passes = value.reshape(apart.shape), passes.reshape(apart.shape)
            return (value.T, passes.T) if self.out_axis == 1 else (value, passes)
        axes = None if self.case.get("scales") == "tensor" else 1 - self.out_axis
        scale, zero = grid_of(w.min(axes, keepdims=True), w.max(axes, keepdims=True), low, high)
        return rounded(w, scale, zero, low, high)

    def rounded_input(self, x, step):
        if self.case["activations"] == "none":
            return x, np.ones_like(x, bool)
        seen = np.array([x.min(), x.max()], F)
        if step < (1 if self.case.get("learned") else self.case.get("freeze", STEPS)):
            self.range = seen if self.range is None else self.range + F(0.01) * (seen - self.range)
        low, high = GRIDS[self.case["activations"]]
        scale, zero = grid_of(self.range[0], self.range[1], low, high)
        scale, low = scale + self.step, -128 if low == -127 else low
        place = np.rint(x / scale) + zero
        parts = np.where(place < low, low - zero, np.where(place > high, high - zero, np.rint(x / scale) - x / scale))
        self.parts = parts / np.sqrt(x[0].size * high)
        return rounded(x, scale, zero, low, high)

    def learn(self, gradient):
        if self.case.get("learned"):
            self.step = F(self.step - F(rate_of(self.case)) * (gradient * self.parts).sum())

    def read(self, x, step):
        x_value, x_passes = self.rounded_input(x, step)
        w_value, w_passes = self.rounded_weight()
        if step < self.case.get("observe", 0):
            return x, np.ones_like(x, bool), self.weight, np.ones_like(self.weight, bool)
        return x_value, x_passes, w_value, w_passes


def rate_of(case):
    return case.get("lr", LR)


def losses_in_numpy(weights, x, labels, case):
    first, second = Layer(weights["first.weight"].copy(), 0, case), Layer(weights["second.weight"].copy(), 1, case)
    bias, losses = weights["first.bias"].copy(), []
    for step in range(STEPS):
        rows = slice(step * BATCH, (step + 1) * BATCH)
        x1, _, w1, w1_passes = first.read(x[rows], step)
        a = x1 @ w1.T + bias
        h = np.maximum(a, 0)
        x2, x2_passes, w2, w2_passes = second.read(h, step)
        logits = (x2 @ w2).astype(np.float64)
        p = np.exp(logits - np.logaddexp.reduce(logits, 1, keepdims=True))
        losses.append(-np.log(p[np.arange(BATCH), labels[rows]]).mean())
        p[np.arange(BATCH), labels[rows]] -= 1
        g = (p / BATCH).astype(F)
        gx2 = g @ w2.T
        gh = gx2 * x2_passes * (a > 0)
        second.learn(gx2)
        first.learn(gh @ w1)
        second.weight -= F(rate_of(case)) * ((x2.T @ g) * w2_passes)
        first.weight -= F(rate_of(case)) * ((gh.T @ x1) * w1_passes)
        bias -= F(rate_of(case)) * gh.sum(0)
    return losses


def run(*command):
    done = subprocess.run([str(part) for part in command], cwd=OUT, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def options_of(case):
    options = ["--qat", f".*={case['weights']}", "--qat-activations", case["activations"]]
    if case.get("block"):
        options += ["--qat-scales", "block", "--qat-block", case["block"]]
    elif case.get("scales"):
        options += ["--qat-scales", case["scales"]]
    if case.get("form"):
        options += ["--qat-form", case["form"]]
    if case.get("learned"):
        options += ["--qat-learned"]
    for name in ("observe", "freeze"):
        if name in case:
            options += [f"--qat-{name}", case[name]]
    return options


def logits_of(file, x, form):
    """As the file is written, or with products in integers, which saturate on processors without VNNI unless told not to."""
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    if form == "written":
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(OUT / file), options, providers=["CPUExecutionProvider"]).run(["logits"], {"x": x})[0]


def initializer(model, name):
    return numpy_helper.to_array(next(t for t in model.graph.initializer if t.name == name))


def main():
    numbers = np.random.default_rng(0)
    weights = write_model(numbers)
    centers, labels = numbers.normal(size=(10, 16)), numbers.integers(0, 10, ROWS)
    x = (centers[labels] + numbers.normal(size=(ROWS, 16), scale=0.5)).astype(F)
    np.save(OUT / "x.npy", x)
    np.save(OUT / "labels.npy", labels)
    cases = {"channels": dict(weights="int8", activations="uint8"),
             "tensors": dict(weights="uint8", activations="int8", scales="tensor"),
             "warm-up": dict(weights="int8", activations="uint8", observe=5, freeze=12),
             "learned": dict(weights="int8", activations="uint8", learned=True, lr=0.01),
             "blocks": dict(weights="int4", activations="none", block=8),
             "beside": dict(weights="int8", activations="uint8", model="apart.onnx"),
             "packed": dict(weights="int4", activations="none", block=16, form="matmulnbits")}
    for name, case in cases.items():
        program = OUT / f"train-{name}"
        run("kedge", "compile", case.get("model", "model.onnx"), "--shape", f"x={BATCH}x16", "--loss", "cross-entropy", "--optimizer", "sgd", *options_of(case),
            "-o", program)
        run(program, "--data", "x=x.npy", "labels=labels.npy", "--eval-data", "x=x.npy", "labels=labels.npy", "--steps", STEPS, "--lr", rate_of(case),
            "--weight-decay", 0, "--log", f"{name}.jsonl", "--predict", f"logits={name}.npy", "--export-onnx", f"{name}.onnx",
            "--export-quantized")
        found = [json.loads(line)["loss"] for line in (OUT / f"{name}.jsonl").read_text().splitlines()]
        apart = np.abs(np.array(found) - losses_in_numpy(weights, x, labels, case)).max()
        assert apart < 1e-5 and found[-1] < found[0], f"{name}: losses are {apart} from numpy's"
        model = onnx.load(OUT / f"{name}.onnx")
        onnx.checker.check_model(model)
        assert "first.weight" not in [t.name for t in model.graph.initializer]
        mine, step = np.load(OUT / f"{name}.npy"), np.ptp(np.load(OUT / f"{name}.npy")) / 255
        for form, limit in (("written", 1e-5), ("integers", 2 * step)):
            theirs = logits_of(f"{name}.onnx", x, form)
            assert np.abs(mine - theirs).max() <= limit, f"{name}, {form}: logits are {np.abs(mine - theirs).max()} away, limit {limit}"
            assert (np.abs(mine - theirs) > step).mean() < 0.001, f"{name}, {form}: too many logits are more than a step away"
            assert (mine.argmax(1) == theirs.argmax(1)).mean() >= 0.999
        kinds = sorted({str(initializer(model, f"{w}_{'packed' if case.get('form') else 'quantized'}").dtype) for w in ("first.weight", "second.weight")})
        print(f"{name}: {STEPS} losses as in numpy, {kinds[0]} weights, logits as in ONNX Runtime")


main()
