#!/usr/bin/env python3
"""Steps of a layer of experts: its grouped products beside their own FLOPs at dense rates, and beside PyTorch's grouped_mm under torch.compile.

experts_time.py [--tokens 1024 --width 512] [--threads 1,2] [--rounds 3 --steps 5] [--json FILE]

Forward, backward and SGD in fp32 of a layer with 8 experts of 768, two for each token, and of one with 64 of 256, six for each token. Contenders, in turns:
  grouped   the layer, by `kedge compile` (needs kedge on PATH, and numpy and onnx)
  dense     one feed-forward of as many rows as tokens have experts: as many FLOPs, by `kedge compile`
  pytorch   rows sorted by expert, torch.nn.functional.grouped_mm, rows back; torch.compile (needs torch; left out without it)
The figures are the least seconds of a step. PyTorch's losses are those of ours, which is checked."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYERS = {"8 top 2, inner 768": (8, 2, 768), "64 top 6, inner 256": (64, 6, 256)}
LR = 0.1


def weights_of(experts, inner, width):
    random = np.random.default_rng(3)
    normal = lambda *shape: (random.normal(size=shape) / shape[-1] ** 0.5).astype("f4")  # noqa: E731
    return {"router": normal(width, experts) * 4, "gate_up": normal(experts, 2 * inner, width), "down": normal(experts, width, inner)}


def save(path, nodes, weights, rows, width):
    graph = helper.make_graph(nodes, "layer", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, width])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, width])],
                              [numpy_helper.from_array(value, name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=10), path)


def layer(path, weights, top, rows, width):
    """[gate; up] as halves: swiglu_fusion 2."""
    save(path, [helper.make_node("MatMul", ["x", "router"], ["scores"]),
                helper.make_node("MoE", ["x", "scores", "gate_up", "", "down"], ["y"], domain="com.microsoft", k=top, activation_type="swiglu",
                                 swiglu_fusion=2, normalize_routing_weights=1, activation_alpha=1.0, activation_beta=0.0)], weights, rows, width)


def dense(path, weights, rows, width, inner):
    whole = {"gate_up": np.ascontiguousarray(weights["gate_up"][0].T), "down": np.ascontiguousarray(weights["down"][0].T)}
    save(path, [helper.make_node("MatMul", ["x", "gate_up"], ["both"]), helper.make_node("Split", ["both"], ["gate", "up"], axis=1, num_outputs=2),
                helper.make_node("Sigmoid", ["gate"], ["s"]), helper.make_node("Mul", ["gate", "s"], ["silu"]), helper.make_node("Mul", ["silu", "up"], ["h"]),
                helper.make_node("MatMul", ["h", "down"], ["y"])], whole, rows, width)


def compiled(folder, name, rows, width):
    subprocess.run(["kedge", "compile", f"{name}.onnx", "--shape", f"x={rows}x{width}", "--loss", "mse", "--optimizer", "sgd", "-o", name], cwd=folder, check=True,
                   capture_output=True)


def ours(folder, name, rows, threads, steps):
    """Seconds of each step, and losses."""
    data = ["--data", f"x=x{rows}.npy", f"labels=labels{rows}.npy"]
    subprocess.run([f"./{name}", *data, "--steps", str(steps), "--lr", str(LR), "--threads", str(threads), "--log", "log.jsonl"], cwd=folder, check=True,
                   capture_output=True)
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [line["seconds"] for line in lines], [line["loss"] for line in lines]


def pytorch(weights, top, x, labels, threads, steps):
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(threads)
    router, gate_up, down = (torch.nn.Parameter(torch.tensor(weights[name])) for name in ("router", "gate_up", "down"))
    x, labels, experts = torch.tensor(x), torch.tensor(labels), len(weights["down"])

    def loss():
        shares, chosen = (x @ router).topk(top)
        flat = chosen.flatten()
        order = flat.argsort(stable=True)
        ends = torch.bincount(flat, minlength=experts).cumsum(0).to(torch.int32)
        gate, up = F.grouped_mm(x[order // top], gate_up.transpose(1, 2), offs=ends).chunk(2, -1)
        rows = F.grouped_mm(F.silu(gate) * up, down.transpose(1, 2), offs=ends)
        back = torch.empty_like(order).scatter(0, order, torch.arange(order.numel()))
        return F.mse_loss((rows[back].view(*shares.shape, -1) * shares.softmax(-1)[..., None]).sum(1), labels)

    optimizer, step = torch.optim.SGD([router, gate_up, down], lr=LR), torch.compile(loss)
    seconds, losses = [], []
    for _ in range(steps):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        made = step()
        made.backward()
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
        losses.append(made.item())
    return seconds, losses


def apart(found, wanted):
    return max(abs(one - other) / abs(other) for one, other in zip(found, wanted))


def measure(o, folder):
    table = []
    for name, (experts, top, inner) in LAYERS.items():
        weights, rows = weights_of(experts, inner, o.width), o.tokens * top
        layer(folder / "grouped.onnx", weights, top, o.tokens, o.width)
        dense(folder / "dense.onnx", weights, rows, o.width, inner)
        random = np.random.default_rng(5)
        for count in (o.tokens, rows):
            for what in ("x", "labels"):
                np.save(folder / f"{what}{count}.npy", random.normal(size=(count, o.width)).astype("f4"))
        compiled(folder, "grouped", o.tokens, o.width), compiled(folder, "dense", rows, o.width)
        for threads in o.threads:
            least, said = {}, ""
            for _ in range(o.rounds):
                runs = {"grouped": ours(folder, "grouped", o.tokens, threads, o.steps), "dense": ours(folder, "dense", rows, threads, o.steps)}
                try:
                    runs["pytorch"] = pytorch(weights, top, np.load(folder / f"x{o.tokens}.npy"), np.load(folder / f"labels{o.tokens}.npy"), threads, o.steps)
                    said = f", losses {apart(runs['grouped'][1], runs['pytorch'][1]):.1e} apart"
                    assert apart(runs["grouped"][1], runs["pytorch"][1]) < 1e-4, (runs["grouped"][1], runs["pytorch"][1])
                except ImportError:
                    pass
                for who, (seconds, _) in runs.items():
                    least[who] = min(least.get(who, np.inf), *seconds[1:])
            table.append({"experts": name, "threads": threads, **least})
            print(f"{name}, {threads} threads: " + ", ".join(f"{who} {seconds:.3f} s" for who, seconds in least.items()) +
                  f"; grouped / dense {least['grouped'] / least['dense']:.2f}" +
                  (f", pytorch / grouped {least['pytorch'] / least['grouped']:.2f}" if "pytorch" in least else "") + said, flush=True)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--threads", type=lambda text: [int(word) for word in text.split(",")], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--json")
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = measure(o, pathlib.Path(folder))
    if o.json:
        pathlib.Path(o.json).write_text(json.dumps({"tokens": o.tokens, "width": o.width, "rows": table}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
