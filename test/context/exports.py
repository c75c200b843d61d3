#!/usr/bin/env python3
"""exports.py MODELS FOLDER: real exports with positions on two ranks: one rank's losses and norms, and PyTorch's losses, over 20 steps."""
import json
import pathlib
import subprocess
import sys

from golden import check

models, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
out.mkdir(parents=True, exist_ok=True)
NAMES = ["gpt2", "llama"]


def do(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-3000:])


def trained(name, ranks, *options):
    trace = json.loads((models / name / "trace.json").read_text())
    run = trace["runs"]["adamw"]
    program, log = out / f"{name}-{ranks}", out / "log.jsonl"
    do("kedge", "compile", models / name / "model.onnx", *run["compile"], *options, "-o", program)
    launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", ranks] if ranks > 1 else []
    data = [word for key, file in trace["data"].items() for word in ("--data", f"{key}={models / name / file}")]
    options = ["20" if before == "--steps" else word for before, word in zip(["", *run["run"]], run["run"])]
    do(*launcher, program, *data, *options, "--threads", 1, "--log", log)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return ([line["loss"] for line in lines], [line["grad_norm"] for line in lines]), run["loss"][:20]


for name in NAMES:
    one, _ = trained(name, 1)
    two, loss = trained(name, 2, "--mesh", "context=2")
    check(two, one, name)
    assert max(abs(own - other) / other for own, other in zip(two[0], loss)) < 2e-5, (name, two[0], loss)
print(f"{', '.join(NAMES)} with positions on two ranks as in PyTorch")
