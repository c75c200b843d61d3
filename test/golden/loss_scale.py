#!/usr/bin/env python3
"""Replays steps of a loss scaler with --inject-gradient: loss_scale.py REFERENCE.json OUT PRECISION [OPTION OF COMPILE...].

REFERENCE: `options` (initial_scale, growth_factor, backoff_factor, growth_interval) and `steps` with what was injected and
the scale, counter, optimizer steps and parameters after each. The model is one parameter w of three elements under AdamW
whose gradient is the input [0.1, 0.2, -0.3] in every step. All is exact but the parameters: within 1e-6, and within fp16's
rounding of that gradient, which AdamW's quotient of moments hardly shows.
"""
import json
import pathlib
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


def make_model(path):
    w = numpy_helper.from_array(numpy.array([1, -2, 3], numpy.float32), "w")
    nodes = [helper.make_node("Mul", ["x", "w"], ["y"]), helper.make_node("ReduceSum", ["y"], ["loss"], keepdims=0)]
    graph = helper.make_graph(nodes, "scaled", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], [w])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), path)


def main():
    reference, out, precision = json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2]), sys.argv[3]
    out.mkdir(parents=True, exist_ok=True)
    make_model(out / "scaled.onnx")
    numpy.save(out / "x.npy", numpy.array([[0.1, 0.2, -0.3]], numpy.float32))
    options, steps = reference["options"], reference["steps"]
    subprocess.run(["kedge", "compile", out / "scaled.onnx", "--train", "w", "--loss", "none", "--loss-output", "loss", "--precision", precision,
                    "--loss-scale", "dynamic", "--loss-scale-init", str(options["initial_scale"]), "--loss-scale-growth",
                    str(options["growth_factor"]), "--loss-scale-backoff", str(options["backoff_factor"]),
                    "--loss-scale-window", str(options["growth_interval"]), "--lr", "0.1", *sys.argv[4:], "-o",
                    out / "program"], check=True)
    injected = ",".join(f"{s['step']}={s['injected']}" for s in steps if s["injected"])
    wrong = []
    for done, want in enumerate(steps, 1):
        # From the checkpoint of the step before: what the scaler knows has to come along.
        resume = ["--resume"] if done > 1 else []
        subprocess.run([out / "program", "--data", f"x={out / 'x.npy'}", "--steps", str(done), "--log", out / "log.jsonl",
                        "--inject-gradient", injected, "--checkpoint-dir", out / "checkpoints", "--export-safetensors",
                        out / "w.safetensors", *resume], check=True, stderr=subprocess.DEVNULL)
        line = json.loads((out / "log.jsonl").read_text().splitlines()[-1])
        raw = (out / "w.safetensors").read_bytes()
        w = numpy.frombuffer(raw[-12:], numpy.float32)
        facts = {"loss_scale": want["scale_before"], "skipped": want["skipped"], "growth_counter": want["growth_counter"],
                 "optimizer_steps": want["optimizer_steps"]}
        wrong += [f"step {want['step']}: {key} {line[key]}, expected {value}" for key, value in facts.items()
                  if line[key] != value]
        expected = numpy.array(want["parameters"], numpy.float32)
        if not numpy.all(numpy.abs(w - expected) <= 1e-6 * numpy.maximum(numpy.abs(expected), 1)):
            wrong.append(f"step {want['step']}: parameters {w}, expected {expected}")
    print("\n".join(wrong) or f"{len(steps)} steps as in the reference")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
