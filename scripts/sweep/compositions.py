#!/usr/bin/env python3
"""Random compositions of options over ten meshes: compositions.py OUT [--count N] [--first K] [--seed S] [--seconds T] [--compile-only].

Models with a parameter and a buffer of rank 0, two towers, an auxiliary loss, an encoder and a decoder, BatchNormalization, and an
LSTM, made here. A composition is right if the losses of its ranks are those of one rank with as many rows, refused if a message
says why not, and an internal error otherwise. Needs numpy, onnx and, in PATH, kedge and mpirun.
"""
import argparse
import collections
import json
import pathlib
import random
import subprocess
import time

import numpy as np
import onnx
from onnx import helper, numpy_helper

MESHES = ["data=2", "data=4", "replica=2,data=2", "tensor=2", "data=2,tensor=2", "pipeline=2", "pipeline=4", "pipeline=2,data=2", "pipeline=2,tensor=2",
          "pipeline=2,replica=2"]
ROWS, STEPS, WIDTH = 8, 3, 8
RELATIVE = {"fp32": 1e-4, "bf16": 3e-2, "fp16": 3e-2}


class Graph:
    """Nodes with names as torch's exporters give them."""

    def __init__(self, seed):
        self.nodes, self.tensors, self.random = [], [], np.random.default_rng(seed)

    def weight(self, name, *shape, scale=0.4):
        self.tensors.append(numpy_helper.from_array((self.random.standard_normal(shape) * scale).astype("f4"), name))
        return name

    def constant(self, values, kind="i8"):
        name = f"c{len(self.nodes)}"
        self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.array(values, kind))))
        return name

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=f"node_{kind}_{len(self.nodes)}", **attributes))
        return names[0]

    def linear(self, x, name, inputs=WIDTH, outputs=WIDTH):
        return self.op("Gemm", x, self.weight(f"{name}.weight", outputs, inputs), self.weight(f"{name}.bias", outputs), transB=1)

    def mlp(self, x, name, layers=3):
        for layer in range(layers):
            x = self.op("Relu", self.linear(x, f"{name}.{layer}"))
        return x

    def mean_square(self, x):
        return self.op("ReduceMean", self.op("Mul", x, x), keepdims=0)

    def distance(self, x, y):
        return self.mean_square(self.op("Sub", x, y))

    def model(self, loss, x=(WIDTH,), y=(WIDTH,)):
        self.nodes.append(helper.make_node("Identity", [loss], ["loss"], name="node_loss"))
        values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", *shape]) for name, shape in (("x", x), ("y", y))]
        graph = helper.make_graph(self.nodes, "g", values, [helper.make_tensor_value_info("loss", onnx.TensorProto.FLOAT, [])], self.tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9, producer_name="pytorch"), x, y


def scalar(g):
    h = g.op("Mul", g.mlp("x", "a", 4), g.weight("head.logit_scale", scale=1))
    g.tensors.append(numpy_helper.from_array(np.float32(0.7), "embed.running_mean"))
    return g.model(g.distance(g.op("Mul", h, "embed.running_mean"), "y"))


def towers(g):
    return g.model(g.distance(g.linear(g.mlp("x", "left", 2), "left.9"), g.linear(g.mlp("y", "right", 2), "right.9")))


def auxiliary(g):
    h = g.mlp("x", "a", 2)
    extra = g.op("Mul", g.mean_square(h), g.constant(0.1, "f4"))
    return g.model(g.op("Add", g.distance(g.linear(g.mlp(h, "b", 2), "b.9"), "y"), extra))


