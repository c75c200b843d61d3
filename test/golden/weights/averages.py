#!/usr/bin/env python3
"""Moving averages of weights: averages.py GOLDEN TEMP RANKS [OPTION...]

Trains the golden model gpt with --ema 0.9 and a checkpoint a step. The averages, followed by numpy from the weights of the
checkpoints, are those of --export-ema; --eval-ema has the loss of a program that starts from the exported averages; the weights
and losses are those of the same program evaluated without it; a run resumed half-way ends with the same bits.
"""
import json
import os
import shutil
import struct
import subprocess
import sys

import numpy as np

STEPS, DECAY = 6, 0.9


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def tensors(path):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, facts in json.loads(data[8:8 + length]).items():
        if name != "__metadata__" and facts["dtype"] in ("F32", "BF16"):
            begin, end = facts["data_offsets"]
            part = data[8 + length + begin:8 + length + end]
            found[name] = (np.frombuffer(part, np.float32) if facts["dtype"] == "F32" else
                           (np.frombuffer(part, np.uint16).astype(np.uint32) << 16).view(np.float32))
    return found


def rounding(options):
    """Of exported averages, and of the weights that numpy averages, by the average size of these: bf16 rounds by 2^-8 at most, masters in two
    parts by a 254th of it."""
    return 2 * {"split": 2**-8 / 254, "off": 2**-8}[options[-1]] if "--master-weights" in options else 0


def main():
    golden, temp, ranks, *options = sys.argv[1:]
    shutil.rmtree(temp, ignore_errors=True)
    os.makedirs(temp)
    rows = 4 // int(ranks)
    program = f"{temp}/program"
    compile_ = ["kedge", "compile", f"{golden}/model.onnx", "--loss", "cross-entropy", "--shape", f"input_ids={rows}x24", "--ranks",
                ranks, "-o", program, *options]
    launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", ranks] if ranks != "1" else []
    both = [f"input_ids={golden}/input_ids.npy", f"labels={golden}/labels.npy"]
    data = [word for pair in both for word in ("--data", pair)] + ["--lr", "3e-3", "--threads", "1"]
    evaluated = [word for pair in both for word in ("--eval-data", pair)]
    run(*compile_, "--ema", str(DECAY))

    def train(name, steps, *more):
        run(*launcher, program, *data, "--steps", str(steps), "--checkpoint-dir", f"{temp}/{name}", "--checkpoint-every", "1", "--keep",
            str(STEPS + 1), "--export-safetensors", f"{temp}/{name}.safetensors", "--log", f"{temp}/{name}.jsonl", *more)
        return [json.loads(line) for line in open(f"{temp}/{name}.jsonl")]

    averaged = train("averaged", STEPS, *evaluated, "--eval-every", "1", "--eval-ema", "--export-ema")
    plain = train("plain", STEPS)
    assert [line["loss"] for line in averaged] == [line["loss"] for line in plain], "--eval-ema changes what is trained"
    train("halves", STEPS // 2)
    train("halves", STEPS, "--resume", "--export-ema")
    found = tensors(f"{temp}/averaged.safetensors")
    again = tensors(f"{temp}/halves.safetensors")
    assert found.keys() == again.keys() and all((found[n] == again[n]).all() for n in found), "resumed: other averages"

    run(*launcher, program, *data, "--steps", "0", "--export-safetensors", f"{temp}/start.safetensors")
    weights = tensors(f"{temp}/plain.safetensors")
    expected = {name: value.astype(np.float64) for name, value in tensors(f"{temp}/start.safetensors").items()}
    sizes = {name: abs(value) for name, value in expected.items()}
    for step in range(1, STEPS + 1):
        train("plain-%d" % step, step)
        for name, value in tensors(f"{temp}/plain-{step}.safetensors").items():
            expected[name] = DECAY * expected[name] + (1 - DECAY) * value
            sizes[name] = DECAY * sizes[name] + (1 - DECAY) * abs(value)
    worst = max((abs(found[name] - expected[name]) - rounding(options) * sizes[name]).max() for name in expected)
    moved = max(abs(found[name] - weights[name]).max() for name in weights)
    assert worst < 1e-6 < 1e-4 < moved, (worst, moved)

    run(*compile_)
    said = run(*launcher, program, *evaluated, "--weights", f"{temp}/averaged.safetensors", "--steps", "0", "--threads", "1")
    loss = float(next(line for line in said.splitlines() if line.startswith("eval loss")).split()[-1])
    assert loss == averaged[-1]["eval_loss"], (loss, averaged[-1]["eval_loss"])
    print(f"averages of {len(found)} tensors followed for {STEPS} steps, exported, evaluated, resumed")


main()
