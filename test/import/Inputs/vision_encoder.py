"""A vision encoder whose grid sizes are an input, as those of Qwen-VL: vision_encoder.py OUT [--precision bf16].

Patches of images of several sizes lie in one tensor, and `image_grid_thw` [images, 3] says how many frames, rows and columns each image has. From it the graph computes
positions (Scan over the images, Range, Compress), the order in windows, and which patches attend to which. With --value image_grid_thw=... all of this is known when compiling.
The first loss is that of onnxruntime's forward, gradients are the differences of its loss, the exported file has the operators and inputs of the first and gives the program's
outputs; without --value the message names the option. Needs kedge in PATH, numpy, onnx and onnxruntime.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HIDDEN, HEADS, SIZE, INNER, CHANNELS, FRAMES, PATCH, MERGE, WINDOW, OUT = 16, 2, 8, 24, 3, 2, 2, 2, 2, 10
GRID = [[1, 4, 4], [2, 6, 4]]
PATCHES = sum(t * h * w for t, h, w in GRID)
INT, FLOAT = TensorProto.INT64, TensorProto.FLOAT


class Part:
    """Nodes of the graph, or of the body of a Scan."""

    def __init__(self, prefix, known=None):
        self.prefix, self.nodes, self.weights, self.rng = prefix, [], {}, known.rng if known else np.random.default_rng(9)

    def __call__(self, op, *inputs, outputs=1, **attributes):
        names = [f"{self.prefix}{op}_{len(self.nodes)}.{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(op, [self.value(i) for i in inputs], names, name=names[0], **attributes))
        return names[0] if outputs == 1 else names

    def value(self, value):
        """Integers become constants of one dimension, and one integer a scalar."""
        if isinstance(value, str):
            return value
        name = f"{self.prefix}constant_{len(self.nodes)}"
        self.nodes.append(helper.make_node("Constant", [], [name], name=name, value=numpy_helper.from_array(np.array(value, "f4" if isinstance(value, float) else "i8"))))
        return name

    def weight(self, name, *shape, ones=False):
        self.weights[name] = (ones + (0.1 if ones else 1 / np.sqrt(shape[-1])) * self.rng.standard_normal(shape)).astype("f4")
        return name

    def linear(self, x, name, outputs, inputs):
        return self("Gemm", x, self.weight(f"{name}.weight", outputs, inputs), self.weight(f"{name}.bias", outputs), transB=1)


def join(p, *parts):
    return p("Concat", *[p("Reshape", part, [1]) if isinstance(part, str) else [part] for part in parts], axis=0)


def sizes(p):
    return [p("Gather", "thw", k, axis=0) for k in range(3)]


def body(name, states, outputs, part):
    row = helper.make_tensor_value_info("thw", INT, [3])
    inputs = [helper.make_tensor_value_info(state, INT, []) for state in states] + [row]
    return helper.make_graph(part.nodes, name, inputs, [helper.make_tensor_value_info(output, INT, None) for output in outputs])


def compacted(p, stacked, counts, most):
    """Rows of all images one after the other, without what fills them up."""
    places = p("Unsqueeze", p("Range", 0, most, 1), [0])
    kept = p("Reshape", p("Less", places, p("Unsqueeze", counts, [1])), [-1])
    rest = p("Shape", stacked, start=2)
    return p("Compress", p("Reshape", stacked, p("Concat", [-1], rest, axis=0)), kept, axis=0)


def positions(p, counts, most):
    b = Part("positions/", p)
    t, h, w = sizes(b)
    order = join(b, b("Div", h, MERGE), MERGE, b("Div", w, MERGE), MERGE)
    rows, columns = b("Unsqueeze", b("Range", 0, h, 1), [1]), b("Unsqueeze", b("Range", 0, w, 1), [0])
    whole = join(b, h, w)
    lines = [b("Reshape", b("Transpose", b("Reshape", b("Expand", line, whole), order), perm=[0, 2, 1, 3]), [-1, 1]) for line in (rows, columns)]
    ids = b("Tile", b("Concat", *lines, axis=1), join(b, t, 1))
    missing = b("Sub", most, b("Mul", t, b("Mul", h, w)))
    padded = b("Pad", ids, join(b, 0, 0, missing, 0), -1)
    scanned = p("Scan", "image_grid_thw", body=body("positions", [], [padded], b), num_scan_inputs=1)
    return compacted(p, scanned, counts, most)


def windows(p, counts, most):
    """The order of merged patches in windows, and how many patches are in each window."""
    b = Part("windows/", p)
    t, h, w = sizes(b)
    rows, columns = b("Div", h, MERGE), b("Div", w, MERGE)
    merged = b("Mul", t, b("Mul", rows, columns))
    places = b("Reshape", b("Range", 0, merged, 1), join(b, t, rows, columns))
    more = [b("Sub", WINDOW, b("Mod", size, WINDOW)) for size in (rows, columns)]
    padded = b("Pad", places, join(b, 0, 0, 0, 0, *more), -100)
    counted = [b("Div", b("Add", size, m), WINDOW) for size, m in zip((rows, columns), more)]
    apart = b("Transpose", b("Reshape", padded, join(b, t, counted[0], WINDOW, counted[1], WINDOW)), perm=[0, 1, 3, 2, 4])
    flat = b("Reshape", apart, [-1, WINDOW * WINDOW])
    isReal = b("Not", b("Equal", flat, -100))
    lengths = b("ReduceSum", b("Cast", isReal, to=INT), [1], keepdims=0)
    order = b("Add", b("Compress", b("Reshape", flat, [-1]), b("Reshape", isReal, [-1])), "offset")
    filled = b("Pad", order, join(b, 0, b("Sub", b("Div", most, MERGE * MERGE), merged)), -1)
    lengthsFilled = b("Pad", lengths, join(b, 0, b("Sub", most, b("Squeeze", b("Shape", lengths)))), 0)
    offset = b("Add", "offset", merged)
    graph = body("windows", ["offset"], [offset, filled, lengthsFilled], b)
    _, orders, lengths = p("Scan", 0, "image_grid_thw", outputs=3, body=graph, num_scan_inputs=1)
    merged = p("Div", counts, MERGE * MERGE)
    return compacted(p, orders, merged, p("Div", most, MERGE * MERGE)), p("Mul", p("Reshape", lengths, [-1]), MERGE * MERGE)


def bias(p, lengths):
    """0 between patches of one sequence, else far below."""
    ends = p("CumSum", lengths, 0)
    total = p("Squeeze", p("Shape", "embedded", start=0, end=1))
    before = p("Cast", p("GreaterOrEqual", p("Unsqueeze", p("Range", 0, total, 1), [1]), p("Unsqueeze", ends, [0])), to=INT)
    segment = p("ReduceSum", before, [1], keepdims=0)
    same = p("Equal", p("Unsqueeze", segment, [1]), p("Unsqueeze", segment, [0]))
    return p("Unsqueeze", p("Where", same, 0.0, -1e9), [0])


def rotated(p, x, cos, sin):
    first, second = p("Split", x, outputs=2, axis=-1, num_outputs=2)
    return p("Add", p("Mul", x, cos), p("Mul", p("Concat", p("Neg", second), first, axis=-1), sin))


def block(p, k, x, mask, cos, sin):
    def norm(name, value):
        return p("RMSNormalization", value, p.weight(f"blocks.{k}.{name}.weight", HIDDEN, ones=True), axis=-1, epsilon=1e-6)

    qkv = p("Reshape", p.linear(norm("norm1", x), f"blocks.{k}.attn.qkv", 3 * HIDDEN, HIDDEN), [-1, 3, HEADS, SIZE])
    q, key, v = [p("Transpose", p("Squeeze", part, [1]), perm=[1, 0, 2]) for part in p("Split", qkv, outputs=3, axis=1, num_outputs=3)]
    q, key = rotated(p, q, cos, sin), rotated(p, key, cos, sin)
    scores = p("Mul", p("MatMul", q, p("Transpose", key, perm=[0, 2, 1])), SIZE ** -0.5)
    mixed = p("MatMul", p("Softmax", p("Add", scores, mask), axis=-1), v)
    x = p("Add", x, p.linear(p("Reshape", p("Transpose", mixed, perm=[1, 0, 2]), [-1, HIDDEN]), f"blocks.{k}.attn.proj", HIDDEN, HIDDEN))
    h = norm("norm2", x)
    gate, up = p.linear(h, f"blocks.{k}.mlp.gate_proj", INNER, HIDDEN), p.linear(h, f"blocks.{k}.mlp.up_proj", INNER, HIDDEN)
    return p("Add", x, p.linear(p("Mul", p("Mul", gate, p("Sigmoid", gate)), up), f"blocks.{k}.mlp.down_proj", HIDDEN, INNER))


def encoder():
    p = Part("/")
    grid = "image_grid_thw"
    counts = p("Mul", p("Mul", *[p("Squeeze", p("Slice", grid, [k], [k + 1], [1]), [1]) for k in range(2)]), p("Squeeze", p("Slice", grid, [2], [3], [1]), [1]))
    most = p("ReduceMax", counts, keepdims=0)
    patches = p("Reshape", "pixel_values", [-1, CHANNELS, FRAMES, PATCH, PATCH])
    kernel = [FRAMES, PATCH, PATCH]
    embedded = p("Conv", patches, p.weight("patch_embed.proj.weight", HIDDEN, CHANNELS, *kernel), kernel_shape=kernel, strides=kernel)
    p.nodes.append(helper.make_node("Reshape", [embedded, p.value([-1, HIDDEN])], ["embedded"], name="/embedded"))
    ids, (order, lengths) = positions(p, counts, most), windows(p, counts, most)
    p.weights["angles"] = np.outer(np.arange(16), 1 / 100 ** (np.arange(SIZE // 4) / (SIZE // 4))).astype("f4")
    angles = p("Concat", *[p("Gather", "angles", p("Squeeze", p("Slice", ids, [k], [k + 1], [1]), [1]), axis=0) for k in range(2)], axis=1)

    def inWindows(x, width):
        groups = p("Reshape", x, [-1, MERGE * MERGE, width])
        return p("Reshape", p("Gather", groups, order, axis=0), [-1, width])

    angles = inWindows(angles, SIZE // 2)
    angles = p("Concat", angles, angles, axis=1)
    cos, sin = p("Cos", angles), p("Sin", angles)
    masks = [bias(p, lengths), bias(p, counts)]
    x = inWindows("embedded", HIDDEN)
    for k in range(2):
        x = block(p, k, x, masks[k], cos, sin)
    x = p("LayerNormalization", x, p.weight("merger.ln_q.weight", HIDDEN, ones=True), axis=-1)
    wide = MERGE * MERGE * HIDDEN
    x = p("Gelu", p.linear(p("Reshape", x, [-1, wide]), "merger.mlp.0", INNER, wide))
    x = p.linear(x, "merger.mlp.2", OUT, INNER)
    back = p("TopK", order, p("Shape", order), outputs=2, largest=0)[1]
    p.nodes.append(helper.make_node("Gather", [x, back], ["image_features"], name="/image_features", axis=0))
    width = CHANNELS * FRAMES * PATCH * PATCH
    inputs = [helper.make_tensor_value_info("pixel_values", FLOAT, ["patches", width]), helper.make_tensor_value_info(grid, INT, ["images", 3])]
    outputs = [helper.make_tensor_value_info("image_features", FLOAT, ["merged", OUT])]
    graph = helper.make_graph(p.nodes, "vision", inputs, outputs, [numpy_helper.from_array(value, name) for name, value in p.weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


def session(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def features(run, x, **weights):
    return run.run(["image_features"], {"pixel_values": x, "image_grid_thw": np.array(GRID, "i8"), **weights})[0].astype("f8")


def fed(model):
    """Weights become inputs, so that one session has all differences."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    model.graph.input.extend(helper.make_tensor_value_info(name, FLOAT, value.shape) for name, value in weights.items())
    del model.graph.initializer[:]
    return session(model), weights


