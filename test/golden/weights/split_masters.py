#!/usr/bin/env python3
"""Masters in two parts: split_masters.py GOLDEN TEMP

Trains the golden model gpt in bf16 with --master-weights split. By formulas of numpy: an export is what the two parts of a checkpoint
are together, and two parts are those of the fp32 master that a program with whole masters has after the same step. A checkpoint of
either program goes on in the other.
"""
import json
import os
import shutil
import struct
import subprocess
import sys

import numpy as np

LEAST = 2.0 ** -100  # smaller numbers have the step of this one


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def tensors(path):
    """bf16 as f32."""
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    types = {"F32": np.float32, "BF16": np.uint16, "I8": np.int8}
    found = {}
    for name, facts in json.loads(data[8:8 + length]).items():
        if name != "__metadata__" and facts["dtype"] in types:
            begin, end = (8 + length + at for at in facts["data_offsets"])
            values = np.frombuffer(data[begin:end], types[facts["dtype"]])
            found[name] = (values.astype(np.uint32) << 16).view(np.float32) if facts["dtype"] == "BF16" else values
    return found


def half_ulp(value):
    """Of bf16, whose last place is 2^-7 of the power of two in a number."""
    return np.exp2(np.floor(np.log2(np.maximum(np.abs(value.astype(np.float64)), LEAST)))) * 2.0 ** -8


def rounded(x):
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).astype(np.uint32).view(np.float32)


def joined(value, residual):
    return (value + residual / 127.0 * half_ulp(value)).astype(np.float32)


def split(x):
    value = rounded(x)
    residual = np.rint(127 * np.clip((x.astype(np.float64) - value) / half_ulp(value), -1, 1))
    leaves = rounded(joined(value, residual)) != value
    return value, np.where(leaves, residual - np.sign(residual), residual)


def parts(folder):
    step = f"{folder}/{sorted(os.listdir(folder))[-1]}"
    weights, rest = tensors(f"{step}/model.safetensors"), tensors(f"{step}/optimizer.safetensors")
    return {name: (weights[name], rest["residual/" + name]) for name in weights if "residual/" + name in rest}


def main():
    golden, temp = sys.argv[1:]
    shutil.rmtree(temp, ignore_errors=True)
    os.makedirs(temp)
    data = ["--data", f"input_ids={golden}/input_ids.npy", "--data", f"labels={golden}/labels.npy", "--lr", "1e-2", "--threads", "1"]
    for masters in ("on", "split"):
        run("kedge", "compile", f"{golden}/model.onnx", "--loss", "cross-entropy", "--shape", "input_ids=4x24", "--precision", "bf16",
            "--master-weights", masters, "-o", f"{temp}/{masters}")

    def train(masters, steps, name, *more):
        run(f"{temp}/{masters}", *data, "--steps", str(steps), "--checkpoint-dir", f"{temp}/{name}", "--export-safetensors",
            f"{temp}/{name}.safetensors", "--log", f"{temp}/{name}.jsonl", *more)
        return tensors(f"{temp}/{name}.safetensors")

    start = train("split", 1, "begin")
    for name, (value, residual) in parts(f"{temp}/begin").items():
        assert (joined(value, residual) == start[name]).all(), f"{name}: the export is not what its parts are"
    given = ("--weights", f"{temp}/begin.safetensors")
    whole = train("on", 1, "whole", *given)
    train("split", 1, "half", *given)
    found = parts(f"{temp}/half")
    assert len(found) == len(whole) and any(abs(residual).max() == 127 for _, residual in found.values())
    for name, (value, residual) in found.items():
        wanted = split(whole[name])
        assert (value == wanted[0]).all() and (residual == wanted[1]).all(), f"{name}: not the parts of its master"

    # From one program to the other: the checkpoint's values, in the other's form.
    shutil.copytree(f"{temp}/half", f"{temp}/to-whole")
    train("on", 2, "to-whole", "--resume")
    shutil.copytree(f"{temp}/whole", f"{temp}/to-half")
    train("split", 2, "to-half", "--resume")
    train("split", 2, "half", "--resume")
    losses = {name: [json.loads(line)["loss"] for line in open(f"{temp}/{name}.jsonl")] for name in ("to-half", "half")}
    assert losses["to-half"][-1] == losses["half"][-1], losses
    print(f"{len(found)} masters as their two parts, taken apart and joined as the formulas say")


main()
