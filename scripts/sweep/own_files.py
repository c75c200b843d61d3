#!/usr/bin/env python3
"""Small files of our own over the operators, by several makers and opsets, beside onnxruntime: own_files.py OUT [NAME...] [--table FILE.md].

Each file is one operator after a product with a weight, in evaluation mode. Right is: the first loss is onnxruntime's (2e-5), and the weight's gradient has the projection on a
direction that differences of onnxruntime's loss have (1% of its norm). Makers: onnx.helper at opsets 7 to 28, spox at 17 to 27, onnxscript at 15 to 23. A
row for each goes to OUT/own.json as it is made. Needs kedge in PATH, numpy, onnx, onnxruntime, spox, onnxscript.
"""
import argparse
import importlib
import json
import pathlib
import subprocess
import sys
import types

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

B, C = 4, 12
FLOAT = TensorProto.FLOAT
# Name: operator, attributes, what is put before its input (a shape) and further inputs.
UNARY = "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Erf Exp Floor HardSigmoid HardSwish Identity LeakyRelu Log LogSoftmax Mish Neg Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt Tan Tanh ThresholdedRelu Gelu Swish".split()
FIRST = {"Acosh": 9, "Asinh": 9, "Atanh": 9, "Cosh": 9, "Sinh": 9, "Sign": 9, "Erf": 9, "Round": 11, "HardSwish": 14, "Mish": 18, "Gelu": 20, "Swish": 24, "ThresholdedRelu": 10}
INSIDE = {"Acos": 0.05, "Asin": 0.05, "Atanh": 0.05, "Tan": 0.1}  # factors that keep numbers in the domain
STEPS = {"Ceil", "Floor", "Round", "Sign"}
POSITIVE = {"Acosh", "Log", "Sqrt", "Reciprocal"}


def cases():
    made = {}
    for op in UNARY:
        for opset in (7, 11, 13, 17, 22):
            if opset >= FIRST.get(op, 7):
                made[f"helper-{op}-{opset}"] = ("helper", opset, op)
                break
    opsets = iter([8, 9, 10, 12, 14, 15, 16, 18, 19, 20, 21, 23, 24, 25, 26, 27] * 20)
    for op in ("Relu", "Sigmoid", "Tanh", "Softmax", "Exp", "Elu", "LeakyRelu", "Softplus"):
        for _ in range(2):
            opset = next(opsets)
            made[f"helper-{op}-{opset}"] = ("helper", opset, op)
    for op in ("Relu", "Gelu", "Softmax", "Celu"):
        made[f"helper-{op}-28"] = ("helper", 28, op)
    for name in STRUCTURED:
        for opset in STRUCTURED[name][0]:
            made[f"helper-{name}-{opset}"] = ("structured", opset, name)
    for opset in range(17, 28):
        for name in SPOX:
            if (hash_of(name) + opset) % 4 == 0:
                made[f"spox-{name}-{opset}"] = ("spox", opset, name)
    for opset in (15, 17, 18, 20, 21, 23):
        for name in ("tanh_gate", "norm_by_hand", "attention_by_hand"):
            made[f"onnxscript-{name}-{opset}"] = ("onnxscript", opset, name)
    return made


def hash_of(name):
    return sum(map(ord, name))


