#!/usr/bin/env python3
"""Losses with optimizer state in few bits against those in fp32: moments.py MODELS STEPS ORDERS MODEL...

Trains golden models of MODELS in bf16 for STEPS steps with AdamW: with moments in int8 and bf16, with adamw8bit, with masters in two
parts, and with fp32 masters and moments. Each run is repeated with ORDERS orders of the rows: the file's, and those of --shuffle 1, 2
and so on. "one unit" is the run with fp32 masters and moments again, its first weights moved by at most one unit in the last place: how far
such a run is from itself. Prints the relative distance of each run's losses from those of fp32: the largest over a run's steps and the mean over
them, each from the least to the largest of all orders.
"""
import array
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

PLAIN = "fp32"
RUNS = {PLAIN: [], "int8": ["--moments", "int8"], "bf16": ["--moments", "bf16"], "adamw8bit": ["--optimizer", "adamw8bit"],
        "split masters": ["--master-weights", "split"], "one unit": []}


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


def moved(program, data, file):
    """The first weights, each moved by -1, 0 or 1 unit in the last place."""
    run(program, *data, "--steps", "0", "--export-safetensors", file)
    raw = bytearray(open(file, "rb").read())
    begin = 8 + struct.unpack("<Q", raw[:8])[0]
    random.seed(0)
    for name, facts in json.loads(raw[8:begin]).items():
        if name != "__metadata__" and facts["dtype"] == "F32":
            low, high = (begin + at for at in facts["data_offsets"])
            raw[low:high] = array.array("i", [bits + random.randint(-1, 1) if bits else 0 for bits in array.array("i", raw[low:high])]).tobytes()
    open(file, "wb").write(raw)
    return ["--weights", file]


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
                data += moved(program, data, program + ".safetensors") if name == "one unit" else []
                logs = [losses(program, data, steps, order) for order in range(int(orders))]
                plain = plain or logs
                gaps = [[abs(a - b) / abs(b) for a, b in zip(log, exact, strict=True)] for log, exact in zip(logs, plain)]
                largest, means = [max(gap) for gap in gaps], [sum(gap) / len(gap) for gap in gaps]
                if name != PLAIN:
                    print(f"  {name}: largest {min(largest):.1e} to {max(largest):.1e} (the file's order {largest[0]:.1e}), "
                          f"mean {min(means):.1e} to {max(means):.1e}", flush=True)


main()
