#!/usr/bin/env python3
"""Casts of a step of GPT-2 under `autocast`: PyTorch's joint graph under the CUDA lists, and Kedge's plan of the same model.

count_casts.py --lists GOLDEN.py [--kedge KEDGE] [--precision bf16|fp16] [--layers 12 --width 768 --heads 12 --vocab 50257]

GOLDEN.py holds AutocastLists, a mode that applies PyTorch's CUDA lists on any device. Counted are casts from one float type
to another that something reads, in forward, loss and backward, of the very module that scripts/make/make_gpt2.py exports. Prints
one JSON object. Needs torch, onnx and onnxscript.
"""
import argparse
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx

BATCH, LENGTH = 2, 16  # casts hang on neither


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def joint_graph(model, lists):
    """Forward, loss and the gradients of all parameters as one graph of aten ops."""
    names, parameters = zip(*model.named_parameters())

    def step(parameters, tokens, labels):
        with lists:
            logits = torch.func.functional_call(model, dict(zip(names, parameters)), (tokens,))
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return torch.autograd.grad(loss, parameters)

    tokens = torch.zeros(BATCH, LENGTH, dtype=torch.int64)
    graph = make_fx(step, tracing_mode="fake")([p.detach().requires_grad_() for p in parameters], tokens, tokens).graph
    graph.eliminate_dead_code()
    return graph


def count_casts(graph):
    """Float to float, by what is cast to what."""
    counts = {}
    for node in graph.nodes:
        if node.target != torch.ops.aten._to_copy.default:
            continue
        before, after = node.args[0].meta["val"].dtype, node.meta["val"].dtype
        if before != after and before.is_floating_point and after.is_floating_point:
            key = f"{before} to {after}".replace("torch.", "")
            counts[key] = counts.get(key, 0) + 1
    return counts


def kedge_casts(kedge, options, here):
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "gpt2.onnx"
        sizes = [word for key in ("layers", "width", "heads", "vocab") for word in (f"--{key}", str(getattr(options, key)))]
        subprocess.run([sys.executable, here.parent / "make/make_gpt2.py", model, *sizes], check=True, stdout=subprocess.DEVNULL)
        plan = [kedge, "plan", model, "--shape", f"input_ids={BATCH}x{LENGTH}", "--loss", "cross-entropy", "--json"]
        report = lambda policy: json.loads(subprocess.run([*plan, "--precision", options.precision, "--precision-policy", policy],
                                                          check=True, capture_output=True, text=True).stdout)["casts"]
        return {policy: report(policy) for policy in ("autocast", "master")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lists", required=True)
    parser.add_argument("--kedge", default="kedge")
    parser.add_argument("--precision", default="bf16", choices=["bf16", "fp16"])
    for name, value in dict(layers=12, width=768, heads=12, vocab=50257, positions=1024).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    here = pathlib.Path(__file__).resolve().parent
    golden, make = load("golden", options.lists), load("make_gpt2", here.parent / "make/make_gpt2.py")
    low = {"bf16": torch.bfloat16, "fp16": torch.float16}[options.precision]
    casts = count_casts(joint_graph(make.GPT2(options), golden.AutocastLists(low)))
    kedge = kedge_casts(options.kedge, options, here)
    print(json.dumps({"torch": torch.__version__, "precision": options.precision, "layers": options.layers,
                      "pytorch_joint_graph": sum(casts.values()), "pytorch_by_type": casts,
                      "kedge_autocast": kedge["autocast"], "kedge_master": kedge["master"]}, indent=1))


if __name__ == "__main__":
    main()
