"""Modes that operators do not have are refused at import with those that they have: unknown_modes.py FOLDER. Needs onnx."""
import pathlib
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
CASES = {
    "Resize": (["a", "", "c"], numpy.array([1, 1, 2, 2], numpy.float32), "lanczos", "none of nearest, linear, cubic"),
    "GridSample": (["a", "c"], numpy.zeros((1, 2, 2, 2), numpy.float32), "quintic", "none of "),
    "Pad": (["a", "c"], numpy.array([0, 0, 1, 1, 0, 0, 1, 1]), "mirror", "none of constant, reflect, edge, wrap"),
}
for name, (inputs, second, mode, known) in CASES.items():
    weights = [numpy_helper.from_array(numpy.ones((1, 1, 4, 4), numpy.float32), "w"), numpy_helper.from_array(second, "c")]
    nodes = [helper.make_node("Mul", ["x", "w"], ["a"]), helper.make_node(name, inputs, ["y"], mode=mode)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], weights)
    path = folder / f"{name}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    run = subprocess.run(["kedge", "compile", path, "--loss", "mse", "--train", "w", *(["--freeze", "c"] if name == "GridSample" else []), "-o",
                          folder / "program"], capture_output=True, text=True)
    wanted = f"({name}): mode '{mode}' is {known}"
    assert run.returncode == 1 and wanted in run.stderr, (wanted, run.returncode, run.stderr)
print(f"{len(CASES)} modes refused")
