#!/usr/bin/env python3
"""Frozen tensors under --precision: held in 16 bits alone, exact in every file, the same in a checkpoint of either precision.
frozen.py GPT-FOLDER OUT. Needs numpy and onnx."""
import json
import pathlib
import struct
import subprocess
import sys

import numpy
import onnx
from onnx import numpy_helper

golden, out = map(pathlib.Path, sys.argv[1:])
FROZEN = "^(wte|wpe|blocks.0)"
COMMON = ["--shape", "input_ids=4x24", "--loss", "cross-entropy", "--freeze", FROZEN]


def kedge(*words):
    return subprocess.run(["kedge", *words], check=True, capture_output=True, text=True).stdout


def run(program, *words, launcher=()):
    data = [word for name in ("input_ids", "labels") for word in ("--data", f"{name}={golden / name}.npy")]
    subprocess.run([*launcher, out / program, *data, *words], check=True, capture_output=True)


def initializers(path):
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}


def safetensors(path):
    data = path.read_bytes()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:end])
    header.pop("__metadata__", None)
    return {name: numpy.frombuffer(data[end + entry["data_offsets"][0]:end + entry["data_offsets"][1]], "<f4").reshape(entry["shape"])
            for name, entry in header.items() if entry["dtype"] == "F32"}


model = initializers(golden / "model.onnx")
frozen = {name for name in model if name.startswith(("wte", "wpe", "blocks.0"))}


def expect_exact(found):
    for name in frozen:
        assert numpy.array_equal(found[name], model[name]), f"{name} is not what the model has"
    assert any(not numpy.array_equal(found[name], model[name]) for name in found.keys() & model.keys()), "nothing was trained"


for precision in ("fp32", "bf16", "fp16"):
    kedge("compile", golden / "model.onnx", *COMMON, "--precision", precision, "-o", out / precision)
    plan = json.loads(kedge("plan", golden / "model.onnx", *COMMON, "--precision", precision, "--json"))["state_bytes"]
    print(precision, plan["parameters"], plan["working_copies"])
    files = ["--export-safetensors", out / f"{precision}.safetensors", "--export-onnx", out / f"{precision}.onnx"]
    run(precision, "--steps", "3", "--checkpoint-dir", out / f"{precision}.ck", *files)
    expect_exact(safetensors(out / f"{precision}.safetensors"))
    expect_exact(initializers(out / f"{precision}.onnx"))
print("trained", sum(model[n].size for n in model) - sum(model[n].size for n in frozen), "frozen", sum(model[n].size for n in frozen))
# A checkpoint holds their hash: of what the model has, whatever the program holds.
run("fp32", "--steps", "5", "--checkpoint-dir", out / "bf16.ck", "--resume")
run("bf16", "--steps", "5", "--checkpoint-dir", out / "fp32.ck", "--resume")
# In parts on two ranks.
kedge("compile", golden / "model.onnx", *COMMON, "--precision", "bf16", "--ranks", "2", "--zero", "3", "-o", out / "ranks")
run("ranks", "--steps", "3", "--export-onnx", out / "ranks.onnx", "--threads", "1",
    launcher=["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2"])
expect_exact(initializers(out / "ranks.onnx"))
# Weights of another file are theirs.
run("bf16", "--steps", "1", "--weights", out / "fp32.safetensors", "--export-onnx", out / "again.onnx")
expect_exact(initializers(out / "again.onnx"))
print("frozen tensors are exact in files")
