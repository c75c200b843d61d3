#!/usr/bin/env python3
"""export_onnx.py MODEL.onnx EXPORTED.onnx [INPUT=AxB]...: ONNX's checker on the export, and onnxruntime on both with the
same random inputs: outputs within 1e-5 of their largest element."""
import sys

import numpy as np
import onnx
import onnxruntime

TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64, "tensor(int32)": np.int32,
         "tensor(bool)": bool}


def session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def main():
    original, exported = sys.argv[1], sys.argv[2]
    shapes = {name: [int(size) for size in text.split("x") if size] for name, text in (word.split("=") for word in sys.argv[3:])}
    onnx.checker.check_model(exported, full_check=True)
    first, second = session(original), session(exported)
    random, feeds = np.random.default_rng(0), {}
    for entry in second.get_inputs():
        shape = shapes.get(entry.name, entry.shape)
        kind = TYPES[entry.type]
        feeds[entry.name] = random.standard_normal(shape).astype(kind) if entry.type in ("tensor(float)", "tensor(double)") \
            else random.integers(0, 2, shape).astype(kind)
    want, found = first.run(None, feeds), second.run(None, feeds)
    for name, a, b in zip([o.name for o in first.get_outputs()], want, found):
        if a.shape != b.shape or a.dtype != b.dtype:
            sys.exit(f"{name}: {b.dtype}{b.shape}, expected {a.dtype}{a.shape}")
        gap = np.abs(a.astype(np.float64) - b.astype(np.float64)).max(initial=0)
        if not gap <= 1e-5 * max(1e-3, np.abs(a.astype(np.float64)).max(initial=0)):
            sys.exit(f"{name}: {gap:.3e} away")
    print(f"{len(want)} outputs agree, {len(onnx.load(exported).graph.node)} nodes, opset {onnx.load(exported).opset_import[0].version}")


if __name__ == "__main__":
    main()
