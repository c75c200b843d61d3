#!/usr/bin/env python3
"""Checks the second model with ONNX's checker and compares what both compute: same_numbers.py A.onnx B.onnx."""
import sys

import numpy as np
import onnx
import onnxruntime as ort

first, second = sys.argv[1:]
onnx.checker.check_model(onnx.load(second), full_check=True)
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
sessions = [ort.InferenceSession(path, options, providers=["CPUExecutionProvider"]) for path in (first, second)]
random = np.random.default_rng(0)
feed = {}
for value in sessions[0].get_inputs():
    dims = [d if isinstance(d, int) else 3 for d in value.shape]
    feed[value.name] = random.integers(0, 2, dims) if "int64" in value.type else random.normal(size=dims).astype(np.float32)
results = [session.run(None, feed) for session in sessions]
for a, b in zip(*results):
    np.testing.assert_array_equal(a, b)
print("equal")
