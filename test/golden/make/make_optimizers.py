#!/usr/bin/env python3
"""Regenerates optimizers.json: what torch.optim's, bitsandbytes' and their authors' optimizers do with the golden model gpt.

Needs torch, onnx, transformers, bitsandbytes, timm, schedulefree, prodigyopt, pytorch_optimizer, galore-torch and apollo-torch from PyPI. A run an optimizer: the options of compiler and
program, loss and gradient norm of each step, parameter norms at the end. Also few_bits: weights in 4 bits as bitsandbytes' CPU backend makes
them. `make_optimizers.py RUN...` regenerates these runs alone.
"""
import json
import math
import pathlib
import sys

import apollo_torch
import bitsandbytes as bnb
import bitsandbytes.functional as bits
import galore_torch
import numpy as np
import onnx
import prodigyopt
import pytorch_optimizer
import schedulefree
import timm.optim
import torch
from make import GPT, HERE, losses

BATCH, STEPS, MANY = 4, 12, 50
MUON = ("qkv.weight", "proj.weight", "up.weight", "down.weight")


def loaded():
    model = GPT()
    values = {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy()) for t in onnx.load(HERE / "gpt" / "model.onnx").graph.initializer}
    for name, parameter in model.named_parameters():
        parameter.data = values[name].reshape(parameter.shape)
    return model


def muon(parameters, lr, weight_decay):
    matrices = [p for n, p in parameters if n.endswith(MUON)]
    rest = [p for n, p in parameters if not n.endswith(MUON)]
    return [torch.optim.Muon(matrices, lr=lr, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(rest, lr=lr, weight_decay=weight_decay)]


def normuon(parameters, lr):
    matrices = [p for n, p in parameters if n.endswith(MUON)]
    rest = [p for n, p in parameters if not n.endswith(MUON)]
    return [pytorch_optimizer.NorMuon([{"params": matrices, "lr": lr, "use_muon": True, "use_adjusted_lr": True},
                                       {"params": rest, "lr": lr, "betas": (0.9, 0.95), "eps": 1e-10, "use_muon": False}])]


class CautiousDecay(torch.optim.Optimizer):
    """AdamW with the decay of Chen et al. (2025), algorithm 1: where a weight has the sign of its update."""

    def __init__(self, params, lr, weight_decay):
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "t": 0})

    @torch.no_grad()
    def step(self):
        group = self.param_groups[0]
        group["t"] += 1
        for p in group["params"]:
            state = self.state[p]
            m, v = state.setdefault("m", torch.zeros_like(p)), state.setdefault("v", torch.zeros_like(p))
            m.lerp_(p.grad, 0.1)
            v.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
            update = (m / (1 - 0.9**group["t"])) / ((v / (1 - 0.999**group["t"])).sqrt() + 1e-8)
            p.sub_(group["lr"] * (update + group["weight_decay"] * (update * p >= 0) * p))


class Soap(torch.optim.Optimizer):
    """Vyas et al. (2024), algorithm 3, as the authors' code runs it for matrices: the first step only begins the preconditioner, and a new
    basis serves from the next step on. In f64, so that a difference is the program's."""

    def __init__(self, params, lr, betas, eps, weight_decay, frequency):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "frequency": frequency})

    @staticmethod
    def products(gradient):
        return [gradient @ gradient.T, gradient.T @ gradient]

    @torch.no_grad()
    def step(self):
        group = self.param_groups[0]
        (beta1, beta2), lr = group["betas"], group["lr"]
        for p in group["params"]:
            state, g = self.state[p], p.grad.double()
            if not state:
                state.update(k=0, m=torch.zeros_like(g), v=torch.zeros_like(g), means=[(1 - beta2) * one for one in self.products(g)])
                state["bases"] = [torch.linalg.eigh(one)[1].flip(1) for one in state["means"]]
                continue
            state["k"] += 1
            left, right = state["bases"]
            state["m"] = beta1 * state["m"] + (1 - beta1) * left.T @ g @ right  # in the basis at hand
            state["v"] = beta2 * state["v"] + (1 - beta2) * (left.T @ g @ right) ** 2
            size = lr * (1 - beta2 ** state["k"]) ** 0.5 / (1 - beta1 ** state["k"])
            p.sub_((size * left @ (state["m"] / (state["v"].sqrt() + group["eps"])) @ right.T).float())
            p.mul_(1 - lr * group["weight_decay"])
            outside = left @ state["m"] @ right.T
            for mean, one in zip(state["means"], self.products(g)):
                mean.lerp_(one, 1 - beta2)
            if state["k"] % group["frequency"] == 0:
                self.refresh(state)
            left, right = state["bases"]
            state["m"] = left.T @ outside @ right

    @staticmethod
    def refresh(state):
        for side, (mean, basis) in enumerate(zip(state["means"], state["bases"])):
            order = torch.argsort(torch.diag(basis.T @ mean @ basis), descending=True, stable=True)
            state["v"] = state["v"].index_select(side, order)
            state["bases"][side] = torch.linalg.qr(mean @ basis[:, order])[0]


