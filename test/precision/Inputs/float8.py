"""Products of 8-bit floats beside numpy's: float8.py CASE FOLDER. The formats are written anew here, from their definition."""
import json
import subprocess
import sys

import numpy
from small import Small, array, tensors

F32 = numpy.float32
SGD = ["--optimizer", "sgd", "--loss", "none", "--loss-output", "loss", "--precision", "fp8"]


def numbers(exponent_bits, digits, has_infinity):
    """All positive finite numbers of a format, in order."""
    bias, found = 2 ** (exponent_bits - 1) - 1, []
    for code in range(2 ** (exponent_bits + digits)):
        exponent, fraction = code >> digits, code % 2 ** digits
        if exponent == 2 ** exponent_bits - 1 and (has_infinity or fraction == 2 ** digits - 1):
            continue
        found.append((fraction / 2 ** digits + (exponent > 0)) * 2.0 ** (max(exponent, 1) - bias))
    return numpy.array(found)


E4M3, E5M2 = numbers(4, 3, False), numbers(5, 2, True)


def rounded(x, format):
    """The nearest number; of two the one with the even code. What is beyond the largest is the largest."""
    size = numpy.abs(x.astype(numpy.float64))
    upper = numpy.clip(numpy.searchsorted(format, size), 1, len(format) - 1)
    low, high = size - format[upper - 1], format[upper] - size
    code = numpy.where((low < high) | ((low == high) & (upper % 2 == 1)), upper - 1, upper)
    return (numpy.sign(x) * format[code]).astype(F32)


def bf16(x):
    bits = numpy.asarray(x, F32).view(numpy.uint32).astype(numpy.uint64)
    return (((bits + 0x7fff + (bits >> 16 & 1)) >> 16 << 16).astype(numpy.uint32)).view(F32)


def narrow(x, format):
    """x as 8-bit floats, and what they are to be multiplied by."""
    scale = F32(numpy.float64(format[-1]) / max(numpy.float64(numpy.abs(x).max()), 1e-12))
    return rounded(x.astype(F32) * scale, format), F32(1) / scale


def product(a, b):
    """Sums of products of 8-bit floats are exact in f64."""
    (x, inverse_x), (y, inverse_y) = a, b
    return bf16((x.astype(numpy.float64) @ y.astype(numpy.float64)).astype(F32) * F32(inverse_x * inverse_y))


def model(folder, x, w, c, opset=20):
    """y = (x w) I, loss = sum(y c): the gradient of x w is c, and the product by I is the head."""
    nodes = [("MatMul", ["x", "w"], ["h"]), ("MatMul", ["h", "eye"], ["y"]), ("Mul", ["y", "c"], ["z"]),
             ("ReduceSum", ["z"], ["loss"], {"keepdims": 0})]
    eye = numpy.eye(w.shape[1], dtype=F32)
    return Small(folder, nodes, {"w": w, "eye": eye}, {"x": x, "c": c}, {"loss": [], "y": [len(x), w.shape[1]]}, opset)


def step(case, *options):
    """What a step computes: the output and the gradient of w."""
    program = case.compile("program", *SGD, "--freeze", "eye", *options)
    gradients, y = case.folder / "gradients.safetensors", case.folder / "y.npy"
    case.run(program, "--steps", "1", "--dump-gradients", gradients, "--dump-step", "0")
    evaluated = [word for name, path in case.data.items() for word in ("--eval-data", f"{name}={path}")]
    case.run(program, "--steps", "0", *evaluated, "--predict", f"y={y}")
    return numpy.load(y).astype(F32), tensors(gradients)["w"]


def same(found, wanted, what):
    wrong = numpy.argwhere(~(found == wanted))
    assert not len(wrong), (what, len(wrong), wrong[0], found[tuple(wrong[0])], wanted[tuple(wrong[0])])


def every_number(folder):
    """Every bf16 number is rounded to the nearest of E4M3 forward and of E5M2 in gradients, half to even."""
    every = (numpy.arange(65536, dtype=numpy.uint32) << 16).view(F32).reshape(256, 256)
    within = lambda most: numpy.where(numpy.abs(every) <= most, every, F32(most))  # NaN, too, is beyond
    x, w, c = numpy.eye(256, dtype=F32), within(448), within(57344)
    y, gradient = step(model(folder, x, w, c))
    same(y, product(narrow(x, E4M3), narrow(w, E4M3)), "y")
    same(gradient, product(narrow(x.T, E4M3), narrow(c, E5M2)), "gradient")


def scales(folder):
    """Each tensor has a scale of its own, of its largest magnitude, and they are taken out before the one rounding."""
    draw = numpy.random.default_rng(7)
    x, w, c = (bf16(size * draw.normal(size=shape)) for size, shape in ((3e-5, (32, 64)), (70, (64, 48)), (1e9, (32, 48))))
    y, gradient = step(model(folder, x, w, c))
    for found, wanted, plain in ((y, product(narrow(x, E4M3), narrow(w, E4M3)), x @ w),
                                 (gradient, product(narrow(x.T, E4M3), narrow(c, E5M2)), x.T @ c)):
        # Sums of f32 in another order: now and then the neighbour in bf16.
        apart = numpy.abs(found - wanted) / numpy.abs(wanted).max()
        assert apart.max() < 2 ** -8 and numpy.mean(found != wanted) < 0.02, (apart.max(), numpy.mean(found != wanted))
        assert numpy.abs(found - plain).max() / numpy.abs(plain).max() > 2 ** -7


