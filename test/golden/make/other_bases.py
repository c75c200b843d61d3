#!/usr/bin/env python3
"""Files that --mup refuses: other_bases.py MUP OUT writes undivided.onnx, whose head's input is not divided, and flat.onnx, whose table is a vector."""
import pathlib
import sys

import onnx
from onnx import numpy_helper

folder, out = map(pathlib.Path, sys.argv[1:])
out.mkdir(parents=True, exist_ok=True)
model = onnx.load(folder / "model.onnx")
division = next(node for node in model.graph.node if node.op_type == "Div" and any(user.op_type in ("MatMul", "Gemm") and node.output[0] in user.input for user in model.graph.node))
for node in model.graph.node:
    for at, name in enumerate(node.input):
        if name == division.output[0]:
            node.input[at] = division.input[0]
model.graph.node.remove(division)
onnx.save(model, out / "undivided.onnx")
base = onnx.load(folder / "base.onnx")
table = next(tensor for tensor in base.graph.initializer if tensor.name == "wte.weight")
table.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(table).ravel(), "wte.weight"))
onnx.save(base, out / "flat.onnx")