def soap(parameters, lr):
    square = [p for n, p in parameters if n.endswith("proj.weight")]  # of others no gradient has the rank that tells all eigenvectors
    rest = [p for n, p in parameters if not n.endswith("proj.weight")]
    # An eps that is more than rounding: at first the direction of each element is the sign of g in the basis, also where g is rounding alone.
    return [Soap(square, lr, (0.95, 0.95), 1e-2, 0.01, 5), torch.optim.AdamW(rest, lr=lr, betas=(0.95, 0.95), eps=1e-2, weight_decay=0.01)]


class Adam4bit(torch.optim.Optimizer):
    """AdamW with moments as torchao's OptimState4bit holds them: magnitudes of blocks, codes of the nearest number, the upper of two."""

    MAPS = {True: [-0.8875, -0.6625, -0.4375, -0.2125, -0.0775, -0.0325, -0.0055, 0, 0.0055, 0.0325, 0.0775, 0.2125, 0.4375, 0.6625, 0.8875, 1],
            False: [(code + 1) / 16 for code in range(16)]}

    def __init__(self, params, lr, weight_decay):
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "t": 0})

    @classmethod
    def rounded(cls, x, signed):
        if x.numel() < 4096 or x.numel() % 128:
            return x
        blocks, numbers = x.reshape(-1, 128), torch.tensor(cls.MAPS[signed])
        scale = blocks.abs().amax(1, keepdim=True).clip(1e-12)
        share = blocks / scale
        code = (torch.searchsorted(numbers, share.contiguous(), right=True) - 1).clip(0, 15)
        above = numbers[(code + 1).clip(max=15)]
        up = share - numbers[code] >= (above - numbers[code]) * 0.5
        return (torch.where(up, above, numbers[code]) * scale).reshape(x.shape)

    @torch.no_grad()
    def step(self):
        group = self.param_groups[0]
        group["t"] += 1
        for p in group["params"]:
            state = self.state[p]
            m = state.get("m", torch.zeros_like(p)).lerp(p.grad, 0.1)
            v = state.get("v", torch.zeros_like(p)).lerp(p.grad.square(), 0.001)
            state["m"], state["v"] = self.rounded(m, True), self.rounded(v, False)
            p.mul_(1 - group["lr"] * group["weight_decay"])
            p.sub_(group["lr"] * (m / (1 - 0.9**group["t"])) / ((v / (1 - 0.999**group["t"])).sqrt() + 1e-8))


def matrices_and_rest(parameters):
    return [p for n, p in parameters if n.endswith(MUON)], [p for n, p in parameters if not n.endswith(MUON)]


def projected(package, parameters, lr, group):
    """Their AdamW for matrices, torch's for the rest, as the program has it."""
    matrices, rest = matrices_and_rest(parameters)
    return [package([{"params": matrices, "proj_type": "std", **group}], lr=lr, weight_decay=0.1, no_deprecation_warning=True),
            torch.optim.AdamW(rest, lr=lr, eps=1e-6, weight_decay=0.1)]


def signed(directions, dim):
    """A singular vector may have either sign: its largest element is not negative."""
    largest = directions.gather(dim, directions.abs().argmax(dim, keepdim=True))
    return directions * torch.where(largest < 0, -1.0, 1.0)


def galore(parameters, lr):
    def orthogonal(self, weights, rank, type):
        u, _, v = torch.linalg.svd(weights.double(), full_matrices=False)
        return signed(v[:rank].float(), 1) if type == "right" else signed(u[:, :rank].float(), 0)

    galore_torch.galore_projector.GaLoreProjector.get_orthogonal_matrix = orthogonal
    return projected(galore_torch.GaLoreAdamW, parameters, lr, {"rank": 8, "update_proj_gap": 20, "scale": 0.25})


