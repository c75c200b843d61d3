#!/usr/bin/env python3
"""Weights that bitsandbytes has quantised, made here by the layout of its files, load as they are: bitsandbytes.py GPT-FOLDER OUT.
Also: codes in parts on two ranks. Needs numpy and onnx."""
import json
import pathlib
import struct
import subprocess
import sys

import numpy
import onnx
from onnx import numpy_helper
from quantised_files import NF4, state, write

golden, out = map(pathlib.Path, sys.argv[1:])
WEIGHTS = r"(qkv|proj|up|down)\.weight$"
model = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(golden / "model.onnx").graph.initializer}
chosen = [name for name in model if name.endswith(("qkv.weight", "proj.weight", "up.weight", "down.weight"))]
generator = numpy.random.default_rng(5)


def floats(path):
    data = path.read_bytes()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:end])
    header.pop("__metadata__", None)
    return {name: numpy.frombuffer(data[end + entry["data_offsets"][0]:end + entry["data_offsets"][1]], "<f4").reshape(entry["shape"])
            for name, entry in header.items()}


def four_bits():
    """The file's tensors, and the values that they stand for."""
    tensors, values = {}, {}
    for name, weight in model.items():
        if name not in chosen:
            tensors[name] = values[name] = weight
            continue
        numbers = generator.integers(0, 16, weight.size)
        absmax = generator.uniform(0.01, 0.1, -(-weight.size // 64)).astype(numpy.float32)
        tensors[name] = (numbers[0::2] << 4 | numbers[1::2]).astype(numpy.uint8).reshape(-1, 1)
        tensors[f"{name}.absmax"] = absmax
        state(tensors, name, weight.shape)
        values[name] = (NF4[numbers] * absmax.repeat(64)[:weight.size]).reshape(weight.shape)
    return tensors, values


def eight_bits():
    tensors, values = {}, {}
    for name, weight in model.items():
        tensors[name] = values[name] = weight
        if name in chosen:
            tensors[name] = generator.integers(-127, 128, weight.shape).astype(numpy.int8)
            rows = generator.uniform(0.01, 0.1, weight.shape[0]).astype(numpy.float32)
            tensors[name.removesuffix("weight") + "SCB"] = rows
            tensors[f"{name}_format"] = numpy.array(0, numpy.uint8)
            values[name] = tensors[name] * (rows / numpy.float32(127))[:, None]
    return tensors, values


def run(program, *words, launcher=()):
    data = [word for name in ("input_ids", "labels") for word in ("--data", f"{name}={golden / name}.npy")]
    done = subprocess.run([*map(str, launcher), out / program, *data, *words], capture_output=True, text=True)
    return done.returncode, done.stderr


def compiled(name, quantize, *words):
    subprocess.run(["kedge", "compile", golden / "model.onnx", "--shape", "input_ids=4x24", "--loss", "cross-entropy", *quantize, *words,
                    "-o", out / name], check=True, capture_output=True)
    return name


def refused(program, path, *pieces):
    code, text = run(program, "--steps", "0", "--weights", path)
    assert code == 1 and all(piece in text for piece in pieces), text


few = lambda kind, *words: ["--lora", WEIGHTS, "--quantize", f"{WEIGHTS}={kind}", *words]
for kind, (tensors, values) in {"nf4": four_bits(), "int8": eight_bits()}.items():
    path = write(out / f"{kind}.safetensors", tensors)
    code, text = run(compiled(kind, few(kind)), "--steps", "0", "--weights", path, "--export-safetensors", out / "again.safetensors")
    assert code == 0 and "none of the program's" not in text, text
    again = floats(out / "again.safetensors")
    assert all(numpy.array_equal(again[name], values[name]) for name in model), [name for name in model if not numpy.array_equal(again[name], values[name])]
    print(f"{kind}: {len(chosen)} weights load as they are")
    # Under ZeRO-3 a rank holds a part of the codes, and codes are what is gathered.
    ranks = compiled("ranks", few(kind), "--ranks", "2", "--zero", "3")
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2"]
    code, text = run(ranks, "--steps", "0", "--threads", "1", "--weights", path, "--export-safetensors", out / "ranks.safetensors", launcher=mpirun)
    assert code == 0, text
    assert all(numpy.array_equal(value, again[name]) for name, value in floats(out / "ranks.safetensors").items())

# A base of the same name and size, another one code, on the second of two ranks.
(out / "else").mkdir()
base = (out / "int8.safetensors").read_bytes()
for folder, last in ((out, base[-1]), (out / "else", base[-1] ^ 1)):
    (folder / "base.safetensors").write_bytes(base[:-1] + bytes([last]))
data = [word for name in ("input_ids", "labels") for word in ("--data", f"{name}={golden / name}.npy")]
rank = lambda folder: ["-np", "1", "-wdir", folder, out / "ranks", *data, "--steps", "1", "--threads", "1", "--weights", "base.safetensors"]
several = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", *rank(out), ":", *rank(out / "else")], capture_output=True, text=True)
assert several.returncode == 1 and several.stderr.count("kedge: error: ") == 1, several.stderr
assert "'base.safetensors': rank 1 reads another file of this name than rank 0" in several.stderr, several.stderr
print("ranks train on one quantised base")

refused("nf4", out / "int8.safetensors", "is quantised to int8, the program is for nf4: compile it for what the file has")
refused(compiled("plain", []), out / "nf4.safetensors", "is quantised by bitsandbytes: compile the program with --quantize '^", "=nf4', and freeze it")
name = chosen[0]
for key, value, piece in ((f"{name}.absmax", None, f"'{name}.absmax', which belongs to it, is missing"),
                          (f"{name}.quant_map", NF4[::-1].copy(), "a table that Kedge does not have"),
                          (f"{name}.absmax", numpy.ones(3, numpy.float32), "expected")):
    tensors, _ = four_bits()
    tensors[key] = value
    refused("nf4", write(out / "bad.safetensors", {k: v for k, v in tensors.items() if v is not None}), "bad.safetensors: ", piece)
for more, piece in (({"blocksize": 128}, "has a blocksize of 128, expected 64"), ({"quant_type": "int4"}, "is of the type int4; expected nf4 or fp4"),
                    ({"shape": [8, 8]}, "expected 32 elements of u8"), ({"blocksize": "x"}, "is damaged")):
    tensors, _ = four_bits()
    state(tensors, name, model[name].shape, more)
    refused("nf4", write(out / "bad.safetensors", tensors), piece)
print("what does not fit is refused")
