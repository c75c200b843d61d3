#!/usr/bin/env python3
"""Losses with moments in few bits against those with moments in fp32: moments.py MODELS STEPS MODEL...

Trains golden models of MODELS in bf16 for STEPS steps with AdamW, with moments in int8 and bf16, and with adamw8bit. Prints the largest
relative distance of each run's losses from those with fp32 moments.
"""
import json
import os
import subprocess
import sys
import tempfile

RUNS = {"plain": [], "int8": ["--moments", "int8"], "bf16": ["--moments", "bf16"], "adamw8bit": ["--optimizer", "adamw8bit"]}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def losses(folder, temp, steps, options):
    trace = json.load(open(f"{folder}/trace.json"))
    facts = next(iter(trace["runs"].values())) if "runs" in trace else trace
    compile_ = facts["compile"].split() if isinstance(facts["compile"], str) else facts["compile"]
    for flag in ("--optimizer", "--precision", "--clip-norm"):
        if flag in compile_:
            at = compile_.index(flag)
            del compile_[at:at + 2]
    run("kedge", "compile", f"{folder}/model.onnx", *compile_, "--precision", "bf16", *options, "-o", f"{temp}/program")
    data = [word for name, file in trace["data"].items() for word in ("--data", f"{name}={folder}/{file}")]
    run(f"{temp}/program", *data, "--steps", str(steps), "--lr", "1e-3", "--log", f"{temp}/log")
    return [json.loads(line)["loss"] for line in open(f"{temp}/log")]


def main():
    models, steps, *names = sys.argv[1:]
    for name in names:
        with tempfile.TemporaryDirectory() as temp:
            found = {run_: losses(os.path.join(models, name), temp, steps, options) for run_, options in RUNS.items()}
        far = {run_: max(abs(a - b) / abs(b) for a, b in zip(log, found["plain"], strict=True)) for run_, log in found.items()}
        print(name, f"{steps} steps, loss {found['plain'][0]:.4f} to {found['plain'][-1]:.4f}:",
              *(f"{run_} {distance:.1e}" for run_, distance in far.items() if run_ != "plain"), flush=True)


main()
