#!/usr/bin/env python3
"""Regenerates preferences/traces.json: what PyTorch does with the golden model gpt under losses over rows of tokens, by TRL's formulas.

Needs torch and onnx from PyPI. A run a loss: the log's numbers of each step. Rows are those of gpt, the first third of each a
prompt that does not count. The reference is the model that a run begins with.
"""
import json
import sys

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from make import GPT, HERE

BATCH, STEPS, LR = 4, 20, 1e-3


def loaded():
    model = GPT()
    values = {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy()) for t in onnx.load(HERE / "gpt" / "model.onnx").graph.initializer}
    for name, parameter in model.named_parameters():
        parameter.data = values[name].reshape(parameter.shape)
    return model


def numbers(name):
    return np.load(HERE / "gpt" / f"{name}.npy")


def inputs():
    """All rows of each input, by name."""
    draw = np.random.default_rng(11)
    tokens, labels = numbers("input_ids"), numbers("labels").copy()
    mask = (np.arange(tokens.shape[1]) >= tokens.shape[1] // 3).astype(np.float32) * np.ones_like(tokens, np.float32)
    labels[::5, -4:] = -100  # shorter rows
    good = draw.integers(0, 2, len(tokens))
    good[3::4] = -1
    return {"input_ids": tokens, "labels": labels, "loss_mask": mask, "good": good,
            "advantages": draw.normal(size=tokens.shape).astype(np.float32), "noise": draw.normal(0, 0.3, tokens.shape).astype(np.float32)}


def logs_of(model, tokens, labels, mask):
    losses = F.cross_entropy(model(tokens).flatten(0, 1), labels.flatten(), reduction="none").view(labels.shape)
    counted = mask * (labels != -100)
    return -losses * counted, counted, losses


def logistic(margin, beta, gamma=0.0):
    return -F.logsigmoid(beta * margin - gamma), beta * margin


def pairs(rows):
    return rows[0::2], rows[1::2]


def of_pairs(losses, margin, more=0):
    return losses.mean() + more, {"margin": margin.mean().item(), "accuracy": (margin > 0).float().mean().item()}


def dpo(d):
    chosen, rejected = pairs(d["logs"].sum(1) - d["ref"].sum(1))
    return of_pairs(*logistic(chosen - rejected, 0.1))


def ipo(d):
    chosen, rejected = pairs((d["logs"].sum(1) - d["ref"].sum(1)) / d["counted"].sum(1))
    return of_pairs((chosen - rejected - 1 / (2 * 0.1)) ** 2, 0.1 * (chosen - rejected))


def orpo(d):
    chosen, rejected = pairs(d["logs"].sum(1) / d["counted"].sum(1))
    odds = chosen - rejected - torch.log1p(-chosen.exp()) + torch.log1p(-rejected.exp())
    known = (d["labels"] != -100)[0::2]
    return of_pairs(-0.1 * F.logsigmoid(odds), 0.1 * (chosen - rejected), d["losses"][0::2].sum() / known.sum())


def simpo(d):
    chosen, rejected = pairs(d["logs"].sum(1) / d["counted"].sum(1))
    return of_pairs(*logistic(chosen - rejected, 2, 1))


def kto(d):
    ratios, good = d["logs"].sum(1) - d["ref"].sum(1), d["good"]
    kl = ratios[good == -1].mean().clamp(min=0).detach()
    right = torch.cat([0.1 * (ratios[good == 1] - kl), 0.1 * (kl - ratios[good == 0])])
    return (1 - torch.sigmoid(right)).mean(), {"margin": right.mean().item(), "accuracy": (right > 0).float().mean().item(), "kl": kl.item()}


def policy(low, high, beta, by_row):
    def loss(d):
        ratios, counted = torch.exp(d["logs"] - d["old"] * d["counted"]), d["counted"]
        free, bound = ratios * d["advantages"], ratios.clamp(1 - low, 1 + high) * d["advantages"]
        ahead = d["ref"] - d["logs"]
        divergence = torch.exp(ahead) - ahead - 1
        losses = -torch.min(free, bound) + beta * divergence
        mean = (lambda x: ((x * counted).sum(1) / counted.sum(1)).mean()) if by_row else (lambda x: (x * counted).sum() / counted.sum())
        said = {"clipped": mean((free > bound).float()).item()} | ({"kl": mean(divergence).item()} if beta else {})
        return mean(losses), said
    return loss


# Loss as --loss has it -> formula, inputs beside tokens, labels and mask.
RUNS = {
    "dpo": (dpo, ["ref_logps"]),
    "ipo": (ipo, ["ref_logps"]),
    "orpo": (orpo, []),
    "simpo:beta=2,gamma=1": (simpo, []),
    "kto": (kto, ["ref_logps", "good"]),
    "grpo:beta=0.04": (policy(0.2, 0.2, 0.04, True), ["ref_logps", "old_logps", "advantages"]),
    "ppo-clip": (policy(0.2, 0.2, 0, False), ["old_logps", "advantages"]),
    "dapo": (policy(0.2, 0.28, 0, False), ["old_logps", "advantages"]),
}


def train(formula, data, reference):
    model = loaded()
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=0)
    steps = []
    for s in range(STEPS):
        rows = [(s * BATCH + i) % len(data["input_ids"]) for i in range(BATCH)]
        batch = {name: torch.from_numpy(value[rows]) for name, value in data.items()}
        optimizer.zero_grad()
        logs, counted, losses = logs_of(model, batch["input_ids"], batch["labels"], batch["loss_mask"])
        ref = reference[rows]
        loss, said = formula(batch | {"logs": logs, "counted": counted, "losses": losses, "ref": ref, "old": ref + batch["noise"]})
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
        optimizer.step()
        steps.append({"loss": loss.item(), "grad_norm": norm.item(), **said})
    return steps


def main():
    data = inputs()
    with torch.no_grad():
        reference = logs_of(loaded(), *(torch.from_numpy(data[name]) for name in ("input_ids", "labels", "loss_mask")))[0]
    folder = HERE / "preferences"
    folder.mkdir(exist_ok=True)
    np.savez_compressed(folder / "inputs.npz", **{name: value for name, value in data.items() if name != "input_ids"})
    runs = {name: {"inputs": more, "steps": train(formula, data, reference)} for name, (formula, more) in RUNS.items()}
    everything = {"compile": ["--shape", f"input_ids={BATCH}x24", "--optimizer", "adamw"],
                  "run": ["--lr", str(LR), "--betas", "0.9,0.999", "--weight-decay", "0"],
                  "logps": reference.sum(1).tolist(), "runs": runs}
    (folder / "traces.json").write_text(json.dumps(everything, indent=1) + "\n")
    for name, run in runs.items():
        print(name, run["steps"][0], "->", run["steps"][-1], file=sys.stderr)


if __name__ == "__main__":
    main()
