#!/usr/bin/env python3
"""Writes taste.onnx: four measurements in, one guess out, by way of 16 hidden units; untrained. Needs onnx and numpy."""
import pathlib
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

random = numpy.random.default_rng(0)
weights = {"hidden.weight": (16, 4), "hidden.bias": (16,), "out.weight": (1, 16), "out.bias": (1,)}
initializers = [numpy_helper.from_array(random.uniform(-0.5, 0.5, shape).astype("float32"), name) for name, shape in weights.items()]
nodes = [helper.make_node("Gemm", ["features", "hidden.weight", "hidden.bias"], ["sum"], transB=1),
         helper.make_node("Tanh", ["sum"], ["active"]),
         helper.make_node("Gemm", ["active", "out.weight", "out.bias"], ["guess"], transB=1)]
graph = helper.make_graph(nodes, "taste", [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["rows", 4])],
                          [helper.make_tensor_value_info("guess", TensorProto.FLOAT, ["rows", 1])], initializers)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
onnx.checker.check_model(model)
onnx.save(model, pathlib.Path(__file__).parent / "taste.onnx")
