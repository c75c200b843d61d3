#!/usr/bin/env python3
"""Compares a program's predictions with onnxruntime's on the exported model: predict.py MODEL.onnx INPUT.npy OUTPUT.npy"""
import sys

import numpy as np
import onnx
import onnxruntime


def main():
    path, given, found = sys.argv[1], np.load(sys.argv[2]), np.load(sys.argv[3])
    onnx.checker.check_model(path, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    expected = session.run(None, {name: given})[0]
    gap = np.abs(expected - found).max()
    print(f"largest difference {gap:.2e} of {np.abs(expected).max():.2e}")
    sys.exit(expected.shape != found.shape or not gap <= 1e-5 * np.abs(expected).max())


if __name__ == "__main__":
    main()
