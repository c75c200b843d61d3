#!/usr/bin/env python3
"""Fake quantisation of QONNX: qonnx.py OUT [--torch].

Each case quantises a product's result, or its weight, by Quant, BipolarQuant or Trunc. Outputs are those of the documented formulas
(qonnx.custom_op.general.quant, bipolar_quant, trunc); gradients are theirs with each rounding passed straight, which is what PyTorch's autograd makes of Brevitas'
round_ste and clamp; --torch says whether PyTorch agrees with the gradients written here. The exported file has the operators of the first. Needs kedge in PATH,
numpy and onnx.
"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

B, C, N, RATE = 6, 8, 5, 1.0
RNG = np.random.default_rng(9)
GENERAL, BREVITAS = "qonnx.custom_op.general", "onnx.brevitas"

ROUND = {"ROUND": np.round, "HALF_EVEN": np.round, "FLOOR": np.floor, "CEIL": np.ceil, "UP": lambda v: np.sign(v) * np.ceil(np.abs(v)),
         "DOWN": np.trunc, "ROUND_TO_ZERO": np.trunc, "HALF_UP": lambda v: np.sign(v) * np.floor(np.abs(v) + 0.5), "HALF_DOWN": lambda v: np.sign(v) * np.ceil(np.abs(v) - 0.5)}


class Quant:
    """Its value, and from the gradient of it those of x and of the scale."""

    def __init__(self, scale, zero=0.0, bits=4.0, signed=1, narrow=0, rounding_mode="ROUND"):
        self.op, self.extra = "Quant", [zero, bits]
        self.scale, self.zero, self.mode = np.asarray(scale, "f4"), zero, rounding_mode
        self.attributes = dict(signed=signed, narrow=narrow, rounding_mode=rounding_mode)
        self.high = 2 ** (bits - 1) - 1 if signed else 2 ** bits - 1 - narrow
        self.low = -2 ** (bits - 1) + narrow if signed else 0

    def value(self, x):
        self.x, self.steps = x, x / self.scale.astype("f8") + self.zero
        self.inside = (self.steps >= self.low) & (self.steps <= self.high)
        self.whole = ROUND[self.mode](np.clip(self.steps, self.low, self.high))
        return (self.whole - self.zero) * self.scale

    def gradients(self, g):
        of_scale = g * (self.whole - self.zero - self.inside * self.x / self.scale.astype("f8"))
        return g * self.inside, of_scale.sum() if self.scale.ndim == 0 else of_scale.sum(1, keepdims=True)


class Bipolar:
    def __init__(self, scale):
        self.op, self.extra, self.attributes, self.scale = "BipolarQuant", [], {}, np.asarray(scale, "f4")

    def value(self, x):
        self.sign = np.where(x >= 0, 1.0, -1.0)
        return self.sign * self.scale

    def gradients(self, g):
        return g * self.scale, (g * self.sign).sum()


class Trunc:
    def __init__(self, scale, zero, came, leaves, rounding_mode="FLOOR"):
        self.op, self.extra, self.attributes = "Trunc", [zero, came, leaves], dict(rounding_mode=rounding_mode)
        self.scale, self.zero, self.mode, self.divisor = np.asarray(scale, "f4"), zero, rounding_mode, 2.0 ** (came - leaves)

    def value(self, x):
        self.x = x
        self.whole = ROUND[self.mode](np.round(x / self.scale.astype("f8") + self.zero) / self.divisor)
        return (self.whole - self.zero) * self.scale

    def gradients(self, g):
        return g / self.divisor, (g * (self.whole - self.zero - self.x / self.scale.astype("f8") / self.divisor)).sum()


ACTIVATIONS = {"signed": Quant(0.25), "narrow": Quant(0.3, bits=3.0, narrow=1), "unsigned": Quant(0.1, bits=3.0, signed=0), "points": Quant(0.2, 2.0, 4.0, signed=0, narrow=1),
               **{f"mode_{mode.lower()}": Quant(0.4, bits=5.0, rounding_mode=mode) for mode in ROUND}, "bipolar": Bipolar(0.7), "trunc": Trunc(0.05, 0.0, 8.0, 6.0),
               "trunc_round": Trunc(0.05, 1.0, 8.0, 7.0, "ROUND")}
WEIGHTS = {"weight": Quant(0.1), "channels": Quant(RNG.uniform(0.05, 0.2, (C, 1)).astype("f4"), bits=3.0, narrow=1), "weight_bipolar": Bipolar(0.5)}
TRAINED = {"signed", "channels", "bipolar", "trunc"}  # their scales train, too


def build():
    nodes, weights, outputs = [], {}, []
    for name, quantiser in {**ACTIVATIONS, **WEIGHTS}.items():
        weights[f"{name}.weight"] = (RNG.standard_normal((C, N)) * 0.4).astype("f4")
        weights[f"{name}.scale"] = quantiser.scale
        extra = []
        for k, number in enumerate(quantiser.extra):
            weights[f"{name}.number{k}"] = np.array(number, "f4")
            extra.append(f"{name}.number{k}")
        domain = BREVITAS if name == "signed" else GENERAL
        product = ["x", f"{name}.weight"] if name in ACTIVATIONS else ["x", f"{name}/quantised"]
        quantised = [f"{name}/product" if name in ACTIVATIONS else f"{name}.weight", f"{name}.scale", *extra]
        made = [helper.make_node("MatMul", product, [f"{name}/product" if name in ACTIVATIONS else f"{name}_out"], name=f"{name}/matmul"),
                helper.make_node(quantiser.op, quantised, [f"{name}_out" if name in ACTIVATIONS else f"{name}/quantised"], name=f"{name}/quant", domain=domain, **quantiser.attributes)]
        nodes += made if name in ACTIVATIONS else made[::-1]
        outputs.append(f"{name}_out")
    return nodes, weights, outputs


def command(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{words[0]}: {done.stdout[-3000:]}{done.stderr[-3000:]}")


def differs(a, b):
    return float(np.abs(a - b).max()) > 2e-5 * max(1e-3, float(np.abs(b).max()))


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    nodes, weights, outputs = build()
    x = RNG.standard_normal((B, C)).astype("f4")
    fixed = {name: RNG.standard_normal((B, N)).astype("f4") for name in outputs}
    terms = []
    for name in outputs:
        nodes += [helper.make_node("Constant", [], [f"{name}/fixed"], value=numpy_helper.from_array(fixed[name])),
                  helper.make_node("Mul", [name, f"{name}/fixed"], [f"{name}/times"]), helper.make_node("ReduceSum", [f"{name}/times"], [f"{name}/sum"], keepdims=0)]
        terms.append(f"{name}/sum")
    nodes.append(helper.make_node("Sum", terms, ["loss"]))
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in [*outputs, "loss"]]
    graph = helper.make_graph(nodes, "qonnx", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [B, C])], values, [numpy_helper.from_array(w, n) for n, w in weights.items()])
    imports = [helper.make_opsetid("", 18), helper.make_opsetid(GENERAL, 1), helper.make_opsetid(BREVITAS, 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), out / "model.onnx")
    np.save(out / "x.npy", x)
    trained = "|".join(f"^{name}.scale$" for name in sorted(TRAINED))
    command("kedge", "compile", out / "model.onnx", "--loss-output", "loss", "--optimizer", "sgd", "--train", trained, "-o", out / "program")
    predicted = [word for name in outputs for word in ("--predict", f"{name}={out / name}.npy")]
    command(out / "program", "--steps", 0, "--eval-data", f"x={out / 'x.npy'}", *predicted)
    command(out / "program", "--steps", 1, "--lr", RATE, "--data", f"x={out / 'x.npy'}", "--export-onnx", out / "trained.onnx")
    after = onnx.load(out / "trained.onnx")
    wrong = [] if [(n.domain, n.op_type) for n in after.graph.node] == [(n.domain, n.op_type) for n in nodes] else ["the exported file has other operators"]
    changed = {t.name: numpy_helper.to_array(t) for t in after.graph.initializer}
    gradients = {}
    for name, quantiser in {**ACTIVATIONS, **WEIGHTS}.items():
        w, wide, g = weights[f"{name}.weight"].astype("f8"), x.astype("f8"), fixed[f"{name}_out"].astype("f8")
        if name in ACTIVATIONS:
            y = quantiser.value((x @ weights[f"{name}.weight"]).astype("f8"))
            of_x, of_scale = quantiser.gradients(g)
            gradients[f"{name}.weight"] = wide.T @ of_x
        else:
            y = wide @ quantiser.value(w)
            gradients[f"{name}.weight"], of_scale = quantiser.gradients(wide.T @ g)
        if name in TRAINED:
            gradients[f"{name}.scale"] = np.asarray(of_scale)
        if differs(np.load(out / f"{name}_out.npy"), y):
            wrong.append(f"{name}: differs from the formula")
    for name, expected in gradients.items():
        found = (weights[name].astype("f8") - changed[name]) / RATE
        if differs(found.reshape(expected.shape), expected) and np.abs(found.reshape(expected.shape) - expected).max() > 2e-6:
            wrong.append(f"{name}: its gradient is {found.reshape(-1)[:4]}, expected {expected.reshape(-1)[:4]}")
    if "--torch" in sys.argv:
        wrong += with_torch(weights, x, fixed, gradients)
    print("\n".join(wrong))
    print(f"{len(outputs)} outputs, {len(gradients)} gradients, {len(wrong)} wrong")
    return bool(wrong)


def with_torch(weights, x, fixed, gradients):
    """The same formulas by autograd, each rounding as round_ste of Brevitas."""
    import torch
    for name, quantiser in {**ACTIVATIONS, **WEIGHTS}.items():
        w = torch.tensor(weights[f"{name}.weight"], dtype=torch.float64, requires_grad=True)
        scale = torch.tensor(quantiser.scale, dtype=torch.float64, requires_grad=True)

        def straight(v, function):
            return v + (torch.from_numpy(np.asarray(function(v.detach().numpy()))) - v).detach()

        def quantised(v):
            if isinstance(quantiser, Bipolar):
                return straight(v, lambda n: np.where(n >= 0, 1.0, -1.0)) * scale
            steps = v / scale + quantiser.zero
            if isinstance(quantiser, Quant):
                whole = straight(steps.clamp(quantiser.low, quantiser.high), ROUND[quantiser.mode])
            else:
                whole = straight(straight(steps, np.round) / quantiser.divisor, ROUND[quantiser.mode])
            return (whole - quantiser.zero) * scale
        product = torch.from_numpy(x).double()
        y = quantised(product @ w) if name in ACTIVATIONS else product @ quantised(w)
        (y * torch.from_numpy(fixed[f"{name}_out"])).sum().backward()
        for of, found in ((w, gradients[f"{name}.weight"]), (scale, gradients.get(f"{name}.scale"))):
            if found is not None and np.abs(of.grad.numpy().reshape(found.shape) - found).max() > 1e-6:
                yield f"{name}: PyTorch's gradient differs from the one written here"


if __name__ == "__main__":
    sys.exit(main())
