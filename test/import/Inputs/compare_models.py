"""compare_models.py A.onnx B.onnx: B passes ONNX's checker and equals A in all but where the elements lie."""
import sys

import numpy
import onnx
from onnx import numpy_helper

first, second = (onnx.load(path) for path in sys.argv[1:3])
onnx.checker.check_model(sys.argv[2])
tensors = [{t.name: numpy_helper.to_array(t) for t in m.graph.initializer} for m in (first, second)]
assert tensors[0].keys() == tensors[1].keys(), "other initializers"
for name, values in tensors[0].items():
    assert values.dtype == tensors[1][name].dtype, name
    numpy.testing.assert_array_equal(values, tensors[1][name], err_msg=name)
for model in (first, second):
    del model.graph.initializer[:]
assert first.SerializeToString(deterministic=True) == second.SerializeToString(deterministic=True), "other graph"
print("equal:", len(tensors[0]), "initializers")
