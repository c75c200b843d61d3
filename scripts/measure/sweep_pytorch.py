#!/usr/bin/env python3
"""Trains PyTorch modules and Hugging Face families in PyTorch and as Kedge programs, and compares:
sweep_pytorch.py [--kedge build/release/bin/kedge] [--out build/sweep] [NAME...]

Each model (scripts/sweep/modules.py and families.py; tiny, random weights) is exported by torch.onnx.export, compiled with
--repair, and trained for six steps of SGD with momentum in fp32 on one batch. A line a model: the largest relative difference
of loss, or a tenth of that of the gradient's norm; more than 2e-5 is a difference. What PyTorch cannot export, lint refuses
or has no gradient is said. Needs torch, onnxscript and numpy; transformers for families.
"""
import argparse
import contextlib
import importlib
import io
import json
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import torch
import torch.nn.functional as F

LOSSES = {"mse": "mse", "ce": "cross-entropy"}
STEPS, RATE, MOMENTUM = 6, 0.02, 0.9


def loss_of(kind, out, labels):
    if kind == "mse":
        return F.mse_loss(out, labels)
    if out.dim() == 3:  # classes come last
        out, labels = out.flatten(0, 1), labels.flatten()
    return F.cross_entropy(out, labels)


def perturbed(module, scale=0.02, seed=5):
    """A fresh model has many equal parameters, which exporters merge; a trained one has none."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in module.parameters():
        parameter.data.add_(scale * torch.randn(parameter.shape, generator=generator))
    return module


def export(case, folder):
    path = folder / "model.onnx"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        torch.onnx.export(case.module.eval(), tuple(case.inputs.values()), dynamo=True, optimize=case.optimize,
                          input_names=list(case.inputs), output_names=["out"]).save(str(path))
    return path


def problem(done):
    lines = done.stderr.strip().splitlines()
    return " | ".join([line for line in lines if line.startswith("error[")] or lines[-1:])


def kedge_steps(kedge, case, folder):
    """The program's log, or a message."""
    path = export(case, folder)
    shapes, data = [], []
    for name, value in {**case.inputs, "labels": case.labels}.items():
        np.save(folder / f"{name}.npy", value.numpy())
        data += ["--data", f"{name}={folder / name}.npy"]
        if name != "labels":
            shapes += ["--shape", f"{name}={'x'.join(map(str, value.shape))}"]
    words = ["--loss", LOSSES[case.loss], "--logits", "out", "--optimizer", "sgd", "--momentum", str(MOMENTUM), "--repair"]
    words += ["--train-mode"] if case.train_mode else []
    done = subprocess.run([kedge, "compile", path, *shapes, *words, "-o", folder / "program"], capture_output=True, text=True)
    if done.returncode:
        return None, f"not compiled: {problem(done)}"
    done = subprocess.run([folder / "program", *data, "--steps", str(STEPS), "--lr", str(RATE), "--log", folder / "log.jsonl"],
                          capture_output=True, text=True)
    if done.returncode:
        return None, f"not run: {problem(done)}"
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()], ""


def largest_difference(case, log):
    module = case.module.train(case.train_mode)
    optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], lr=RATE, momentum=MOMENTUM)
    worst = 0
    for line in log:
        optimizer.zero_grad()
        loss = loss_of(case.loss, module(*case.inputs.values()), case.labels)
        loss.backward()
        norm = sum((p.grad.double() ** 2).sum() for p in module.parameters() if p.grad is not None).sqrt().item()
        optimizer.step()
        worst = max(worst, abs(line["loss"] - loss.item()) / max(abs(loss.item()), 1e-3),
                    0.1 * abs(line["grad_norm"] - norm) / max(norm, 1e-3))
    return worst


def judge(kedge, build, folder):
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    case = build()
    case.module = perturbed(case.module)
    try:
        log, message = kedge_steps(kedge, case, folder)
    except Exception as error:  # exporters fail in many ways
        return f"not exported: {type(error).__name__}"
    if log is None:
        return message
    worst = largest_difference(case, log)
    return f"{'as in PyTorch' if worst <= 2e-5 else 'DIFFERS'}: {worst:.1e}"


def cases():
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    found = dict(importlib.import_module("sweep.modules").CASES)
    try:
        found.update(importlib.import_module("sweep.families").CASES)
    except ImportError as error:
        print(f"no families: {error}", file=sys.stderr)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kedge", type=pathlib.Path, default="build/release/bin/kedge")
    parser.add_argument("--out", type=pathlib.Path, default="build/sweep")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    found, verdicts = cases(), []
    for name in options.names or found:
        verdicts.append(judge(options.kedge.resolve(), found[name], options.out.resolve() / name))
        print(f"{name:20s} {verdicts[-1]}", flush=True)
    same, different = (sum(v.startswith(word) for v in verdicts) for word in ("as in", "DIFFERS"))
    print(f"{len(verdicts)} models: {same} as in PyTorch, {different} differ, {len(verdicts) - same - different} were not trained")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