def attend(g, x, memory, name):
    q, k, v = (g.op("MatMul", source, g.weight(f"{name}.{part}.weight", WIDTH, WIDTH)) for part, source in (("q", x), ("k", memory), ("v", memory)))
    weights = g.op("Softmax", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 2, 1])), axis=-1)
    x = g.op("Add", x, g.op("MatMul", weights, v))
    x = g.op("LayerNormalization", x, g.weight(f"{name}.norm.weight", WIDTH), g.weight(f"{name}.norm.bias", WIDTH))
    wide = g.op("Relu", g.op("Add", g.op("MatMul", x, g.weight(f"{name}.up.weight", WIDTH, 16)), g.weight(f"{name}.up.bias", 16)))
    return g.op("Add", x, g.op("MatMul", wide, g.weight(f"{name}.down.weight", 16, WIDTH)))


def encoder_decoder(g):
    memory = attend(g, attend(g, "x", "x", "encoder.0"), "x", "encoder.1")
    return g.model(g.distance(attend(g, attend(g, "y", memory, "decoder.0"), memory, "decoder.1"), "y"), (4, WIDTH), (4, WIDTH))


def batch_norm(g):
    h = "x"
    for layer in range(3):
        h = g.op("Conv", h, g.weight(f"{layer}.conv.weight", 4, 4, 3, 3), pads=[1, 1, 1, 1])
        for name, value in (("running_mean", 0), ("running_var", 1)):
            g.tensors.append(numpy_helper.from_array(np.full(4, value, "f4"), f"{layer}.norm.{name}"))
        h = g.op("BatchNormalization", h, g.weight(f"{layer}.norm.weight", 4), g.weight(f"{layer}.norm.bias", 4), f"{layer}.norm.running_mean",
                 f"{layer}.norm.running_var", training_mode=1, outputs=3)
        h = g.op("Relu", h)
    h = g.op("Flatten", g.op("GlobalAveragePool", h))
    return g.model(g.distance(g.linear(h, "head", 4), "y"), (4, 6, 6))


def lstm(g):
    h = g.op("LSTM", g.op("Transpose", "x", perm=[1, 0, 2]), g.weight("rnn.w", 1, 32, WIDTH), g.weight("rnn.r", 1, 32, 8), g.weight("rnn.b", 1, 64), hidden_size=8)
    h = g.op("Squeeze", h, g.constant([1]))
    h = g.op("ReduceMean", h, g.constant([0]), keepdims=0)
    return g.model(g.distance(g.linear(g.mlp(h, "a", 2), "head"), "y"), (5, WIDTH))


MODELS = [scalar, towers, auxiliary, encoder_decoder, batch_norm, lstm]


def composition(dice):
    """(model, mesh, micro-batches, options that one rank takes, options of the mesh)."""
    mesh = dice.choice(MESHES)
    accumulate = dice.choice([2, 4] if "pipeline" in mesh else [1, 1, 2])
    common = ["--precision", dice.choice(["fp32", "fp32", "bf16", "fp16"]), "--optimizer", dice.choice(["sgd", "adamw", "lion", "adafactor", "muon"]), "--lr", "0.01"]
    if dice.random() < 0.3:
        common += ["--clip-norm", "0.5"]
    own = []
    if "pipeline" in mesh:
        own += ["--pipeline-schedule", dice.choice(["1f1b", "gpipe", "interleaved=2", "zero-bubble"])]
    if "data" in mesh and dice.random() < 0.7:
        own += ["--zero", dice.choice(["1", "2", "3"])]
    for flag, values in (("--recompute", ["full", "auto"]), ("--feed-forward-chunk", ["256"]), ("--offload", ["optimizer"]), ("--grad-dtype", ["fp32"])):
        if dice.random() < 0.2:
            own += [flag, dice.choice(values)]
    return dice.randrange(len(MODELS)), mesh, accumulate, common, own


def command(*words, seconds=400):
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=seconds)
        return done.returncode, " ".join((done.stdout[-300:] + done.stderr).split())
    except subprocess.TimeoutExpired:
        return -1, f"no end in {seconds} s"