class Made:
    """Nodes and constants of a file that onnx.helper makes; `x` is the product."""

    def __init__(self, opset):
        self.opset, self.nodes, self.weights, self.rng = opset, [], [], np.random.default_rng(4)

    def const(self, name, value):
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def random(self, name, *shape):
        return self.const(name, (self.rng.standard_normal(shape) * 0.5).astype("f4"))

    def node(self, op, inputs, outputs=1, **attributes):
        names = [f"{op}_{len(self.nodes)}_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=names[0], **attributes))
        return names[0] if outputs == 1 else names

    def reshape(self, x, *shape):
        return self.node("Reshape", [x, self.const(f"shape{len(self.nodes)}", np.array(shape))])

    def axes(self, op, x, axes, since, **attributes):
        """Axes are an attribute in old opsets and an input in new ones."""
        if self.opset < since:
            return self.node(op, [x], axes=axes, **attributes)
        return self.node(op, [x, self.const(f"axes{len(self.nodes)}", np.array(axes))], **attributes)


def reduce(op, since):
    return lambda m, x: m.axes(op, x, [1], since, keepdims=1)


def split(m, x):
    if m.opset < 13:
        parts = m.node("Split", [x], 2, axis=1, split=[5, 7])
    else:
        parts = m.node("Split", [x, m.const("sizes", np.array([5, 7]))], 2, axis=1)
    return m.node("Concat", [m.node("Neg", [parts[1]]), parts[0]], axis=1)


def slices(m, x):
    if m.opset < 10:
        return m.node("Slice", [x], starts=[0, 2], ends=[3, 11], axes=[0, 1])
    return m.node("Slice", [x, *[m.const(n, np.array(v)) for n, v in (("starts", [0, 2]), ("ends", [3, 11]), ("dims", [0, 1]), ("steps", [1, 2]))]])


def clip(m, x):
    if m.opset < 11:
        return m.node("Clip", [x], min=-0.5, max=0.7)
    return m.node("Clip", [x, m.const("low", np.float32(-0.5)), m.const("high", np.float32(0.7))])


def pad(m, x):
    if m.opset < 11:
        return m.node("Pad", [x], mode="reflect", pads=[0, 1, 0, 2])
    return m.node("Pad", [x, m.const("pads", np.array([0, 1, 0, 2]))], mode="reflect")


def dropout(m, x):
    return m.node("Dropout", [x])


def resize(m, x):
    picture = m.reshape(x, 4, 1, 3, 4)
    scales = m.const("scales", np.array([1, 1, 2, 2], "f4"))
    if m.opset < 11:
        return m.node("Upsample" if m.opset < 10 else "Resize", [picture, scales], mode="nearest")
    return m.node("Resize", [picture, m.const("roi", np.zeros(8, "f4")) if m.opset < 13 else "", scales], mode="linear", coordinate_transformation_mode="half_pixel")


def lstm(m, x):
    sequence = m.reshape(x, 3, 4, 4)
    return m.node("LSTM", [sequence, m.random("rnn.W", 1, 20, 4), m.random("rnn.R", 1, 20, 5), m.random("rnn.B", 1, 40)], 3, hidden_size=5)[0]


def gru(m, x):
    sequence = m.reshape(x, 3, 4, 4)
    return m.node("GRU", [sequence, m.random("rnn.W", 1, 15, 4), m.random("rnn.R", 1, 15, 5), m.random("rnn.B", 1, 30)], 2, hidden_size=5, linear_before_reset=1)[0]


def convolution(m, x):
    return m.node("Conv", [m.reshape(x, 4, 3, 2, 2), m.random("conv.weight", 5, 3, 2, 2), m.random("conv.bias", 5)], pads=[1, 0, 0, 1])


def transposed(m, x):
    return m.node("ConvTranspose", [m.reshape(x, 4, 3, 2, 2), m.random("conv.weight", 3, 5, 3, 3)], strides=[2, 2], output_padding=[1, 0])


def pooled(op, **attributes):
    return lambda m, x: m.node(op, [m.reshape(x, 4, 1, 3, 4)], **attributes)


def normalised(m, x):
    return m.node("InstanceNormalization", [m.reshape(x, 4, 3, 4), m.random("norm.scale", 3), m.random("norm.bias", 3)], epsilon=1e-3)


def binary(op):
    return lambda m, x: m.node(op, [x, m.random("other.weight", 1, C)])


def power(m, x):
    return m.node("Pow", [m.node("Abs", [x]), m.const("exponent", np.float32(1.7))])


def gather(m, x):
    return m.node("Gather", [x, m.const("places", np.array([[0, 3], [11, 3]]))], axis=1)


def where(m, x):
    return m.node("Where", [m.const("mask", np.arange(C) % 3 == 0), x, m.node("Neg", [x])])


def einsum(m, x):
    return m.node("Einsum", [x, m.random("mix.weight", C, 3)], equation="bi,ij->jb")


def layer_norm(m, x):
    return m.node("LayerNormalization", [x, m.random("norm.weight", C), m.random("norm.bias", C)], axis=-1)


def top_k(m, x):
    return m.node("TopK", [x, m.const("k", np.array([3]))], 2, axis=1)[0]


def depth(m, x):
    return m.node("DepthToSpace", [m.reshape(x, 4, 4, 3, 1)], blocksize=2)


def scattered(m, x):
    return m.node("ScatterElements", [x, m.const("places", np.array([[1, 5]] * B)), m.random("updates.weight", B, 2)], axis=1)


def squeezed(m, x):
    return m.axes("Squeeze", m.axes("Unsqueeze", x, [1], 13), [1], 13)


def attention(m, x):
    rows = m.reshape(x, 2, 2, C)
    return m.node("Attention", [rows, rows, m.node("Neg", [rows])], q_num_heads=3, kv_num_heads=3, is_causal=1)


def space(m, x):
    return m.node("SpaceToDepth", [m.reshape(x, 4, 1, 6, 2)], blocksize=2)


def swiglu(m, x):
    return m.node("SwiGLU", [x, m.node("Mul", [x, m.random("linear.weight", 1, C)])], alpha=1.2)


def compressed(m, x):
    return m.node("Compress", [x, m.const("kept", np.arange(C) % 3 != 1)], axis=1)


def reversed_rows(m, x):
    return m.node("Mul", [m.node("ReverseSequence", [x, m.const("lengths", np.array([12, 1, 5, 7]))], batch_axis=0, time_axis=1), x])


def modulo(m, x):
    return m.node("Mod", [m.node("Sin", [x]), m.const("divisor", np.float32(2))], fmod=1)


def log_sum(m, x):
    return m.axes("ReduceLogSum", m.node("Add", [m.node("Mul", [x, x]), m.const("one", np.float32(1))]), [1], 18, keepdims=1)


STRUCTURED = {
    "Split": ((7, 11, 13, 18), split), "Slice": ((7, 10, 13), slices), "Clip": ((7, 11, 13), clip), "Pad": ((7, 11, 19), pad), "Dropout": ((7, 10, 12), dropout),
    "Resize": ((9, 10, 11, 13, 19), resize), "LSTM": ((7, 14, 22), lstm), "GRU": ((7, 14), gru), "Conv": ((7, 11, 22), convolution), "ConvTranspose": ((8, 11, 22), transposed),
    "AveragePool": ((7, 10, 19), pooled("AveragePool", kernel_shape=[2, 2], pads=[1, 0, 0, 1])), "MaxPool": ((8, 12), pooled("MaxPool", kernel_shape=[2, 2], strides=[1, 2])),
    "GlobalAveragePool": ((7, 22), pooled("GlobalAveragePool")), "LpPool": ((11, 18), pooled("LpPool", kernel_shape=[2, 2], p=2)), "InstanceNormalization": ((7, 22), normalised),
    "Add": ((7, 14), binary("Add")), "Sub": ((8, 13), binary("Sub")), "Mul": ((9, 14), binary("Mul")), "Div": ((10, 14), binary("Div")), "Max": ((8, 13), binary("Max")),
    "Min": ((8, 12), binary("Min")), "Pow": ((7, 12, 15), power), "PRelu": ((9, 16), binary("PRelu")), "Gather": ((7, 11, 13), gather), "Where": ((9, 16), where), "Einsum": ((12, 28), einsum),
    "LayerNormalization": ((17, 21), layer_norm), "TopK": ((10, 11), top_k), "DepthToSpace": ((7, 13, 28), depth), "SpaceToDepth": ((7, 13, 28), space), "ScatterElements": ((11, 18), scattered),
    "Squeeze": ((7, 13, 21), squeezed), "Attention": ((23, 24, 28), attention), "SwiGLU": ((28,), swiglu),
    "Compress": ((9, 11, 28), compressed), "ReverseSequence": ((10, 28), reversed_rows), "Mod": ((10, 13, 28), modulo), "ReduceLogSum": ((11, 18, 28), log_sum),
    **{op: ((7, 11, since), reduce(op, since)) for op, since in (("ReduceSum", 13), ("ReduceMean", 18), ("ReduceMax", 18), ("ReduceL2", 18), ("ReduceLogSumExp", 18), ("ReduceProd", 18))}}
STRUCTURED["ReduceLogSumExp"] = ((7, 11, 18, 28), STRUCTURED["ReduceLogSumExp"][1])

SPOX = {
    "gelu": lambda op, x, c: op.mul(x, op.sigmoid(op.mul(x, c(np.float32(1.702))))), "softmax": lambda op, x, c: op.softmax(x, axis=1),
    "layer_norm": lambda op, x, c: op.layer_normalization(x, c(np.linspace(0.5, 1.5, C).astype("f4")), axis=-1)[0],
    "select": lambda op, x, c: op.where(op.greater(x, c(np.float32(0))), x, op.mul(x, c(np.float32(0.1)))), "mean": lambda op, x, c: op.sub(x, x_mean(op, x, c)),
    "turned": lambda op, x, c: op.matmul(x, op.transpose(x, perm=[1, 0])), "joined": lambda op, x, c: op.concat([x, op.tanh(x)], axis=1),
    "rows": lambda op, x, c: op.gather(x, c(np.array([2, 0, 2])), axis=0), "tiled": lambda op, x, c: op.tile(x, c(np.array([1, 2]))), "cumulative": lambda op, x, c: op.cumsum(x, c(np.array(1)))}


def x_mean(op, x, c):
    return op.div(op.matmul(x, c(np.ones((C, 1), "f4"))), c(np.float32(C)))


def by_helper(opset, op):
    m = Made(opset)
    x = "x"
    if op in INSIDE or op in POSITIVE:
        x = m.node("Mul", ["x", m.const("factor", np.float32(INSIDE.get(op, 0.1)))])
    if op in POSITIVE:
        x = m.node("Add", [x, m.const("more", np.float32(2))])
    y = m.node(op, [x], **({"axis": 1} if op in ("Softmax", "LogSoftmax") else {}))
    return m, m.node("Add", [y, x]) if op in STEPS else y  # whose own derivative is 0


def whole(m, y, weight):
    """The product before, the loss behind."""
    nodes = [helper.make_node("MatMul", ["rows", "proj.weight"], ["x"], name="proj"), *m.nodes, helper.make_node("Mul", [y, y], ["squares"]),
             helper.make_node("Sin", [y], ["waves"]), helper.make_node("Add", ["squares", "waves"], ["both"]), helper.make_node("ReduceMean", ["both"], ["loss"], keepdims=0)]
    graph = helper.make_graph(nodes, "own", [helper.make_tensor_value_info("rows", FLOAT, [B, C])], [helper.make_tensor_value_info("loss", FLOAT, [])],
                              [numpy_helper.from_array(weight, "proj.weight"), *m.weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", m.opset)], ir_version=min(10, 3 + max(0, m.opset - 7)) if m.opset < 14 else 10 if m.opset < 24 else 11)


def by_spox(opset, name, weight):
    import spox
    op = importlib.import_module(f"spox.opset.ai.onnx.v{opset}")
    rows = spox.argument(spox.Tensor(np.float32, (B, C)))
    y = SPOX[name](op, op.matmul(rows, op.const(weight)), lambda value: op.const(value))
    loss = op.reduce_mean(op.add(op.mul(y, y), op.sin(y)), keepdims=0)
    return spox.build({"rows": rows}, {"loss": loss})


def by_onnxscript(opset, name, weight):
    import onnxscript
    op = getattr(onnxscript, f"opset{opset}")
    functions = {"tanh_gate": "y = op.Mul(op.Tanh(x), op.Sigmoid(x))", "norm_by_hand": "m = op.MatMul(x, op.Constant(value=ones))\n    d = op.Sub(x, m)\n    y = op.Div(d, op.Sqrt(op.Add(op.MatMul(op.Mul(d, d), op.Constant(value=ones)), op.Constant(value_float=1e-3))))",
                 "attention_by_hand": "y = op.MatMul(op.Softmax(op.MatMul(x, op.Transpose(x, perm=[1, 0])), axis=-1), x)"}
    source = (f"def own(rows: FLOAT[{B}, {C}]) -> FLOAT:\n    x = op.MatMul(rows, op.Constant(value=weight))\n    {functions[name]}\n"
              "    loss = op.ReduceMean(op.Add(op.Mul(y, y), op.Sin(y)), keepdims=0)\n    return loss\n")
    path = pathlib.Path("/tmp") / f"own_{name}_{opset}.py"
    path.write_text(source)
    space = dict(op=op, FLOAT=onnxscript.FLOAT, weight=numpy_helper.from_array(weight, "proj.weight"), ones=numpy_helper.from_array(np.full((C, C), 1 / C, "f4"), "ones"))
    sys.modules[path.stem] = types.ModuleType(path.stem)
    space["__name__"] = path.stem
    sys.modules[path.stem].__dict__.update(space)
    exec(compile(source, str(path), "exec"), space)
    return onnxscript.script(default_opset=op)(space["own"]).to_model_proto()


def make(kind, opset, name, weight):
    if kind == "spox":
        return by_spox(opset, name, weight)
    if kind == "onnxscript":
        return by_onnxscript(opset, name, weight)
    if kind == "helper":
        return whole(*by_helper(opset, name), weight)
    m = Made(opset)
    return whole(m, STRUCTURED[name][1](m, "x"), weight)


def session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def with_weight_fed(model, weight):
    """The weight, wherever it is, becomes an input; and the name that it has."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for tensor in list(model.graph.initializer):
        if list(tensor.dims) == list(weight.shape) and np.array_equal(numpy_helper.to_array(tensor), weight):
            model.graph.initializer.remove(tensor)
            model.graph.input.append(helper.make_tensor_value_info(tensor.name, FLOAT, list(weight.shape)))
            return model, tensor.name
    for node in list(model.graph.node):
        if node.op_type == "Constant" and node.attribute[0].HasField("t") and list(node.attribute[0].t.dims) == list(weight.shape):
            if np.array_equal(numpy_helper.to_array(node.attribute[0].t), weight):
                model.graph.node.remove(node)
                model.graph.input.append(helper.make_tensor_value_info(node.output[0], FLOAT, list(weight.shape)))
                return model, node.output[0]
    raise ValueError("the weight is not in the file")


def command(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=200)
    if done.returncode:
        raise RuntimeError(" ".join((done.stdout + done.stderr).split())[-260:])


def gradients_in(path):
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + size])
    return {name: np.frombuffer(raw[8 + size + e["data_offsets"][0]:8 + size + e["data_offsets"][1]], "f4").reshape(e["shape"]) for name, e in header.items() if name != "__metadata__"}


def judge(entry, out):
    rng = np.random.default_rng(2)
    weight, rows = (rng.standard_normal((C, C)) * 0.4).astype("f4"), rng.standard_normal((B, C)).astype("f4")
    model = make(*entry, weight)
    try:
        expected = float(session(model).run(["loss"] if entry[0] != "onnxscript" else None, {"rows": rows})[0])
    except Exception as error:
        return "onnxruntime cannot run it", {"why": " ".join(str(error).split())[:160]}
    path = out / "model.onnx"
    onnx.save(model, path)
    np.save(out / "rows.npy", rows)
    loss = model.graph.output[0].name
    command("kedge", "compile", path, "--loss-output", loss, "--optimizer", "sgd", "--train-mode=off", "-o", out / "program")
    command(out / "program", "--steps", 1, "--threads", 1, "--log", out / "log", "--data", f"rows={out / 'rows.npy'}", "--dump-gradients", out / "g", "--dump-step", 0)
    found = json.loads((out / "log").read_text().splitlines()[0])["loss"]
    fed, name = with_weight_fed(model, weight)
    gradients = gradients_in(out / "g")
    gradient = gradients.get(name)
    if gradient is None:
        return "the weight does not train", {"why": ", ".join(gradients)}
    run, direction = session(fed), rng.standard_normal(weight.shape)
    size = float(np.linalg.norm(gradient))
    direction = direction / np.linalg.norm(direction) + (gradient / size if size else 0)
    losses = [float(run.run(None, {"rows": rows, name: (weight + sign * 1e-3 * direction).astype("f4")})[0]) for sign in (1, -1)]
    facts = {"loss": found, "onnxruntime": expected, "projected": float((gradient * direction).sum()), "differences": (losses[0] - losses[1]) / 2e-3, "norm": size}
    if not abs(found - expected) <= 2e-5 * max(1, abs(expected)):
        return "another loss", facts
    close = abs(facts["projected"] - facts["differences"]) <= 1e-2 * size + 2e-4
    return ("right" if close else "another gradient"), facts


def table(rows):
    counts = {}
    for row in rows.values():
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    lines = ["# Small files of our own", "", "<!-- written by scripts/sweep/own_files.py --table -->", *__doc__.split("\n\n")[1].replace(" A\nrow for each goes to OUT/own.json as it is made.", "").splitlines(), "", "| verdict | files |", "|---|---|"]
    lines += [f"| {verdict} | {count} |" for verdict, count in sorted(counts.items(), key=lambda entry: -entry[1])]
    if len(counts) > 1:
        lines += ["", "| file | verdict | why |", "|---|---|---|"]
    lines += [f"| {name} | {row['verdict']} | {row.get('why', '').replace('|', '/')} |" for name, row in sorted(rows.items()) if row["verdict"] != "right"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--table", type=pathlib.Path)
    args = parser.parse_args()
    (args.out / "work").mkdir(parents=True, exist_ok=True)
    kept = args.out / "own.json"
    rows = json.loads(kept.read_text()) if kept.exists() else {}
    for name, entry in cases().items():
        if (args.names and not any(wanted in name for wanted in args.names)) or (name in rows and not args.names):
            continue
        try:
            verdict, facts = judge(entry, args.out / "work")
        except Exception as error:  # a row of its own
            verdict, facts = "refused or failed", {"why": f"{type(error).__name__}: {error}"[:260]}
        rows[name] = {"verdict": verdict, **facts}
        print(f"{name}: {verdict} {facts if verdict != 'right' else ''}", flush=True)
        kept.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")
    if args.table:
        args.table.write_text(table(rows))


if __name__ == "__main__":
    sys.exit(main())
