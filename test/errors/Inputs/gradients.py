"""Gradients that are not finite while the loss is: gradients.py FOLDER."""
import json
import pathlib
import sys

import numpy
from cases import Small, array, data_of, expect, tensors, words

folder = pathlib.Path(sys.argv[1])


def roots(name, step=2):
    """y = u sqrt(w x): the root's gradient at 0 is infinite. Of four steps of `step` rows the second has a zero in its data."""
    nodes = [("Mul", ["x", "w"], ["m"]), ("Sqrt", ["m"], ["root"]), ("Mul", ["root", "u"], ["y"])]
    case = Small(folder / name, nodes, {"w": array([1, 2, 3]), "u": array([1, 2, 3])}, {"x": numpy.ones((2, 3), numpy.float32)},
                 {"y": [2, 3]})
    rows = numpy.ones((4 * step, 3), numpy.float32)
    rows[step + 1, 1] = 0
    case.add_data("x", rows)
    case.add_data("labels", numpy.ones((4 * step, 3), numpy.float32))
    return case


def ends(case, program, *options):
    """The run ends at step 1: no line of it, no checkpoint, no export."""
    places = [case.folder / name for name in ("log.jsonl", "ck", "weights.safetensors", "trained.onnx")]
    text = words(program, *data_of(case), "--steps", "4", "--log", places[0], "--checkpoint-dir", places[1], "--checkpoint-every", "1",
                 "--export-safetensors", places[2], "--export-onnx", places[3], *options, code=1)
    expect(text, "kedge: error: the gradients of step 1 are not finite (grad_norm ")
    assert [json.loads(line)["step"] for line in places[0].read_text().splitlines()] == [0]
    assert sorted(path.name for path in places[1].iterdir()) == ["step-1"]
    assert not places[2].exists() and not places[3].exists()
    return text


def plain():
    """Updates run as gradients become final: the message still names the operator, and says which weights it ran with again."""
    case = roots("plain")
    program = case.compile("program", "--loss", "mse")
    text = ends(case, program)
    expect(text, ", run again with the weights that it had updated: the first value that is not finite is", "(backward); the gradient of 'w' is the first that it reaches; a lower --lr")
    assert "--on-nan" not in text, text
    expect(words(program, *data_of(case), "--steps", "4", "--on-nan", "continue", code=1),
           "--on-nan continue: this program updates each parameter as soon as its gradient is there", "--clip-norm or --accumulate")
    expect(words(program, *data_of(case), "--steps", "1", "--inject-gradient", "0=inf", code=1),
           "the gradients of step 0 are not finite (grad_norm inf): when it ran again after its updates, all of them were")
    # A finite gradient times such a rate is beyond fp32: the state is looked at before it leaves the program.
    overflow = [program, *data_of(case), "--steps", "1", "--lr", "1e38", "--weight-decay", "1e12"]
    for option in (["--export-safetensors", case.folder / "no"], ["--export-onnx", case.folder / "no"], ["--checkpoint-dir", case.folder / "none"]):
        expect(words(*overflow, *option, code=1), "kedge: error: after step 0 the parameter '", "is not finite (", "written" if
               "--checkpoint-dir" in option else "nothing is exported")
    assert not (case.folder / "no").exists() and not list((case.folder / "none").iterdir())


def held(name, step, *flags):
    """All gradients are held: none was applied, and --on-nan continue leaves the step out."""
    case = roots(name, step)
    program = case.compile("program", "--loss", "mse", *flags)
    expect(ends(case, program), "(backward); the gradient of 'w' is the first that it reaches", "--on-nan continue skips such a step")
    lines, weights = case.trained(program, "--steps", "4", "--on-nan", "continue", "--lr", "0.01")
    assert [line["skipped"] for line in lines] == [False, True, False, False], lines
    assert [line["optimizer_steps"] for line in lines] == [1, 1, 2, 3] and lines[1]["grad_norm"] is None, lines
    # Without that step's rows the same weights come out.
    rows = numpy.load(case.data["x"])
    case.add_data("x", numpy.delete(rows, range(step, 2 * step), axis=0))
    case.add_data("labels", numpy.ones((3 * step, 3), numpy.float32))
    _, others = case.trained(program, "--steps", "3", "--lr", "0.01")
    assert all(numpy.array_equal(weights[key], others[key]) for key in weights), (weights, others)
    assert all(numpy.isfinite(value).all() for value in weights.values())


def beyond_fp32():
    """Every gradient is finite and the sum of their squares is not."""
    nodes = [("Mul", ["x", "w"], ["y"]), ("ReduceSum", ["y"], ["loss"], {"keepdims": 0})]
    case = Small(folder / "beyond", nodes, {"w": array([1, 2, 3])}, {"x": array([[1e20, 1e20, 1e20]])}, {"loss": []})
    program = case.compile("program", "--loss-output", "loss", "--clip-norm", "1")
    expect(words(program, *data_of(case), "--steps", "1", code=1),
           "the gradients of step 0 are not finite (grad_norm inf): every one of them is, and the sum of their squares is beyond fp32")


def scaled():
    """With loss scaling the value is named when no scale helps, as without it."""
    case = roots("scaled")
    least = ["--loss", "mse", "--precision", "fp16", "--loss-scale-init", "1", "--loss-scale-min", "1"]
    found = "step 1 overflowed at the smallest loss scale, 1 (--loss-scale-min): the first value that is not finite is "
    backward = ["(backward); the gradient of 'w' is the first that it reaches; no scale is small enough: a lower --lr"]
    expect(words(case.compile("least", *least), *data_of(case), "--steps", "4", code=1), found, *backward)
    summed = roots("scaled-sum", 4)
    expect(words(summed.compile("summed", *least, "--accumulate", "2"), *data_of(summed), "--steps", "4", code=1), found, *backward)
    fixed = case.compile("fixed", *least[:4], "--loss-scale", "4")
    zeros = ["--data", f"x={case.folder / 'zeros.npy'}", "--data", f"labels={case.data['labels']}"]
    numpy.save(case.folder / "zeros.npy", numpy.zeros((8, 3), numpy.float32))
    expect(words(fixed, *zeros, "--steps", "60", code=1),
           "step 40 overflowed, the 41th step in a row, and --loss-scale 4 stays as it is: the first value that is not finite is", backward[0][:60])


def forward_overflow():
    """A product beyond fp16 is named from the forward pass, whatever the scale; in fp32 it is finite."""
    nodes = [("MatMul", ["x", "w"], ["m"]), ("MatMul", ["m", "v"], ["y"])]
    weights = {"w": numpy.full((8, 8), 300, numpy.float32), "v": numpy.full((8, 8), 300, numpy.float32)}
    case = Small(folder / "forward", nodes, weights, {"x": numpy.ones((2, 8), numpy.float32)}, {"y": [2, 8]})
    case.add_data("x", numpy.ones((4, 8), numpy.float32))
    case.add_data("labels", numpy.ones((4, 8), numpy.float32))
    program = case.compile("program", "--loss", "mse", "--precision", "fp16", "--loss-scale-init", "2", "--loss-scale-min", "1")
    expect(words(program, *data_of(case), "--steps", "4", code=1),
           "step 1 overflowed at the smallest loss scale, 1 (--loss-scale-min): the first value that is not finite is inf, element 0 of ")


plain()
scaled()
forward_overflow()
held("clipped", 2, "--clip-norm", "1000")
held("accumulated", 4, "--accumulate", "2")
beyond_fp32()
print("no gradient that is not finite reached a file")