class Trial:
    def __init__(self, out, number, dice):
        self.out = out
        self.model, self.mesh, self.accumulate, self.common, self.own = composition(dice)
        self.name = MODELS[self.model].__name__

    def text(self):
        return f"{self.name} {self.mesh} --accumulate {self.accumulate} {' '.join(self.common + self.own)}"

    def made(self):
        folder = self.out / self.name
        if not (folder / "model.onnx").exists():
            folder.mkdir(parents=True, exist_ok=True)
            model, x, y = MODELS[self.model](Graph(self.model))
            values = np.random.default_rng(7)
            for name, shape in (("x", x), ("y", y)):
                np.save(folder / f"{name}.npy", values.standard_normal((ROWS * STEPS, *shape)).astype("f4"))
            (folder / "shapes.json").write_text(json.dumps({"x": x, "y": y}))
            onnx.save(model, str(folder / "model.onnx"))
        return folder, json.loads((folder / "shapes.json").read_text())

    def compile(self, rows, *options):
        folder, shapes = self.made()
        shape = [word for name, own in shapes.items() for word in ("--shape", f"{name}={'x'.join(map(str, [rows, *own]))}")]
        return command("kedge", "compile", folder / "model.onnx", *shape, "--loss", "none", "--loss-output", "loss", *self.common, *options, "-o",
                       self.out / "program")

    def losses(self, ranks):
        folder, log = self.made()[0], self.out / "log.jsonl"
        log.unlink(missing_ok=True)
        launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", ranks] if ranks > 1 else []
        code, words = command(*launcher, self.out / "program", "--data", f"x={folder / 'x.npy'}", "--data", f"y={folder / 'y.npy'}", "--steps", STEPS, "--threads", 1,
                              "--log", log)
        return code, words, [json.loads(line)["loss"] for line in log.read_text().splitlines()] if log.exists() else []

    def run(self, known, compile_only):
        """(outcome, what was said)."""
        axes = dict(part.split("=") for part in self.mesh.split(","))
        copies = int(axes.get("data", 1)) * int(axes.get("replica", 1))
        code, words = self.compile(ROWS // copies // self.accumulate, "--mesh", self.mesh, "--accumulate", self.accumulate, *self.own)
        if code:
            return ("refused" if code in (1, 2) and "should hold" not in words and "' op " not in words and "cannot be read again" not in words else "internal"), words
        if compile_only:
            return "compiled", ""
        ranks = int(np.prod([int(size) for size in axes.values()]))
        code, words, found = self.losses(ranks)
        if code:
            return "internal", words
        key = (self.name, *self.common)
        if key not in known:
            code, words = self.compile(ROWS)
            known[key] = self.losses(1)[2] if code == 0 else None
        wanted, allowed = known[key], RELATIVE[self.common[1]]
        # A micro-batch has statistics of its own.
        steps = 0 if self.name == "batch_norm" else STEPS
        for a, b in zip(found[:steps], (wanted or [])[:steps]):
            if a is None or b is None or abs(a - b) > allowed * max(abs(b), 0.1):
                return "wrong", f"{found} instead of {wanted}"
        return "right", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="leave out the compositions before this one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=10**9)
    parser.add_argument("--compile-only", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    dice, begin, counts, known = random.Random(given.seed), time.time(), collections.Counter(), {}
    with (given.out / "log.txt").open("a") as log:
        for number in range(given.count):
            trial = Trial(given.out, number, dice)
            if number < given.first:
                continue
            if time.time() - begin > given.seconds:
                break
            outcome, words = trial.run(known, given.compile_only)
            counts[outcome] += 1
            print(f"{number} {outcome}: {trial.text()} {words[-400:] if outcome != 'right' else ''}", file=log, flush=True)
            if outcome in ("internal", "wrong"):
                print(f"{outcome}: {trial.text()}: {words[-400:]}", flush=True)
    print(f"{sum(counts.values())} compositions: {dict(counts)}")
    raise SystemExit(bool(counts["internal"] or counts["wrong"]))


if __name__ == "__main__":
    main()
