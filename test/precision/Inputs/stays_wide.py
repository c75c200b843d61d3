"""Values that overflow or lose all digits in a naive 16-bit cast: stays_wide.py CASE FOLDER. Each case compares one step and a
prediction in 16 bits with those in fp32."""
import subprocess
import sys

import numpy
import onnx
from small import Small, array, close

random = numpy.random.default_rng(7)
MSE = ["--loss", "mse", "--logits", "y"]
BOUNDS = {"bf16": 2 ** -6, "fp16": 2 ** -9}


def step_and_prediction(case, precision, *options):
    # The losses are large: at 65536 times as much their gradients overflow fp16, and should.
    scale = ["--loss-scale-init", "64"] if precision == "fp16" else []
    program = case.compile(precision, *options, "--precision", precision, *scale)
    line = case.run(program, "--steps", "1")[0]
    file = case.folder / f"{precision}.npy"
    evaluation = [word for name, path in case.data.items() for word in ("--eval-data", f"{name}={path}")]
    subprocess.run([program, *evaluation, "--steps", "0", "--predict", f"y={file}"], check=True, capture_output=True)
    return line, numpy.load(file)


def same_as_fp32(case, *options, loss=1, prediction=1):
    """`loss`, `prediction`: what a case allows, in units of the format's bound."""
    wanted, y = step_and_prediction(case, "fp32", *options)
    for precision, bound in BOUNDS.items():
        found, narrow = step_and_prediction(case, precision, *options)
        assert not found["skipped"] and close([found["loss"]], [wanted["loss"]], loss * bound), (precision, found, wanted)
        assert close(narrow, y, prediction * bound), (precision, numpy.max(numpy.abs(narrow - y)), numpy.max(numpy.abs(y)))
        assert close([found["grad_norm"]], [wanted["grad_norm"]], 4 * bound), (precision, found, wanted)
    return wanted, y


def attention_logits(folder):
    """Logits of 1e5 and -1e5, of an attention in primitives: each query finds its own key."""
    length, width = 8, 16
    rows = numpy.eye(length, width, dtype=numpy.float32)[None, None]
    q, k = 320 * numpy.eye(width, dtype=numpy.float32), 320 * numpy.eye(width, dtype=numpy.float32)
    k[:, length:] -= 1  # not a mask
    nodes = [("MatMul", ["x", "q"], ["a"]), ("MatMul", ["x", "k"], ["b"]), ("MatMul", ["x", "v"], ["c"]),
             ("Transpose", ["b"], ["bt"], {"perm": [0, 1, 3, 2]}), ("MatMul", ["a", "bt"], ["s"]), ("Softmax", ["s"], ["p"], {"axis": -1}),
             ("MatMul", ["p", "c"], ["y"])]
    v = random.normal(size=(width, width)).astype(numpy.float32)
    case = Small(folder, nodes, {"q": q, "k": k, "v": v}, {"x": rows}, {"y": [1, 1, length, width]})
    case.add_data("labels", numpy.zeros((1, 1, length, width), numpy.float32))
    _, y = same_as_fp32(case, *MSE)
    assert close(y, rows @ v, 1e-6), y
    assert 320 * 320 > 1e5 and "train.attention" in case.text("train", *MSE, "--precision", "fp16")


def layer_norm_variance(folder):
    """A variance of 1e6, whose squares are beyond fp16."""
    x = (1000 * random.normal(size=(16, 64))).astype(numpy.float32)
    nodes = [("LayerNormalization", ["x", "g", "b"], ["n"], {"axis": -1}), ("MatMul", ["n", "w"], ["y"])]
    parameters = {"g": random.normal(size=64).astype(numpy.float32), "b": random.normal(size=64).astype(numpy.float32),
                  "w": random.normal(size=(64, 8)).astype(numpy.float32)}
    case = Small(folder, nodes, parameters, {"x": x}, {"y": [16, 8]})
    case.add_data("labels", numpy.zeros((16, 8), numpy.float32))
    assert 5e5 < x.var() < 2e6
    same_as_fp32(case, *MSE)


def rotary_position(folder):
    """Angles of position 4000: a float of 16 bits tells only every second one from its neighbours. The frequencies are a
    constant, as in exported models, or an initializer that nothing tells from a parameter, so that they train."""
    rotary_of(folder, True)
    rotary_of(folder, False)


