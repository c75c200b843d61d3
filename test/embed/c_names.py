"""A chain of products with names that C cannot have: c_names.py MODEL.onnx"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

names = ["a.b", "a_b", "step", "*/ int evil;"]
ends = ["int", "x1", "x2", "x3", "result"]
nodes = [helper.make_node("MatMul", [ends[at], name], [ends[at + 1]]) for at, name in enumerate(names)]
weights = [numpy_helper.from_array(np.full((4, 4), 0.1 * (at + 1), np.float32), name) for at, name in enumerate(names)]
graph = helper.make_graph(nodes, "names", [helper.make_tensor_value_info("int", TensorProto.FLOAT, ["n", 4])],
                          [helper.make_tensor_value_info("result", TensorProto.FLOAT, ["n", 4])], weights)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), sys.argv[1])