def command(*words, fails=False):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if bool(done.returncode) != fails:
        sys.exit(f"{words[0]} {words[1]}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout + done.stderr


def gradients_in(path):
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + size])
    return {name: np.frombuffer(raw[8 + size + e["data_offsets"][0]:8 + size + e["data_offsets"][1]], "f4").reshape(e["shape"]) for name, e in header.items() if name != "__metadata__"}


def relative(a, b):
    return float(np.abs(a - b).max() / np.abs(b).max())


def check(out, precision):
    model, file, rng, wrong = encoder(), out / "vision.onnx", np.random.default_rng(3), []
    onnx.save(model, file)
    x, labels = rng.standard_normal((PATCHES, model.graph.input[0].type.tensor_type.shape.dim[1].dim_value)).astype("f4"), rng.standard_normal((PATCHES // MERGE ** 2, OUT)).astype("f4")
    np.save(out / "x.npy", x), np.save(out / "labels.npy", labels)
    options = [file, "--shape", f"pixel_values={PATCHES}x{x.shape[1]}", "--loss", "mse", "--optimizer", "sgd", "--precision", precision, "-o", out / "program"]
    told = command("kedge", "compile", *options, "--shape", f"image_grid_thw={len(GRID)}x3", fails=True)
    if "--value INPUT=NUMBER" not in told:
        wrong.append(f"the message does not name the option: {told[-600:]}")
    command("kedge", "compile", *options, "--shape", f"image_grid_thw={len(GRID)}x3", "--value", "image_grid_thw=" + ",".join(str(size) for row in GRID for size in row))
    data = [word for name, at in (("pixel_values", "x"), ("labels", "labels")) for word in ("--data", f"{name}={out / at}.npy", "--eval-data", f"{name}={out / at}.npy")]
    command(out / "program", "--steps", 3, "--lr", 0.05, "--threads", 1, "--log", out / "log", *data, "--dump-gradients", out / "g", "--dump-step", 0, "--predict", f"image_features={out / 'own.npy'}",
            "--export-onnx", out / "trained.onnx")
    losses = [json.loads(line)["loss"] for line in (out / "log").read_text().splitlines()]
    bound = 2e-5 if precision == "fp32" else 2e-2
    run, weights = fed(model)

    def loss_of(**changed):
        return float(((features(run, x, **{**weights, **changed}) - labels) ** 2).mean())

    if not abs(losses[0] - loss_of()) < bound * loss_of() or not losses[2] < losses[0]:
        wrong.append(f"the losses are {losses}, onnxruntime's first one is {loss_of()}")
    gradients = gradients_in(out / "g")
    if set(gradients) != set(weights) - {"angles"}:
        wrong.append(f"gradients of {sorted(gradients)}")
    for name, gradient in gradients.items():
        direction = rng.standard_normal(gradient.shape)
        size = float(np.linalg.norm(gradient))
        direction = direction / np.linalg.norm(direction) + gradient / size
        ahead, behind = (loss_of(**{name: (weights[name] + sign * 2e-3 * direction).astype("f4")}) for sign in (1, -1))
        if not abs((ahead - behind) / 4e-3 - float((gradient * direction).sum())) < (1e-2 if precision == "fp32" else 5e-2) * size + 1e-4:
            wrong.append(f"{name}: its gradient gives {(gradient * direction).sum()} along a direction, differences {(ahead - behind) / 4e-3}")
    trained = onnx.load(out / "trained.onnx")
    if [n.op_type for n in trained.graph.node] != [n.op_type for n in model.graph.node] or [i.name for i in trained.graph.input] != [i.name for i in model.graph.input]:
        wrong.append("the exported file has other operators or inputs")
    if not (error := relative(features(session(trained), x), np.load(out / "own.npy"))) < bound:
        wrong.append(f"the exported file differs from the program's outputs by {error:.2g} of the largest")
    return wrong, len(gradients)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--precision", default="fp32")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    wrong, gradients = check(args.out, args.precision)
    print("\n".join(wrong))
    print(f"{gradients} gradients, {len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