def zeros(folder):
    """A tensor of zeros has a finite scale: its products are 0, and nothing is skipped."""
    x, w = numpy.eye(16, dtype=F32), numpy.ones((16, 16), F32)
    y, gradient = step(model(folder, x, w, 0 * w))
    assert numpy.array_equal(y, w) and not gradient.any(), (y, gradient)
    y, gradient = step(model(folder, 0 * x, w, w))
    assert not y.any() and not gradient.any(), (y, gradient)


def not_finite(folder):
    """One number that is not finite in a gradient, which a product turns into 8 bits, makes the step a skipped one: a number of the
    data that the scale carries beyond fp32. What is not finite in the data ends the run."""
    x, w, c = numpy.eye(16, dtype=F32), numpy.ones((16, 16), F32), numpy.ones((32, 16), F32)
    case = model(folder, x, w, c[:16])
    case.add_data("x", numpy.concatenate([x, x]))
    c[17, 3] = 3e38
    case.add_data("c", c)
    program = case.compile("scaled", *SGD, "--freeze", "eye", "--loss-scale", "dynamic", "--loss-scale-init", "1024")
    lines, weights = case.trained(program, "--steps", "2", "--lr", "0.5", "--weight-decay", "0")
    assert [line["skipped"] for line in lines] == [False, True] and lines[1]["loss_scale"] == 1024, lines
    assert numpy.array_equal(weights["w"], w - F32(0.5)), weights
    c[17, 3] = numpy.inf
    case.add_data("c", c)
    data = [word for name, path in case.data.items() for word in ("--data", f"{name}={path}")]
    done = subprocess.run([case.compile("plain", *SGD), *data, "--steps", "2"], capture_output=True, text=True)
    assert done.returncode == 1 and "step 1" in done.stderr and "not finite" in done.stderr, done.stderr


def stages(folder):
    """What a rank multiplies by has the scale of the whole weight, wherever its parts lie: stages agree to the bit."""
    draw = numpy.random.default_rng(7)
    x, w, c = (draw.normal(size=shape).astype(F32) for shape in ((16, 64), (64, 48), (16, 48)))
    w[-1] *= 50  # the second rank's part has the largest magnitude
    case = model(folder, x, w, c)
    case.add_data("x", draw.normal(size=(64, 64)).astype(F32))
    case.add_data("c", draw.normal(size=(64, 48)).astype(F32))
    seen = []
    for stage in ("0", "3"):
        program = case.compile(f"stage-{stage}", *SGD, "--freeze", "eye", "--ranks", "2", "--zero", stage)
        lines, weights = case.run_on(2, program, "--steps", "3", "--lr", "1e-3")
        seen.append(([(line["loss"], line["grad_norm"]) for line in lines], weights["w"].tobytes()))
    assert seen[0] == seen[1], [lines for lines, _ in seen]


def plan(folder):
    """What forward keeps for backward in 8 bits has half the bytes, and no product but the head's reads 16 bits."""
    draw = numpy.random.default_rng(7)
    x, c = (draw.normal(size=(512, 256)).astype(F32) for _ in range(2))
    weights = {f"w{i}": draw.normal(size=(256, 256)).astype(F32) for i in range(6)}
    nodes = [("MatMul", ["x" if i == 0 else f"t{i}", f"w{i}"], [f"t{i + 1}"]) for i in range(6)]
    nodes += [("Mul", ["t6", "c"], ["z"]), ("ReduceSum", ["z"], ["loss"], {"keepdims": 0})]
    case = Small(folder, nodes, weights, {"x": x, "c": c}, {"loss": []})
    found = {}
    for precision in ("bf16", "fp8"):
        report = subprocess.run(["kedge", "plan", case.model, "--loss", "none", "--loss-output", "loss", "--precision", precision, "--target",
                                 "cuda", "--json"], check=True, capture_output=True, text=True).stdout
        found[precision] = json.loads(report)["peak_breakdown"]["activations"]
    # Five tensors have half their bytes; a gradient in 8 bits and transposed operands are there as well.
    assert found["bf16"] - found["fp8"] >= 2 * 512 * 256, found
    schedule = case.text("schedule", *SGD)
    narrow = [line for line in schedule.splitlines() if "train.scaled_product" in line]
    wide = [line for line in schedule.splitlines() if '"onnx.MatMul"' in line or '"onnx.Gemm"' in line]
    assert len(narrow) >= 5 * 3 - 1 and all("xbf16" in line for line in wide), (len(narrow), wide)


if __name__ == "__main__":
    case = globals()[sys.argv[1]]
    case(sys.argv[2])
    print(f"{sys.argv[1]}: {case.__doc__}")
