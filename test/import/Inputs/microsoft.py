#!/usr/bin/env python3
"""Operators of com.microsoft beside onnxruntime: microsoft.py OUT [--precision bf16] [NAME...].

One model has a branch for each case (microsoft_cases.py): an operator with its parameters. kedge compiles it once, evaluates it and trains one step of SGD, whose updates
are the gradients. Right is: each output equals onnxruntime's, each gradient equals the differences of onnxruntime's loss along a random direction, and
the exported file has the operators of the first. Needs kedge in PATH, numpy, onnx and onnxruntime.
"""
import argparse
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from microsoft_cases import B, C, CASES, FORMS, RNG, T, Branch
from microsoft_experts import CASES as EXPERTS
from microsoft_more import CASES as MORE


def build(names):
    nodes, plain, initializers, outputs, branches = [], [], [], [], []
    for name in names:
        c = Branch(name)
        y = {**CASES, **EXPERTS, **MORE}[name](c, "x")
        end = [helper.make_node("Identity", [y], [f"{name}_out"], name=f"{name}/out")]
        branches.append(c)
        nodes += c.nodes + end
        plain += (c.reference or c.nodes) + end
        initializers += [numpy_helper.from_array(value, full) for full, value in c.weights.items()]
        outputs.append(f"{name}_out")
    return branches, nodes, plain, initializers, outputs


def with_loss(nodes, outputs, shapes):
    """The sum of the means of each output times fixed numbers."""
    terms, fixed = [], {}
    for output in outputs:
        fixed[output] = RNG.standard_normal(shapes[output]).astype("f4")
        tensor = numpy_helper.from_array(fixed[output])
        nodes += [helper.make_node("Constant", [], [f"{output}/fixed"], name=f"{output}/fixed", value=tensor),
                  helper.make_node("Mul", [output, f"{output}/fixed"], [f"{output}/product"], name=f"{output}/product"),
                  helper.make_node("ReduceMean", [f"{output}/product"], [f"{output}/mean"], name=f"{output}/mean", keepdims=0)]
        terms.append(f"{output}/mean")
    nodes.append(helper.make_node("Sum", terms, ["loss"], name="loss/sum"))
    return fixed


def session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def model_of(nodes, initializers, outputs):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "microsoft", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [B, T, C])], values, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=10)


def losses(run, fixed, x, changed=None):
    """Of each output, in double precision."""
    names = list(fixed)
    return {name: float((value.astype("f8") * fixed[name]).mean()) for name, value in zip(names, run(names, {"x": x, **(changed or {})}))}


def command(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{words[0]}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--forms", action="store_true", help="the forms that are tried by themselves")
    parser.add_argument("--experts", action="store_true", help="mixtures of experts (microsoft_experts.py)")
    parser.add_argument("--more", action="store_true", help="operators that are mostly compared with their parts (microsoft_more.py)")
    args = parser.parse_args()
    out, names = args.out, args.names or ([*EXPERTS] if args.experts else [*MORE] if args.more else [name for name in CASES if (name in FORMS) == args.forms])
    out.mkdir(parents=True, exist_ok=True)
    branches, nodes, reference, initializers, outputs = build(names)
    x = RNG.standard_normal((B, T, C)).astype("f4")
    onnx.save(model_of(reference, initializers, outputs), out / "plain.onnx")
    first = dict(zip(outputs, session(out / "plain.onnx").run(outputs, {"x": x})))
    fixed = with_loss(nodes, outputs, {name: value.shape for name, value in first.items()})
    onnx.save(model_of(nodes, initializers, [*outputs, "loss"]), out / "model.onnx")
    np.save(out / "x.npy", x)

    trained = {full: value for c in branches for full, value in c.weights.items() if full not in c.frozen}
    half = args.precision != "fp32"
    program = out / "program"
    command("kedge", "compile", out / "model.onnx", "--loss-output", "loss", "--optimizer", "sgd", "--precision", args.precision, *(["--train", "scores"] if "multi_head" in names else []), "-o", program)
    rate = 1.0
    predicted = [word for name in outputs for word in ("--predict", f"{name}={out / name}.npy")]
    command(program, "--steps", 0, "--eval-data", f"x={out / 'x.npy'}", *predicted)
    command(program, "--steps", 1, "--lr", rate, "--data", f"x={out / 'x.npy'}", "--export-onnx", out / "trained.onnx")
    wrong = []
    for name in outputs:
        mine = np.load(out / f"{name}.npy").reshape(first[name].shape)
        error = np.abs(mine - first[name]).max() / max(1e-6, np.abs(first[name]).max())
        if not error < (0.05 if half else 2e-5):
            wrong.append(f"{name}: differs from onnxruntime's by {error:.2g} of its largest number")
    exported = onnx.load(out / "trained.onnx")
    if [(n.domain, n.op_type) for n in exported.graph.node] != [(n.domain, n.op_type) for n in nodes]:
        wrong.append("the exported file has other operators")
    after = {tensor.name: numpy_helper.to_array(tensor) for tensor in exported.graph.initializer}
    wrong += differences(out, trained, after, fixed, x, rate, half, 2e-4 if args.experts else 5e-3)
    print("\n".join(wrong))
    print(f"{len(outputs)} outputs, {len(trained)} gradients, {len(wrong)} wrong")
    return bool(wrong)


def unit(vector):
    return vector / max(1e-30, np.sqrt((vector ** 2).sum()))


def differences(out, trained, after, fixed, x, rate, half, step):
    """Gradients against differences along one direction each, half of it the gradient's; weights become inputs, so that one session serves all."""
    model = onnx.load(out / "plain.onnx")
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in trained]
    for tensor in model.graph.initializer:
        if tensor.name in trained:
            model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    onnx.save(model, out / "fed.onnx")
    run = session(out / "fed.onnx").run
    rng = np.random.default_rng(11)
    for name, value in trained.items():
        gradient = (value.astype("f8") - after[name]) / rate
        size = float(np.sqrt((gradient ** 2).sum()))
        direction = unit(gradient) + unit(rng.standard_normal(value.shape))
        output = name.split(".")[0] + "_out"
        sides = [losses(run, {output: fixed[output]}, x, {**trained, name: (value + sign * step * direction).astype("f4")})[output] for sign in (1, -1)]
        expected = (sides[0] - sides[1]) / (2 * step)
        found = float((gradient * direction).sum())
        if not abs(found - expected) < (0.1 if half else 5e-3) * size + 1e-6:
            yield f"{name}: the gradient along a direction is {found:.6g}, differences say {expected:.6g} (norm {size:.3g})"


if __name__ == "__main__":
    sys.exit(main())
