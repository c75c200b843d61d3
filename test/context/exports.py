#!/usr/bin/env python3
"""exports.py MODELS FOLDER: real exports with positions on two ranks: one rank's losses and norms, and PyTorch's losses, over 20 steps. What reads all
positions otherwise, has no attention, or a length that ranks do not divide, is refused with its node."""
import json
import pathlib
import subprocess
import sys

from golden import check

models, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
out.mkdir(parents=True, exist_ok=True)
NAMES = ["gpt2", "llama", "bert"]
REFUSED = {"gpt2-dropout": ("(Dropout)", "reads all positions", "not available yet"), "vit": ("has 17 queries", "not available yet"),
           "resnet": ("no attention that is recognised", "not available yet")}


def do(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-3000:])


def adamw(name):
    trace = json.loads((models / name / "trace.json").read_text())
    return trace, trace["runs"].get("adamw") or next(iter(trace["runs"].values()))


def trained(name, ranks, *options):
    trace, run = adamw(name)
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
for name, words in REFUSED.items():
    done = subprocess.run(["kedge", "plan", str(models / name / "model.onnx"), *adamw(name)[1]["compile"], "--mesh", "context=2"], capture_output=True, text=True)
    assert done.returncode == 1 and all(word in done.stderr for word in words), (name, done.returncode, done.stderr)
print(f"{', '.join(NAMES)} with positions on two ranks as in PyTorch")
