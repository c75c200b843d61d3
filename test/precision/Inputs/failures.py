"""What others' 16-bit training got wrong, one case each: failures.py CASE FOLDER. Prints what was seen."""
import sys

import numpy
from small import Small, array, close

G = array([[0.1, 0.2, -0.3]])  # of `linear`, the gradient of w at every step
# Below 65504: a gradient of 1 times the scale is an fp16 value.
SCALED = ["--loss-scale-init", "1024"]
GRAPH_LOSS = ["--loss", "none", "--loss-output", "loss"]


def linear(folder, rows=G, w=(1, -2, 3), **more):
    """loss = sum(x w): the gradient of w is the sum of the batch's rows of x."""
    nodes = [("Mul", ["x", "w"], ["y"]), ("ReduceSum", ["y"], ["loss"], {"keepdims": 0})]
    return Small(folder, nodes, {"w": array(w)}, {"x": rows}, {"loss": []}, **more)


def scale_moves_after_unscaling(folder):
    """The gradients of a step at which the scale grows are those of the step before."""
    case = linear(folder)
    program = case.compile("program", *GRAPH_LOSS, "--precision", "fp16", "--loss-scale-window", "2", "--loss-scale-init", "1024")
    lines = case.run(program, "--steps", "9", "--lr", "0.01")
    assert [line["loss_scale"] for line in lines] == [1024, 1024, 2048, 2048, 4096, 4096, 8192, 8192, 16384], lines
    norms = {line["grad_norm"] for line in lines}
    assert len(norms) == 1 and close(list(norms), [numpy.linalg.norm(G)], 1e-3), norms


def bf16_is_not_unscaled(folder):
    """bf16 has no loss scale, and with one its gradients are the same."""
    case = linear(folder)
    plain = case.trained(case.compile("plain", *GRAPH_LOSS, "--precision", "bf16"), "--steps", "4")
    scaled = case.trained(case.compile("scaled", *GRAPH_LOSS, "--precision", "bf16", "--loss-scale", "dynamic"), "--steps", "4")
    for (a, b) in zip(plain[0], scaled[0]):
        assert a["loss_scale"] == 1 and b["loss_scale"] == 65536 and a["grad_norm"] == b["grad_norm"], (a, b)
    assert numpy.array_equal(plain[1]["w"], scaled[1]["w"])
    assert close([plain[0][0]["grad_norm"]], [numpy.linalg.norm(G)], 2 ** -7), plain[0][0]


def last_micro_batch_counts(folder):
    """A gradient that only the last of four micro-batches has is applied in that very step."""
    rows = numpy.concatenate([0 * G, 0 * G, 0 * G, 4 * G])
    case = linear(folder, rows[:1])
    case.add_data("x", rows)
    program = case.compile("program", *GRAPH_LOSS, "--precision", "bf16", "--accumulate", "4", "--optimizer", "sgd")
    lines, weights = case.trained(program, "--steps", "1", "--lr", "1", "--weight-decay", "0")
    assert close([lines[0]["grad_norm"]], [numpy.linalg.norm(G)], 2 ** -7), lines
    assert close(array([1, -2, 3]) - weights["w"], G[0], 2 ** -7), weights


def one_overflow_stops_all_updates(folder):
    """An overflow in the gradient that is ready last keeps the parameter whose gradient was ready first as it was."""
    nodes = [("Mul", ["x", "first"], ["a"]), ("Mul", ["a", "last"], ["y"]), ("ReduceSum", ["y"], ["loss"], {"keepdims": 0})]
    # The gradient of `first` is 1024 x 60000, beyond fp16, that of `last` 1024 x 0.25.
    case = Small(folder, nodes, {"first": array([0.25, 0.25]), "last": array([60000, 0.5])}, {"x": array([[1, 1]])}, {"loss": []})
    program = case.compile("program", *GRAPH_LOSS, "--precision", "fp16", *SCALED)
    lines, weights = case.trained(program, "--steps", "3")
    assert all(line["skipped"] for line in lines), lines
    assert weights["first"].tolist() == [0.25, 0.25] and weights["last"].tolist() == [60000, 0.5], weights
    assert lines[-1]["optimizer_steps"] == 0, lines


