#!/usr/bin/env python3
"""Adapters of each form, merged: adapter_forms.py GOLDEN TEMP

Trains the golden model gpt. The first loss is the model's own; the merged weights are what numpy makes of the model's and of the folder that the program
writes; the folder gives a program the same merged weights again.
"""
import json
import pathlib
import shutil
import struct
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

golden, temp = (pathlib.Path(word) for word in sys.argv[1:])
shutil.rmtree(temp, ignore_errors=True)
temp.mkdir(parents=True)
model = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(golden / "model.onnx").graph.initializer}
DATA = [word for name in ("input_ids", "labels") for word in ("--data", f"{name}={golden / name}.npy")]
UP, DOWN = "blocks.0.up", "blocks.1.down"


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def tensors(path):
    blob = path.read_bytes()
    (size,) = struct.unpack("<Q", blob[:8])
    header = json.loads(blob[8:8 + size])
    header.pop("__metadata__", None)
    return {name.removeprefix("base_model.model."): numpy.frombuffer(blob[8 + size:][slice(*one["data_offsets"])], numpy.float32).reshape(one["shape"])
            for name, one in header.items()}


def product(found, path, a=".lora_A.weight", b=".lora_B.weight"):
    return 2.0 * found[path + b].astype(float) @ found[path + a].astype(float)  # alpha 8 over rank 4


def dora(found):
    whole = model[UP + ".weight"] + product(found, UP)
    scales = found[UP + ".lora_magnitude_vector"] / numpy.linalg.norm(whole, axis=1)
    return {UP + ".weight": scales[:, None] * whole}


def pissa(found):
    weight = model[UP + ".weight"].astype(float)
    u, s, v = numpy.linalg.svd(weight, full_matrices=False)
    return {UP + ".weight": weight - (u[:, :4] * s[:4]) @ v[:4] + product(found, UP)}


def olora(found):
    weight = model[UP + ".weight"].astype(float)
    q, r = numpy.linalg.qr(weight)
    return {UP + ".weight": weight - 2.0 * q[:, :4] @ r[:4] + product(found, UP)}


def embeddings(found):
    return {"wpe.weight": model["wpe.weight"] + product(found, "wpe", ".lora_embedding_A", ".lora_embedding_B").T}


def scales(found):
    outputs, inputs = found[UP + ".ia3_l"], found[DOWN + ".ia3_l"]
    assert outputs.shape == (128, 1) and inputs.shape == (1, 128)
    return {UP + ".weight": model[UP + ".weight"] * outputs, UP + ".bias": model[UP + ".bias"] * outputs[:, 0],
            DOWN + ".weight": model[DOWN + ".weight"] * inputs}


def tokens(found):
    table = model["wte.weight"].copy()
    table[[5, 9, 10]] = found["wte.trainable_tokens_delta"]
    return {"wte.weight": table}


LORA = ["--lora", "0.up", "--lora-rank", "4"]
FORMS = {
    "dora": (LORA + ["--lora-dora"], dora),
    "pissa": (LORA + ["--lora-init", "pissa"], pissa),
    "olora": (LORA + ["--lora-init", "olora"], olora),
    "embeddings": (["--lora", "wpe", "--lora-rank", "4"], embeddings),
    "ia3": (["--ia3", "0.up|1.down", "--ia3-inputs", "down"], scales),
    "tokens": (["--train-tokens", "wte=5,9-10"], tokens),
}


def check(name, options, merged):
    program, log = temp / name, temp / "log.jsonl"
    run("kedge", "compile", golden / "model.onnx", "--shape", "input_ids=4x24", "--loss", "cross-entropy", *options, "-o", program)
    run(program, *DATA, "--steps", 6, "--lr", "1e-2", "--threads", 1, "--log", log, "--export-adapter", temp / f"{name}.folder",
        "--export-safetensors", temp / "trained.safetensors")
    losses = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    first = json.loads((golden / "trace.json").read_text())["loss"][0]
    assert abs(losses[0] - first) < 1e-5 * first, (name, losses[0], first)
    trained, changed = tensors(temp / "trained.safetensors"), merged(tensors(temp / f"{name}.folder" / "adapter_model.safetensors"))
    for tensor, values in trained.items():
        expected = changed.get(tensor, model[tensor])
        assert numpy.abs(values - expected).max() <= (3e-6 if tensor in changed else 0) * numpy.abs(expected).max(), (name, tensor)
        assert (tensor in changed) == (numpy.abs(values - model[tensor]).max() > 1e-3), (name, tensor)
    run(program, *DATA, "--steps", 0, "--adapter", temp / f"{name}.folder", "--export-safetensors", temp / "again.safetensors")
    for tensor, values in tensors(temp / "again.safetensors").items():
        assert (values == trained[tensor]).all(), (name, tensor)


def largest_parts():
    """PiSSA of a matrix that is too large for all of its vectors, with singular values that lie close to each other."""
    weight = numpy.random.default_rng(5).standard_normal((200, 300)).astype(numpy.float32)
    inputs, outputs = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, size]) for name, size in (("x", 300), ("y", 200)))
    node = helper.make_node("Gemm", ["x", "fc.weight"], ["y"], transB=1)
    graph = helper.make_graph([node], "one", [inputs], [outputs], [numpy_helper.from_array(weight, "fc.weight")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), temp / "one.onnx")
    run("kedge", "compile", temp / "one.onnx", "--loss", "mse", "--lora", "fc", "--lora-rank", "4", "--lora-init", "pissa", "-o", temp / "one")
    run(temp / "one", "--steps", 0, "--export-adapter", temp / "one.folder", "--export-safetensors", temp / "one.safetensors")
    u, s, v = numpy.linalg.svd(weight.astype(float), full_matrices=False)
    part = product(tensors(temp / "one.folder" / "adapter_model.safetensors"), "fc")
    assert numpy.abs(part - (u[:, :4] * s[:4]) @ v[:4]).max() < 1e-6 * s[0]
    assert numpy.abs(tensors(temp / "one.safetensors")["fc.weight"] - weight).max() < 1e-6
    print("the largest parts of a matrix are numpy's")


for form, (words, merges) in FORMS.items():
    check(form, words, merges)
print(f"{len(FORMS)} forms merged as in numpy, and read again")
largest_parts()