def philox(key, step, count, seed=0):
    """Uniform numbers 0 to count of the program's generator (runtime/format/Philox.h)."""
    blocks, low = -(-count // 4), np.uint64(0xFFFFFFFF)
    words = [np.arange(blocks, dtype=np.uint64), np.zeros(blocks, np.uint64), np.full(blocks, step, np.uint64), np.zeros(blocks, np.uint64)]
    one, other = np.uint64(seed), np.uint64(key)
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * words[0], np.uint64(0xCD9E8D57) * words[2]
        words = [(b >> np.uint64(32)) ^ words[1] ^ one, b & low, (a >> np.uint64(32)) ^ words[3] ^ other, a & low]
        one, other = (one + np.uint64(0x9E3779B9)) & low, (other + np.uint64(0xBB67AE85)) & low
    return (np.stack(words, 1).reshape(-1)[:count] >> np.uint64(8)).astype(np.float64) * 2.0**-24


def normals(name, step, shape):
    """What the program draws for a parameter's projection."""
    key = 2166136261
    for letter in name.encode():
        key = (key ^ letter) * 16777619 & 0xFFFFFFFF
    drawn = philox(key >> 1, step, 2 * math.prod(shape)).reshape(*shape, 2)
    return torch.from_numpy(np.sqrt(-2 * np.log(1 - drawn[..., 0])) * np.cos(2 * math.pi * drawn[..., 1])).float()


def apollo(parameters, lr, scale_type, scale, rank):
    names = [None] + [n for n, _ in parameters if n.endswith(MUON)]  # by the seed that the package gives each

    def update(self, gradient, proj_type):
        self.name, self.drawn = getattr(self, "name", names[self.seed]), getattr(self, "drawn", -1) + 1
        side = gradient.shape[0 if proj_type == "left" else 1]
        basis = normals(self.name, self.drawn, (side, self.rank)) / math.sqrt(self.rank)
        self.ortho_matrix = basis if proj_type == "left" else basis.T

    apollo_torch.random_projector.GradientProjector.update_ortho_matrix = update
    group = {"rank": rank, "proj": "random", "update_proj_gap": 20, "scale": scale, "scale_type": scale_type}
    return projected(apollo_torch.APOLLOAdamW, parameters, lr, group)


# Name -> optimizers of named parameters, rate, further options, allowed relative difference.
RUNS = {
    "lion": (lambda p, lr: [bnb.optim.Lion([q for _, q in p], lr=lr, weight_decay=0.1)], 1e-3, ["--weight-decay", "0.1"], 2e-5),
    "rmsprop": (lambda p, lr: [torch.optim.RMSprop([q for _, q in p], lr=lr)], 1e-3, [], 2e-5),
    "rmsprop momentum": (lambda p, lr: [torch.optim.RMSprop([q for _, q in p], lr=lr, momentum=0.9, weight_decay=0.01)], 3e-4,
                         ["--momentum", "0.9", "--weight-decay", "0.01"], 2e-5),
    "adagrad": (lambda p, lr: [torch.optim.Adagrad([q for _, q in p], lr=lr, weight_decay=0.01)], 1e-2, ["--weight-decay", "0.01"], 2e-5),
    "adafactor": (lambda p, lr: [torch.optim.Adafactor([q for _, q in p], lr=lr, weight_decay=0.1)], 1e-2, ["--weight-decay", "0.1"], 2e-5),
    # Products in bf16 round where their sums are cut, which is each library's own.
    "muon": (lambda p, lr: muon(p, lr, 0.1), 3e-3, [], 2e-3),
    "adamw8bit": (lambda p, lr: [bnb.optim.AdamW8bit([q for _, q in p], lr=lr, weight_decay=0.1)], 3e-3, ["--weight-decay", "0.1"], 1e-4),
    "adopt": (lambda p, lr: [timm.optim.Adopt([q for _, q in p], lr=lr, weight_decay=0.1, decoupled=True, clip_exp=0.25)], 1e-3, ["--weight-decay", "0.1"], 1e-5),
    "adamw cautious updates": (lambda p, lr: [timm.optim.AdamWLegacy([q for _, q in p], lr=lr, weight_decay=0.1, caution=True)], 1e-4,
                               ["--weight-decay", "0.1", "--cautious", "updates"], 1e-5),
    "adamw cautious decay": (lambda p, lr: [CautiousDecay([q for _, q in p], lr=lr, weight_decay=0.5)], 1e-3,
                             ["--weight-decay", "0.5", "--cautious", "decay"], 1e-5),
    "schedule-free-adamw": (lambda p, lr: [schedulefree.AdamWScheduleFree([q for _, q in p], lr=lr, weight_decay=0.1, warmup_steps=10)], 2.5e-3,
                            ["--weight-decay", "0.1", "--warmup", "10"], 1e-5),
    "prodigy": (lambda p, lr: [prodigyopt.Prodigy([q for _, q in p], lr=lr, weight_decay=0.1)], 0.2, ["--weight-decay", "0.1"], 1e-5),
    "normuon": (normuon, 3e-3, [], 2e-3),
    "adamw int4": (lambda p, lr: [Adam4bit([q for _, q in p], lr=lr, weight_decay=0.1)], 1e-3, ["--weight-decay", "0.1", "--moments", "int4"], 1e-4),
    "galore": (galore, 1e-2, ["--weight-decay", "0.1", "--proj-rank", "8", "--update-proj-gap", "20"], 1e-5),
    "apollo": (lambda p, lr: apollo(p, lr, "channel", 1, 8), 1e-2, ["--weight-decay", "0.1", "--proj-rank", "8", "--update-proj-gap", "20"], 1e-5),
    "apollo tensor": (lambda p, lr: apollo(p, lr, "tensor", 16, 1), 1e-2, ["--weight-decay", "0.1", "--proj-rank", "1", "--proj-scale", "16", "--scale-type",
                                                                           "tensor", "--update-proj-gap", "20"], 1e-5),
    "soap": (soap, 3e-3, ["--muon", "proj.weight", "--precondition-frequency", "5", "--eps", "1e-2"], 5e-5),
}
LONG = list(RUNS)[list(RUNS).index("adopt"):]  # compared over more steps
# The basis turns with what rounds: after 22 steps the program is 8e-6 from the reference, after 50 4e-5, and norms of weights 2e-4.
SOAP_STEPS = 20


def train(make, lr, steps):
    model = loaded()
    inputs, labels = (torch.from_numpy(np.load(HERE / "gpt" / f"{n}.npy")).long() for n in ("input_ids", "labels"))
    optimizers = make(list(model.named_parameters()), lr)
    modes = [optimizer for optimizer in optimizers if hasattr(optimizer, "eval")]  # the weights that are evaluated are others
    for optimizer in modes:
        optimizer.train()
    run = {"loss": [], "grad_norm": []}
    for s in range(steps):
        rows = [(s * BATCH + i) % len(inputs) for i in range(BATCH)]
        model.zero_grad()
        loss = losses("cross-entropy", model(inputs[rows]), labels[rows])
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        run["loss"].append(loss.item())
        run["grad_norm"].append(norm.item())
    for optimizer in modes:
        optimizer.eval()
    run["norms"] = {n: p.detach().double().norm().item() for n, p in model.named_parameters() if not n.endswith("qkv.bias")}
    return run


def few_bits():
    """Codes (hexadecimal) and absmaxes of weights of the model."""
    named, found = dict(loaded().named_parameters()), {}
    for name, kind in (("blocks.0.proj.weight", "nf4"), ("blocks.1.proj.weight", "fp4")):
        codes, state = bits.quantize_4bit(named[name].data, quant_type=kind, blocksize=64)
        found[name] = {"format": kind, "table": bits.get_4bit_type(kind, device="cpu").tolist(), "codes": bytes(codes.flatten().tolist()).hex(),
                       "absmax": state.absmax.tolist()}
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    wanted = sys.argv[1:]
    record = json.loads((HERE / "optimizers.json").read_text()) if wanted else {"runs": {}}
    record.update(bitsandbytes=bnb.__version__, torch=torch.__version__)
    for name, (make, lr, options, relative) in RUNS.items():
        if wanted and name not in wanted:
            continue
        steps = SOAP_STEPS if name == "soap" else MANY if name in LONG else STEPS
        run = train(make, lr, steps)
        if name == "soap":
            run["norms"] = {}
        record["runs"][name] = {"compile": ["--shape", f"input_ids={BATCH}x24", "--loss", "cross-entropy", "--clip-norm", "1", "--optimizer",
                                            name.split()[0], *options], "run": ["--steps", str(steps), "--lr", str(lr)],
                                "relative": relative, "torch": torch.__version__, **run}
        print(name, run["loss"][0], "->", run["loss"][-1], flush=True)
    if not wanted:
        record["few_bits"] = few_bits()
    (HERE / "optimizers.json").write_text(json.dumps(record) + "\n")
