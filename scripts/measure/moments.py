#!/usr/bin/env python3
"""Losses with optimizer state in few bits against those in fp32: moments.py MODELS STEPS ORDERS MODEL...

Trains golden models of MODELS in bf16 for STEPS steps with AdamW: with moments in int8 and bf16, with adamw8bit, with masters in two
parts, and with fp32 masters and moments. Each run is repeated with ORDERS orders of the rows: the file's, and those of --shuffle 1, 2
and so on. Prints the relative distance of each run's losses from those of fp32: the largest over a run's steps and the mean over
them, each from the least to the largest of all orders.
"""
import json
import os
import subprocess
import sys
import tempfile

PLAIN = "fp32"
RUNS = {PLAIN: [], "int8": ["--moments", "int8"], "bf16": ["--moments", "bf16"], "adamw8bit": ["--optimizer", "adamw8bit"],
        "split masters": ["--master-weights", "split"]}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def compiled(folder, program, options):
    trace = json.load(open(f"{folder}/trace.json"))
    facts = next(iter(trace["runs"].values())) if "runs" in trace else trace
    compile_ = facts["compile"].split() if isinstance(facts["compile"], str) else list(facts["compile"])
    for flag in ("--optimizer", "--precision", "--clip-norm"):
        if flag in compile_:
            at = compile_.index(flag)
            del compile_[at:at + 2]
    run("kedge", "compile", f"{folder}/model.onnx", *compile_, "--precision", "bf16", *options, "-o", program)
    return [word for name, file in trace["data"].items() for word in ("--data", f"{name}={folder}/{file}")]


def losses(program, data, steps, order):
    shuffle = ["--shuffle", str(order)] if order else []
    run(program, *data, *shuffle, "--steps", steps, "--lr", "1e-3", "--log", program + ".jsonl")
    return [json.loads(line)["loss"] for line in open(program + ".jsonl")]


def main():
    models, steps, orders, *names = sys.argv[1:]
    for model in names:
        print(f"{model}, {steps} steps, {orders} orders of rows")
        with tempfile.TemporaryDirectory() as temp:
            plain = []
            for name, options in RUNS.items():
                program = f"{temp}/{name.replace(' ', '-')}"
                data = compiled(os.path.join(models, model), program, options)
                logs = [losses(program, data, steps, order) for order in range(int(orders))]
                plain = plain or logs
                gaps = [[abs(a - b) / abs(b) for a, b in zip(log, exact, strict=True)] for log, exact in zip(logs, plain)]
                largest, means = [max(gap) for gap in gaps], [sum(gap) / len(gap) for gap in gaps]
                if name != PLAIN:
                    print(f"  {name}: largest {min(largest):.1e} to {max(largest):.1e} (the file's order {largest[0]:.1e}), "
                          f"mean {min(means):.1e} to {max(means):.1e}", flush=True)


main()
