#!/usr/bin/env python3
"""A residual convnet with BatchNormalization trained for integers, whose exported file ONNX Runtime computes in integers: qat_convolutions.py OUT."""
import collections
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OUT = pathlib.Path(sys.argv[1])
ROWS, BATCH = 320, 32


def write_model(numbers):
    weights, nodes = {}, []

    def conv(x, y, fan_in, fan_out, group=1, bias=False):
        weights[f"{y}.weight"] = numbers.normal(size=(fan_out, fan_in // group, 3, 3), scale=0.3)
        inputs = [x, f"{y}.weight"]
        if bias:
            weights[f"{y}.bias"] = numbers.normal(size=fan_out, scale=0.1)
            inputs.append(f"{y}.bias")
        nodes.append(helper.make_node("Conv", inputs, [f"{y}.conv"], pads=[1, 1, 1, 1], group=group))
        for part, value in (("scale", numbers.uniform(0.5, 1.5, fan_out)), ("shift", numbers.normal(size=fan_out, scale=0.1)),
                            ("mean", np.zeros(fan_out)), ("var", np.ones(fan_out))):
            weights[f"{y}.{part}"] = value
        nodes.append(helper.make_node("BatchNormalization", [f"{y}.conv", *(f"{y}.{part}" for part in ("scale", "shift", "mean", "var"))], [y]))

    conv("x", "first", 1, 8, bias=True)
    nodes.append(helper.make_node("Relu", ["first"], ["a"]))
    conv("a", "grouped", 8, 8, group=8)
    weights["six"] = np.array(6)
    weights["none"] = np.array(0)
    nodes.append(helper.make_node("Clip", ["grouped", "none", "six"], ["b"]))
    conv("b", "last", 8, 8)
    nodes.append(helper.make_node("Add", ["last", "a"], ["sum"]))
    nodes.append(helper.make_node("Relu", ["sum"], ["c"]))
    conv("c", "next", 8, 8)
    nodes.append(helper.make_node("Flatten", ["next"], ["flat"]))
    weights["head.weight"], weights["head.bias"] = numbers.normal(size=(4, 512), scale=0.05), numbers.normal(size=4, scale=0.1)
    nodes.append(helper.make_node("Gemm", ["flat", "head.weight", "head.bias"], ["logits"], transB=1))
    graph = helper.make_graph(nodes, "convnet", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 1, 8, 8])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", 4])],
                              [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), OUT / "model.onnx")


def run(*command):
    done = subprocess.run([str(part) for part in command], cwd=OUT, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def logits_of(file, x, form):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.optimized_model_filepath = str(OUT / f"{form}.opt.onnx")
    if form == "written":
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(OUT / file), options, providers=["CPUExecutionProvider"]).run(["logits"], {"x": x})[0]


def main():
    numbers = np.random.default_rng(0)
    write_model(numbers)
    centers, labels = numbers.normal(size=(4, 1, 8, 8)), numbers.integers(0, 4, ROWS)
    x = (centers[labels] + numbers.normal(size=(ROWS, 1, 8, 8), scale=0.5)).astype(np.float32)
    np.save(OUT / "x.npy", x)
    np.save(OUT / "labels.npy", labels)
    for name, options in (("folded", ["--qat-sums"]), ("apart", ["--qat-batchnorm", "apart"])):
        run("kedge", "compile", "model.onnx", "--train-mode", "--shape", f"x={BATCH}x1x8x8", "--loss", "cross-entropy", "--qat", ".*=int8", *options,
            "-o", OUT / f"train-{name}")
        run(OUT / f"train-{name}", "--data", "x=x.npy", "labels=labels.npy", "--eval-data", "x=x.npy", "labels=labels.npy", "--steps", 20, "--lr", 3e-3,
            "--predict", f"logits={name}.npy", "--export-onnx", f"{name}.onnx", "--export-quantized")
        mine, kinds = np.load(OUT / f"{name}.npy"), {}
        step = np.ptp(mine) / 255
        for form in ("written", "integers"):
            theirs = logits_of(f"{name}.onnx", x, form)
            away = np.abs(mine - theirs).max() / step
            assert away <= 1, f"{name}, {form}: logits are {away} steps away"
            assert (mine.argmax(1) == theirs.argmax(1)).all()
            kinds[form] = collections.Counter(node.op_type for node in onnx.load(OUT / f"{form}.opt.onnx").graph.node)
        print(f"{name}: accuracy {(mine.argmax(1) == labels).mean():.2f}, {kinds['written']['BatchNormalization']} norms, in integers "
              f"{kinds['integers']['QLinearConv']} convolutions, {kinds['integers']['QLinearAdd']} sums, {kinds['integers']['QGemm']} linear")


main()