def rotary_of(folder, is_constant):
    heads, length, width = 2, 4, 8
    half = width // 2
    positions = array([[3997, 3998, 3999, 4000]], numpy.int64)
    inverse = (10000.0 ** (-numpy.arange(half) / half)).astype(numpy.float32)
    constant = ("Constant", [], ["inverse"], {"value": onnx.numpy_helper.from_array(inverse)})
    nodes = [constant] * is_constant + [("MatMul", ["x", "w"], ["m"]), ("Reshape", ["m", "split"], ["h"]), ("Transpose", ["h"], ["q"], {"perm": [0, 2, 1, 3]}),
             ("Cast", ["positions"], ["p"], {"to": 1}), ("Unsqueeze", ["p", "last"], ["pc"]), ("Mul", ["pc", "inverse"], ["angle"]),
             ("Concat", ["angle", "angle"], ["angles"], {"axis": -1}), ("Cos", ["angles"], ["c3"]), ("Sin", ["angles"], ["s3"]),
             ("Unsqueeze", ["c3", "one"], ["c"]), ("Unsqueeze", ["s3", "one"], ["s"]),
             ("Slice", ["q", "zero", "half", "axis3"], ["q1"]), ("Slice", ["q", "half", "width", "axis3"], ["q2"]), ("Neg", ["q2"], ["q2n"]),
             ("Concat", ["q2n", "q1"], ["rot"], {"axis": -1}), ("Mul", ["q", "c"], ["qc"]), ("Mul", ["rot", "s"], ["rs"]),
             ("Add", ["qc", "rs"], ["y"])]
    ints = lambda *values: array(values, numpy.int64)
    parameters = {"w": random.normal(size=(16, heads * width)).astype(numpy.float32),
                  "split": ints(0, length, heads, width), "last": ints(-1), "one": ints(1), "zero": ints(0), "half": ints(half),
                  "width": ints(width), "axis3": ints(3)}
    x = random.normal(size=(1, length, 16)).astype(numpy.float32)
    if not is_constant:
        parameters["inverse"] = inverse
    case = Small(folder, nodes, parameters, {"x": x, "positions": positions}, {"y": [1, heads, length, width]})
    case.add_data("labels", numpy.zeros((1, heads, length, width), numpy.float32))
    same_as_fp32(case, *MSE, loss=2, prediction=2)
    assert "train.rotary" in case.text("train", *MSE, "--precision", "fp16")


def loss_over_classes(folder):
    """The mean loss over 50257 classes: the sum of exponentials, 5e4 and more, is beyond fp16's precision and near its end."""
    classes = 50257
    weight = (0.5 * random.normal(size=(8, classes))).astype(numpy.float32)
    x = random.normal(size=(32, 8)).astype(numpy.float32)
    case = Small(folder, [("MatMul", ["x", "w"], ["y"])], {"w": weight}, {"x": x}, {"y": [32, classes]})
    case.add_data("labels", random.integers(0, classes, 32))
    wanted, y = same_as_fp32(case, "--loss", "cross-entropy", loss=0.1)
    assert numpy.exp(y.astype(float)).sum(axis=1).max() > 65504 and 10 < wanted["loss"] < 14, wanted


def underflow(folder):
    """Gradients of 1e-9, which fp16 rounds to zero: unscaled nothing is learned, scaled all is."""
    x = (1e-4 * random.normal(size=(8, 4))).astype(numpy.float32)
    goal = random.normal(size=(4, 64)).astype(numpy.float32)
    case = Small(folder, [("MatMul", ["x", "w"], ["y"])], {"w": numpy.full((4, 64), 0.25, numpy.float32)}, {"x": x}, {"y": [8, 64]})
    case.add_data("labels", x @ goal)
    flags = ["--steps", "300", "--lr", "0.03", "--schedule", "linear", "--weight-decay", "0", "--eps", "1e-16"]
    losses = {}
    for name, options in {"fp32": ["--precision", "fp32"], "unscaled": ["--precision", "fp16", "--loss-scale", "1"],
                          "scaled": ["--precision", "fp16"]}.items():
        lines = case.run(case.compile(name, *MSE, *options), *flags)
        losses[name] = lines[0]["loss"], lines[-1]["loss"], lines[0]["grad_norm"]
    assert losses["fp32"][1] < 1e-2 * losses["fp32"][0], losses
    assert losses["unscaled"][2] == 0 and losses["unscaled"][0] == losses["unscaled"][1], losses
    assert losses["scaled"][2] > 0 and losses["scaled"][1] < 1e-2 * losses["scaled"][0], losses


if __name__ == "__main__":
    case = globals()[sys.argv[1]]
    case(sys.argv[2])
    print(f"{sys.argv[1]}: {case.__doc__}")
