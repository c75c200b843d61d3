"""Adapters of experts whose codes are in the file (QMoE): packed_experts.py OUT [--bits N] [--block N] [--inner N] [--all].

Two layers of experts are fine-tuned by adapters of the second one's matrices (--all: of all). The first loss is that of onnxruntime's forward; both exports have MoE where an
adapter changes experts, QMoE elsewhere, and give the program's own outputs in onnxruntime; so does a program that is compiled from the exported folder of adapters.
Needs kedge in PATH, numpy, onnx and onnxruntime.
"""
import argparse
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from few_bits import command, loss_of, relative
import onnxruntime

WIDTH, EXPERTS, CHOSEN, CLASSES, ROWS, TOKENS, BOUND = 32, 5, 2, 11, 2, 6, 2e-5


def packed(codes, bits):
    """The first code of a byte in its lowest bits."""
    parts = codes.reshape(*codes.shape[:-1], -1, 8 // bits).astype("u1")
    return sum(parts[..., k] << (bits * k) for k in range(8 // bits)).astype("u1")


class Maker:
    def __init__(self):
        self.rng, self.nodes, self.weights = np.random.default_rng(5), [], []

    def const(self, name, value):
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, op, name, inputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [f"/{name}"], name=name, **attributes))
        return f"/{name}"

    def experts(self, layer, x, args):
        path, bits, block, inner = f"layers.{layer}.moe", args.bits, args.block, args.inner
        flat = self.node("Reshape", f"{path}/flat", [x, self.const(f"{path}.shape", np.array([-1, WIDTH], "i8"))])
        scores = self.node("MatMul", f"{path}/router", [flat, self.const(f"{path}.router.weight", self.rng.standard_normal((WIDTH, EXPERTS)).astype("f4"))])
        inputs = [x, scores]
        for name, rows, width in (("gate_up_proj", 2 * inner, WIDTH), ("down_proj", WIDTH, inner)):
            blocks = [width // block] if block else []
            scales = self.rng.uniform(0.2, 0.6, (EXPERTS, rows, *blocks)) * 2.0 ** (1 - bits)
            inputs += [self.const(f"{path}.experts.{name}.qweight", packed(self.rng.integers(0, 2 ** bits, (EXPERTS, rows, width)), bits)),
                       self.const(f"{path}.experts.{name}.scales", scales.astype("f4")), self.const(f"{path}.experts.{name}.bias", 0.1 * self.rng.standard_normal((EXPERTS, rows)).astype("f4"))]
        if args.own_weights:
            inputs += [""] * 6 + [self.node("Sigmoid", f"{path}/shares", [scores])]
        sizes = {"block_size": block} if block else {}
        y = self.node("QMoE", f"{path}/experts", inputs, domain="com.microsoft", k=CHOSEN, expert_weight_bits=bits, activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.702,
                      activation_beta=1.0, swiglu_limit=2.0, **sizes)
        return self.node("Add", f"{path}/sum", [x, y])


def model_of(args):
    m = Maker()
    x = m.node("MatMul", "embed", ["x", m.const("embed.weight", m.rng.standard_normal((7, WIDTH)).astype("f4"))])
    for layer in range(2):
        x = m.experts(layer, x, args)
    m.nodes.append(helper.make_node("MatMul", [x, m.const("head.weight", m.rng.standard_normal((WIDTH, CLASSES)).astype("f4") * 0.2)], ["logits"], name="head"))
    inputs, outputs = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [ROWS, TOKENS, size]) for name, size in (("x", 7), ("logits", CLASSES)))
    graph = helper.make_graph(m.nodes, "experts", [inputs], [outputs], m.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=10)


def logits_of(path, x):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(["logits"], {"x": x})[0]


def check(out, args):
    file = out / "model.onnx"
    onnx.save(model_of(args), file)
    rng = np.random.default_rng(3)
    x, labels = rng.standard_normal((ROWS, TOKENS, 7)).astype("f4"), rng.integers(0, CLASSES, (ROWS, TOKENS))
    np.save(out / "x.npy", x), np.save(out / "labels.npy", labels)
    options = [file, "--loss", "cross-entropy", "--logits", "logits", "--lora", "experts.*qweight" if args.all else "layers.1.*qweight", "--lora-rank", "2"]
    data = [word for name in ("x", "labels") for kind in ("--data", "--eval-data") for word in (kind, f"{name}={out / name}.npy")]
    command("kedge", "compile", *options, "-o", out / "program")
    command(out / "program", "--steps", 3, "--lr", 0.05, "--threads", 1, "--log", out / "log", *data, "--predict", f"logits={out / 'own.npy'}", "--export-onnx", out / "merged.onnx",
            "--export-onnx-adapters", out / "adapters.onnx", "--export-adapter", out / "adapter")
    losses, own, wrong = [json.loads(line)["loss"] for line in (out / "log").read_text().splitlines()], np.load(out / "own.npy"), []
    if not abs(losses[0] - (first := loss_of(logits_of(file, x), labels))) < BOUND * first:
        wrong.append(f"the first loss is {losses[0]}, onnxruntime's {first}")
    if not losses[2] < losses[0] or relative(logits_of(file, x), own) < 100 * BOUND:
        wrong.append(f"training changes too little: {losses}")
    for name in ("merged", "adapters"):
        if not (error := relative(logits_of(out / f"{name}.onnx", x), own)) < BOUND:
            wrong.append(f"{name}.onnx differs from the program's outputs by {error:.2g} of the largest")
        kinds = [node.op_type for node in onnx.load(out / f"{name}.onnx").graph.node if "MoE" in node.op_type]
        if kinds != (["MoE", "MoE"] if args.all else ["QMoE", "MoE"]):
            wrong.append(f"{name}.onnx has {kinds}")
    command("kedge", "compile", *options[:5], "--adapter", out / "adapter", "-o", out / "again")
    command(out / "again", "--steps", 0, "--threads", 1, *data, "--predict", f"logits={out / 'again.npy'}")
    if not (error := relative(np.load(out / "again.npy"), own)) < BOUND:
        wrong.append(f"the folder of adapters gives other outputs, by {error:.2g} of the largest")
    parameters = json.loads((out / "adapter" / "adapter_config.json").read_text())["target_parameters"]
    if "layers.1.moe.experts.down_proj" not in parameters:
        wrong.append(f"the folder names {parameters}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--bits", type=int, default=4)
    parser.add_argument("--block", type=int, default=0)
    parser.add_argument("--inner", type=int, default=32, help="width between the two matrices of an expert")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--own-weights", action="store_true", help="an input with weights of experts, which MoE has not")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    wrong = check(args.out, args)
    print("\n".join(wrong))
    print(f"experts: {len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
