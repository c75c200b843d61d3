#!/usr/bin/env python3
"""masks.py FOLDER: one model with a window of keys, written in the ways of exporters. Where the mask is recognised nothing of T x T is
left, and losses have the bits of the mask as data; the first one is numpy's. One element off stays a tensor, which a note names."""
import pathlib
import subprocess
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "precision" / "Inputs"))
from small import Small, array  # noqa: E402

FOLDER = pathlib.Path(sys.argv[1])
ROWS, LENGTH, WIDTH, HEADS, WORDS, LEFT = 2, 96, 16, 2, 31, 19
HIDDEN = numpy.finfo(numpy.float32).min
random = numpy.random.default_rng(3)
places = numpy.arange(LENGTH)
distance = places[:, None] - places[None, :]
SEEN = (distance >= 0) & (distance <= LEFT)
weights = {"embed.weight": random.normal(size=(WORDS, WIDTH)), "out.weight": random.normal(size=(WIDTH, WORDS)) / 4,
           **{f"{name}.weight": random.normal(size=(WIDTH, WIDTH)) / 3 for name in "qkv"}}
weights = {name: array(value) for name, value in weights.items()}
ids = random.integers(0, WORDS, (ROWS, LENGTH))
labels = random.integers(0, WORDS, (ROWS, LENGTH))


def additive(seen):
    return array(numpy.where(seen, 0, HIDDEN))[None, None]


def projections():
    return [("Gather", ["embed.weight", "ids"], ["x"])] + [("MatMul", ["x", f"{name}.weight"], [name]) for name in "qkv"]


def primitives(mask_nodes, masked):
    nodes = projections()
    for name in "qkv":
        nodes += [("Reshape", [name, "heads"], [f"{name}4"]), ("Transpose", [f"{name}4"], [f"{name}h"], {"perm": [0, 2, 1, 3]})]
    return nodes + mask_nodes + [
        ("Constant", [], ["scale"], {"value_float": (WIDTH / HEADS) ** -0.5}),
        ("Transpose", ["kh"], ["kt"], {"perm": [0, 1, 3, 2]}), ("MatMul", ["qh", "kt"], ["raw"]), ("Mul", ["raw", "scale"], ["scores"]),
        *masked, ("Softmax", ["hidden"], ["p"], {"axis": -1}), ("MatMul", ["p", "vh"], ["oh"]),
        ("Transpose", ["oh"], ["o4"], {"perm": [0, 2, 1, 3]}), ("Reshape", ["o4", "flat"], ["o"])] + behind()


def behind():
    return [("Add", ["x", "o"], ["y"]), ("MatMul", ["y", "out.weight"], ["logits"])]


CONSTANTS = {"heads": array([0, 0, HEADS, WIDTH // HEADS], numpy.int64), "flat": array([0, 0, WIDTH], numpy.int64)}
COMPUTED = [("Unsqueeze", ["at", "one"], ["row"]), ("LessOrEqual", ["at", "row"], ["before"]), ("Sub", ["row", "reach"], ["first"]),
            ("Greater", ["at", "first"], ["near"]), ("And", ["before", "near"], ["seen"]), ("Where", ["seen", "zero", "lowest"], ["mask"])]
NUMBERS = {"at": array(places, numpy.int64), "one": array([1], numpy.int64), "reach": array(LEFT + 1, numpy.int64), "zero": array([0]),
           "lowest": array([HIDDEN])}
ADDED = [("Add", ["scores", "mask"], ["hidden"])]
ATTENTION = {"q_num_heads": HEADS, "kv_num_heads": HEADS}


def made(name, nodes, constants=(), inputs=(), opset=20):
    case = Small(FOLDER / name, nodes, {**weights, **dict(constants)}, {"ids": ids, **dict(inputs)}, {"logits": [ROWS, LENGTH, WORDS]}, opset)
    case.add_data("labels", labels)
    case.trains = []  # names say it
    return case


def with_mask(name, mask, masked=tuple(ADDED)):
    return made(name, primitives([], list(masked)), {**CONSTANTS, "mask": mask})


def losses(case, *options):
    program = case.compile("train", "--loss", "cross-entropy", "--optimizer", "sgd", *options)
    return [line["loss"] for line in case.run(program, "--steps", "3", "--lr", "0.5")]


def exact():
    x = weights["embed.weight"].astype(float)[ids]
    q, k, v = ((x @ weights[f"{name}.weight"]).reshape(ROWS, LENGTH, HEADS, -1).swapaxes(1, 2) for name in "qkv")
    scores = numpy.where(SEEN, q @ k.swapaxes(2, 3) * (WIDTH / HEADS) ** -0.5, -numpy.inf)
    p = numpy.exp(scores - scores.max(-1, keepdims=True))
    o = (p / p.sum(-1, keepdims=True) @ v).swapaxes(1, 2).reshape(ROWS, LENGTH, WIDTH)
    logits = (x + o) @ weights["out.weight"]
    logs = logits - numpy.log(numpy.exp(logits).sum(-1, keepdims=True))
    return -numpy.take_along_axis(logs, labels[..., None], -1).mean()


tensor = made("input", primitives([], ADDED), CONSTANTS, {"mask": numpy.repeat(additive(SEEN), ROWS, 0)})
def recognised_forms():
    yield with_mask("additive", additive(SEEN))
    boolean = [("Constant", [], ["none"], {"value_float": -numpy.inf}), ("Where", ["mask", "scores", "none"], ["hidden"])]
    yield made("boolean", primitives([], boolean), {**CONSTANTS, "mask": SEEN})
    yield made("computed", primitives(COMPUTED, ADDED), {**CONSTANTS, **NUMBERS})
    window = {**ATTENTION, "is_causal": 1, "left_window_size": LEFT}
    yield made("attention", projections() + [("Attention", ["q", "k", "v"], ["o"], window)] + behind(), opset=25)
    yield made("attention-mask", projections() + [("Attention", ["q", "k", "v", "mask"], ["o"], ATTENTION)] + behind(), {"mask": SEEN}, opset=23)


wanted = {options: losses(tensor, *options) for options in ((), ("--precision", "bf16"))}
assert abs(wanted[()][0] - exact()) < 1e-5 * exact(), (wanted[()][0], exact())
assert "96x96" in tensor.text("exec", "--loss", "cross-entropy")
for case in recognised_forms():
    assert "96x96" not in case.text("exec", "--loss", "cross-entropy"), case.folder
    for options, numbers in wanted.items():
        if options and case.folder.name not in ("additive", "attention"):
            continue
        found = losses(case, *options)
        assert found == numbers, (case.folder, options, found, numbers)
    print(f"{case.folder.name}: recognised, to the bit")


def told(case):
    done = subprocess.run(["kedge", "plan", case.model, "--loss", "cross-entropy"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [line for line in (done.stdout + done.stderr).splitlines() if "element by element" in line]


assert not told(with_mask("additive", additive(SEEN)))
for name, at in (("more", (50, 50 - LEFT - 1)), ("less", (50, 50 - LEFT)), ("ahead", (95, 94))):
    seen = SEEN.copy()
    seen[at] ^= True
    notes = told(with_mask(name, additive(seen)))
    assert len(notes) == 1 and "36864 bytes" in notes[0] and "neither causal nor a window" in notes[0], (name, notes)
notes = told(tensor)
assert len(notes) == 1 and "not known when compiling" in notes[0], notes
print("one element off: three tensors, each named")
