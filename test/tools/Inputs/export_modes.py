#!/usr/bin/env python3
"""What --export-training-mode writes of a model that --train-mode switched on: export_modes.py OUT. The plain export stays in
inference mode and says nothing of modes; the other has the modes, where its opset knows them."""
import pathlib
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

out = pathlib.Path(sys.argv[1])


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stderr


def program(opset):
    values = {"c.weight": numpy.full((2, 1, 3, 3), 0.1), "n.weight": numpy.ones(2), "n.bias": numpy.zeros(2),
              "n.running_mean": numpy.zeros(2), "n.running_var": numpy.ones(2)}
    tensors = [numpy_helper.from_array(value.astype("float32"), name) for name, value in values.items()]
    ratio = {"ratio": 0.5} if opset < 12 else {}
    if opset >= 12:
        tensors.append(numpy_helper.from_array(numpy.array(0.5, "float32"), "ratio"))
    nodes = [helper.make_node("Conv", ["x", "c.weight"], ["h"], name="c"),
             helper.make_node("BatchNormalization", ["h", *list(values)[1:]], ["n"], name="n"),
             helper.make_node("Dropout", ["n"] + ["ratio"] * (opset >= 12), ["y"], name="d", **ratio)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 1, 4, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 2, 2, 2])], tensors)
    model = out / f"{opset}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), model)
    run("kedge", "compile", model, "--loss", "mse", "--train-mode", "-o", out / f"{opset}")
    return out / f"{opset}"


def exported(built, *options):
    file = built.with_suffix(".out.onnx")
    rows = numpy.random.default_rng(0).standard_normal((4, 1, 4, 4)).astype("float32")
    numpy.save(out / "x.npy", rows)
    numpy.save(out / "labels.npy", numpy.zeros((4, 2, 2, 2), "float32"))
    said = run(built, "--data", f"x={out / 'x.npy'}", "--data", f"labels={out / 'labels.npy'}", "--steps", 2, "--export-onnx", file, *options)
    model = onnx.load(file)
    onnx.checker.check_model(model, full_check=True)
    norm = next(node for node in model.graph.node if node.op_type == "BatchNormalization")
    dropout = next(node for node in model.graph.node if node.op_type == "Dropout")
    on = any(a.name == "training_mode" and a.i == 1 for a in norm.attribute)
    mode = [numpy_helper.to_array(t).item() for t in model.graph.initializer if len(dropout.input) > 2 and t.name == dropout.input[2]]
    return on, mode == [True], said, file


new = program(17)
on, dropout, said, _ = exported(new)
assert not on and not dropout and "training mode" not in said, (on, dropout, said)
on, dropout, said, file = exported(new, "--export-training-mode")
assert on and dropout and "1 BatchNormalization set to training mode" in said, (on, dropout, said)
run("kedge", "compile", file, "--loss", "mse", "-o", out / "again")  # no --train-mode: the file has it
on, dropout, said, _ = exported(program(11), "--export-training-mode")
assert not on and not dropout and "1 BatchNormalization and 1 Dropout stay in inference mode: opset 11 has no other" in said, (on, dropout, said)
print("exports have the modes that they say")
