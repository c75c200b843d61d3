#!/usr/bin/env python3
"""How far rounding to 8 bits magnifies a small change: the golden run of gpt in fp8, its initial weights changed by 1e-6.

float8_noise.py [--kedge build/release/bin/kedge] [--runs 8] [--change 1e-6]

Prints for each run the largest relative distance of losses and of gradient norms from PyTorch's. Needs numpy and onnx.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy
import onnx
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "test/golden/gpt"


def changed(model, seed, change):
    random, copy = numpy.random.default_rng(seed), onnx.ModelProto()
    copy.CopyFrom(model)
    for tensor in copy.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype == numpy.float32:
            factors = 1 + change * random.standard_normal(values.shape)
            tensor.CopyFrom(numpy_helper.from_array((values * factors).astype(numpy.float32), tensor.name))
    return copy


def distance(log, golden, key):
    return max(abs(step[key] - wanted) / abs(wanted) for step, wanted in zip(log, golden[key]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kedge", default=ROOT / "build/release/bin/kedge")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--change", type=float, default=1e-6)
    o = parser.parse_args()
    golden, model = json.loads((GOLDEN / "float8.json").read_text()), onnx.load(GOLDEN / "model.onnx")
    data = [word for name, file in golden["data"].items() for word in ("--data", f"{name}={GOLDEN / file}")]
    with tempfile.TemporaryDirectory() as folder:
        program, weights, log = (pathlib.Path(folder) / name for name in ("program", "weights.onnx", "log.jsonl"))
        subprocess.run([o.kedge, "compile", GOLDEN / "model.onnx", *golden["compile"], "-o", program], check=True, stdout=subprocess.DEVNULL)
        for seed in range(o.runs):
            onnx.save(changed(model, seed, o.change), weights)
            subprocess.run([program, *data, *golden["run"], "--weights", weights, "--log", log], check=True,
                           capture_output=True)
            steps = [json.loads(line) for line in log.read_text().splitlines()]
            print(f"run {seed}: loss {distance(steps, golden, 'loss'):.1e}, norm of the gradient {distance(steps, golden, 'grad_norm'):.1e}")


if __name__ == "__main__":
    main()