def one_rank_overflows(folder):
    """An overflow on one of two ranks is a skipped step on both, and the next one is none."""
    case = linear(folder, G)
    # Rows go to ranks in turns: rank 1 has the large one in step 1 of 4. Its first gradient is 512 x 300, beyond fp16: where gradients are
    # sharded, the rank that has the last element sees none.
    large = G * array([3000, 1, 1])
    case.add_data("x", numpy.concatenate([G, G, G, large, G, G, G, G]))
    flags = [*GRAPH_LOSS, "--precision", "fp16", *SCALED, "--ranks", "2", "--optimizer", "sgd"]
    results = [case.run_on(2, case.compile(f"stage-{stage}", *flags, "--zero", stage), "--steps", "4", "--lr", "0.5", "--weight-decay", "0")
               for stage in ("0", "1", "2")]
    for lines, weights in results:
        assert [line["skipped"] for line in lines] == [False, True, False, False], lines
        assert [line["loss_scale"] for line in lines] == [1024, 1024, 512, 512] and lines[-1]["optimizer_steps"] == 3, lines
        assert close(array([1, -2, 3]) - weights["w"], 3 * 0.5 * G[0], 2 ** -9), weights


def last_micro_batch_of_ranks_counts(folder):
    """A gradient that only the last micro-batch of the last rank has is applied in that very step, in every stage."""
    rows = numpy.concatenate([0 * G] * 7 + [8 * G])
    case = linear(folder, rows[:1])
    case.add_data("x", rows)
    for stage in ("0", "1", "2", "3"):
        program = case.compile(f"stage-{stage}", *GRAPH_LOSS, "--precision", "bf16", "--accumulate", "4", "--optimizer", "sgd",
                               "--ranks", "2", "--zero", stage)
        _, weights = case.run_on(2, program, "--steps", "1", "--lr", "1", "--weight-decay", "0")
        assert close(array([1, -2, 3]) - weights["w"], G[0], 2 ** -7), (stage, weights)


def norm_is_squared_in_fp32(folder):
    """Gradients of 300: their squares are beyond fp16, the norm and the clipping are not."""
    rows = numpy.full((1, 64), 300, numpy.float32)
    case = linear(folder, rows, numpy.full(64, 0.5))
    program = case.compile("program", *GRAPH_LOSS, "--precision", "fp16", "--loss-scale", "1", "--clip-norm", "1", "--optimizer", "sgd")
    lines, weights = case.trained(program, "--steps", "1", "--lr", "1", "--weight-decay", "0")
    assert not lines[0]["skipped"] and close([lines[0]["grad_norm"]], [2400], 1e-5), lines
    assert close(0.5 - weights["w"], numpy.full(64, 300 / 2400), 1e-4), weights


def norms_keep_no_wide_copies(folder):
    """An RMSNorm that the exporter wrote with an upcast saves 16-bit values; of fp32 there are only its statistics."""
    from saved import saved_wide
    width = 256
    norm = lambda x, i: [("Cast", [x], [f"f{i}"], {"to": 1}), ("Pow", [f"f{i}", "two"], [f"p{i}"]),
                         ("ReduceMean", [f"p{i}", "axes"], [f"m{i}"], {"keepdims": 1}), ("Add", [f"m{i}", "eps"], [f"e{i}"]),
                         ("Sqrt", [f"e{i}"], [f"s{i}"]), ("Reciprocal", [f"s{i}"], [f"r{i}"]), ("Mul", [f"f{i}", f"r{i}"], [f"n{i}"]),
                         ("Mul", [f"g{i}", f"n{i}"], [f"o{i}"]), ("MatMul", [f"o{i}", f"w{i}"], [f"y{i}"])]
    weights = {"two": array(2), "axes": array([-1], numpy.int64), "eps": array(1e-6)}
    for i in range(3):
        weights |= {f"g{i}": numpy.full(width, 0.5, numpy.float32), f"w{i}": 0.5 * numpy.eye(width, dtype=numpy.float32)}
    nodes = norm("x", 0) + norm("y0", 1) + norm("y1", 2)
    case = Small(folder, nodes, weights, {"x": numpy.ones((64, width), numpy.float32)}, {"y2": [64, width]})
    wide = saved_wide(case.text("train", "--loss", "mse", "--precision", "bf16"))
    assert wide and all(shape == [64, 1] for op, shape in wide if op == "onnx.RMSNormalization"), wide
    # The difference that a squared error squares is the loss's.
    assert [op for op, shape in wide if shape == [64, width]] == ["onnx.Sub"], wide


