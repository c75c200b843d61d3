"""A hidden layer and 1001 classes, with data for 96 rows, the same with logits of class 7 that overflow, and with a head that is a table of
classes without a bias: odd_vocabulary.py FOLDER."""
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

ROWS, WIDTH, CLASSES = 96, 16, 1001
folder, random = pathlib.Path(sys.argv[1]), numpy.random.default_rng(1)
weights = {"w": (WIDTH, WIDTH), "head": (WIDTH, CLASSES), "bias": (CLASSES,)}
nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Tanh", ["h"], ["t"]),
         helper.make_node("MatMul", ["t", "head"], ["l"]), helper.make_node("Add", ["l", "bias"], ["logits"])]
arrays = {name: (random.standard_normal(shape) / 4).astype(numpy.float32) for name, shape in weights.items()}


def save(name):
    graph = helper.make_graph(
        nodes, "classes", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [ROWS, WIDTH])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [ROWS, CLASSES])],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), folder / name)


save("model.onnx")
whole = dict(arrays), list(nodes)
arrays["head"] = arrays["head"].T.copy()
arrays.pop("bias")
nodes[2:] = [helper.make_node("Transpose", ["head"], ["turned"], perm=[1, 0]), helper.make_node("MatMul", ["t", "turned"], ["logits"])]
save("table.onnx")
arrays, nodes = whole
arrays["head"][:, 7] = 3e38
save("overflows.onnx")
x = random.standard_normal((4 * ROWS, WIDTH)).astype(numpy.float32)
numpy.save(folder / "x.npy", x)
x[:5] = 0  # these rows' logits do not overflow
numpy.save(folder / "late.npy", x)
numpy.save(folder / "labels.npy", random.integers(0, CLASSES, 4 * ROWS))
