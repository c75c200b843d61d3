#!/usr/bin/env python3
"""Trains a variational autoencoder with several seeds: vae.py FOLDER OUT. Its mean loss is PyTorch's with other noise.

Also: the noise of a seed is the same twice, of another seed another; evaluation is refused, and draws it where it is allowed to.
"""
import json
import math
import pathlib
import statistics
import subprocess
import sys

folder, out = map(pathlib.Path, sys.argv[1:3])
out.mkdir(parents=True, exist_ok=True)
program, log = out / "program", out / "log.jsonl"
reference = json.loads((folder / "reference.json").read_text())


def compiled(*words):
    subprocess.run(["kedge", "compile", folder / "model.onnx", "--shape", "input=16x10", "--loss-output", "loss", "--optimizer", "adam",
                    "--train-mode", *words, "-o", program], check=True)


def losses(seed, steps, *words):
    subprocess.run([program, "--data", f"input={folder / 'input.npy'}", "--steps", str(steps), "--lr", "0.01", "--seed", str(seed),
                    "--log", log, *words], check=True, stderr=subprocess.DEVNULL)
    return [json.loads(line) for line in log.read_text().splitlines()]


compiled()
data = f"input={folder / 'input.npy'}"
refused = subprocess.run([program, "--data", data, "--eval-data", data, "--steps", "1"], capture_output=True, text=True)
assert refused.returncode == 1 and "--allow random-evaluation" in refused.stderr, refused

compiled("--allow", "random-evaluation")
found = []
for seed in range(8):
    run = [line["loss"] for line in losses(seed, reference["steps"])]
    found.append(statistics.mean(run[-reference["last"]:]))
wanted = reference["losses"]
error = math.hypot(statistics.stdev(found) / math.sqrt(len(found)), statistics.stdev(wanted) / math.sqrt(len(wanted)))
gap = statistics.mean(found) - statistics.mean(wanted)
assert abs(gap) < 4 * error, (found, wanted)

first, again, other = (losses(seed, 3)[0]["loss"] for seed in (1, 1, 2))
assert first == again != other, (first, again, other)
evaluated = losses(1, 1, "--eval-data", f"input={folder / 'input.npy'}")[0]["eval_loss"]
assert math.isfinite(evaluated)
print(f"mean loss {statistics.mean(found):.4f}, PyTorch's {statistics.mean(wanted):.4f}, error of the means {error:.4f}")