def scalars_decide_no_type(folder):
    """An fp32 scalar leaves a 16-bit residual stream 16-bit, and a 16-bit branch leaves an fp32 one fp32."""
    nodes = [("MatMul", ["x", "w"], ["a"]), ("Mul", ["a", "half"], ["h"]), ("Add", ["h", "a"], ["s"]), ("MatMul", ["s", "w"], ["b"]),
             ("Add", ["b", "x"], ["y"])]
    case = Small(folder, nodes, {"w": 0.5 * numpy.eye(8, dtype=numpy.float32), "half": array(0.5)},
                 {"x": numpy.ones((4, 8), numpy.float32)}, {"y": [4, 8]})
    master = case.text("train", "--loss", "mse", "--precision", "bf16")
    autocast = case.text("train", "--loss", "mse", "--precision", "bf16", "--precision-policy", "autocast")
    forward = lambda text, op: [line for line in text.split("func.func @step")[1].splitlines() if f"= {op} " in line and "backward" not in line]
    for text in (master, autocast):
        assert "-> tensor<4x8xbf16>" in forward(text, "onnx.Mul")[0], forward(text, "onnx.Mul")
        assert "-> tensor<4x8xbf16>" in forward(text, "onnx.Add")[0], forward(text, "onnx.Add")
    assert "-> tensor<4x8xbf16>" in forward(master, "onnx.Add")[1] and "-> tensor<4x8xf32>" in forward(autocast, "onnx.Add")[1]


def zeros_stay_zeros(folder):
    """A gradient that is zero everywhere is finite: no scale, norm or factor divides by it."""
    case = linear(folder, 0 * G)
    for precision in ("bf16", "fp16"):
        program = case.compile(precision, *GRAPH_LOSS, "--precision", precision, "--clip-norm", "1", "--loss-scale", "dynamic", *SCALED)
        lines, weights = case.trained(program, "--steps", "3", "--weight-decay", "0")
        assert not any(line["skipped"] for line in lines) and lines[-1]["grad_norm"] == 0, lines
        assert weights["w"].tolist() == [1, -2, 3], weights


def scaler_survives_resume(folder):
    """Scale, counter and hysteresis come back with a checkpoint: the log of a run in two parts is that of one."""
    case = linear(folder)
    program = case.compile("program", *GRAPH_LOSS, "--precision", "fp16", "--loss-scale-window", "3", "--loss-scale-hysteresis", "2", *SCALED)
    flags = ["--inject-gradient", "1=inf,5=inf"]
    facts = lambda lines: [(line["loss_scale"], line["growth_counter"], line["skipped"], line["optimizer_steps"]) for line in lines]
    whole = facts(case.run(program, "--steps", "10", *flags))
    for part in range(1, 10):
        kept = ["--checkpoint-dir", case.folder / f"checkpoints-{part}"]
        case.run(program, "--steps", str(part), *flags, *kept)
        parts = facts(case.run(program, "--steps", "10", *flags, *kept, "--resume"))
        assert parts == whole, (part, parts, whole)
    # The first overflow spends hysteresis, three clean steps let the scale grow, which refills it.
    assert [row[0] for row in whole[:6]] == [1024, 1024, 1024, 1024, 1024, 2048], whole


def rate_follows_steps(folder):
    """The rate is that of the step, not of the micro-batch; a skipped step has one, and Adam's count does not move."""
    case = linear(folder, numpy.concatenate([G] * 4)[:1])
    case.add_data("x", numpy.concatenate([G] * 4))
    flags = ["--steps", "8", "--schedule", "linear", "--warmup", "2", "--lr", "0.1", "--inject-gradient", "3=nan"]
    logs = [case.run(case.compile(f"of-{n}", *GRAPH_LOSS, "--precision", "fp16", "--accumulate", n, *SCALED), *flags) for n in ("1", "4")]
    rates = [[line["lr"] for line in lines] for lines in logs]
    assert rates[0] == rates[1] and close(rates[0], [0.05, 0.1] + [0.1 * (1 - s / 6) for s in range(6)], 1e-12), rates
    for lines in logs:
        assert [line["optimizer_steps"] for line in lines] == [1, 2, 3, 3, 4, 5, 6, 7], lines


if __name__ == "__main__":
    case = globals()[sys.argv[1]]
    case(sys.argv[2])
    print(f"{sys.argv[1]}: {case.__doc__}")
