"""Parameters that the file stores in 16 bits: masters, moments and running statistics in fp32."""
import copy

import torch
from torch import nn

from making import adamw, case, classes, export, norms, record, sgd, train

BF16, FP16 = torch.bfloat16, torch.float16


class Body(nn.Module):
    """In one type, or with norm and head in fp32."""

    def __init__(self):
        super().__init__()
        self.embed, self.norm, self.mix, self.head = nn.Linear(6, 24), nn.LayerNorm(24), nn.Linear(24, 24), nn.Linear(24, 3, bias=False)

    def forward(self, x):
        z = torch.tanh(self.embed(x.to(self.embed.weight.dtype)))
        z = z + self.mix(self.norm(z.to(self.norm.weight.dtype)).to(self.mix.weight.dtype))
        return self.head(z.to(self.head.weight.dtype)).float()


class Statistics(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.head = nn.Linear(6, 8), nn.BatchNorm1d(8, momentum=0.01), nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.norm(self.first(x.to(self.first.weight.dtype))).relu()).float()


def stored(folder, model, kind, options=(), names=("embed.weight", "mix.bias", "head.weight"), wide=(), relative=0.04, steps=60, rate=1e-5, ranks=1):
    model = model.train().to(kind)
    for name in wide:
        getattr(model, name).float()
    data = classes(7, (6,), 3, 240, shift=0.5)
    export(model, (torch.from_numpy(data["x"][:4 // ranks]),), folder)
    masters = copy.deepcopy(model).float()
    losses, trained = train(masters, data, 4, steps, "cross-entropy", adamw(rate))
    record(folder, f"parameters stored in {kind} move as fp32 masters do ({' '.join(options) or 'no precision asked for'})",
           {"loss": losses, "relative": relative, "weights": norms(trained, masters, names), "weights_relative": relative},
           compile=["--loss", "cross-entropy", "--lr", str(rate), "--weight-decay", "0", *options], run=["--steps", str(steps)], data=data, ranks=ranks)


@case
def stored_bf16(folder):
    stored(folder, Body(), BF16)


@case
def stored_bf16_partly(folder):
    stored(folder, Body(), BF16, wide=["norm", "head"])


@case
def stored_bf16_autocast(folder):
    stored(folder, Body(), BF16, ["--precision", "bf16", "--precision-policy", "autocast"], wide=["head"])


@case
def stored_fp16_scaled(folder):
    stored(folder, Body(), FP16, ["--precision", "fp16", "--loss-scale", "1024"], wide=["norm"])


@case
def stored_bf16_in_fp16(folder):
    stored(folder, Body(), BF16, ["--precision", "fp16", "--loss-scale", "1024"])


@case
def stored_statistics(folder):
    stored(folder, Statistics(), BF16, ["--train-mode"], names=["norm.running_mean", "norm.running_var", "head.weight"])


@case
def stored_ranks(folder):
    stored(folder, Body(), BF16, ["--ranks", "2", "--zero", "2"], ranks=2)
