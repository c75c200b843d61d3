#!/usr/bin/env python3
"""forms.py FOLDER: a mixture of experts with biases and two experts a token, written in the ways of exporters. Each trains as numpy does
in double (losses of 20 steps, and the gradients of the first); where it is recognised, no matrix is copied and no expert is computed
that was not chosen. An expert that nobody chooses keeps its weights."""
import pathlib
import re
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "precision" / "Inputs"))
from small import Small, array, close  # noqa: E402

FOLDER = pathlib.Path(sys.argv[1])
ROWS, LENGTH, WIDTH, INNER, WORDS, EXPERTS, CHOSEN, STEPS, RATE = 2, 12, 16, 10, 31, 8, 2, 20, 0.5
TOKENS = ROWS * LENGTH
random = numpy.random.default_rng(5)
weights = {"embed.weight": random.normal(size=(WORDS, WIDTH)), "router.weight": random.normal(size=(WIDTH, EXPERTS)),
           "experts.up": random.normal(size=(EXPERTS, WIDTH, 2 * INNER)) / 4, "experts.up_bias": random.normal(size=(EXPERTS, 2 * INNER)) / 4,
           "experts.down": random.normal(size=(EXPERTS, INNER, WIDTH)) / 3, "experts.down_bias": random.normal(size=(EXPERTS, WIDTH)) / 4,
           "out.weight": random.normal(size=(WIDTH, WORDS)) / 4}
weights = {name: array(value) for name, value in weights.items()}
weights["router.bias"] = array([0] * (EXPERTS - 1) + [-100])  # of an expert that nobody chooses
ids = random.integers(0, WORDS, (ROWS, LENGTH))
labels = random.integers(0, WORDS, (ROWS, LENGTH))


def softmax(x):
    e = numpy.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def gradients(w):
    """The loss and its gradients, token by token."""
    d = {name: numpy.zeros_like(value) for name, value in w.items()}
    loss = 0.0
    for word, label in zip(ids.ravel(), labels.ravel()):
        x = w["embed.weight"][word]
        scores = x @ w["router.weight"] + w["router.bias"]
        chosen = numpy.argsort(-scores, kind="stable")[:CHOSEN]
        share, parts = softmax(scores[chosen]), []
        for e in chosen:
            both = x @ w["experts.up"][e] + w["experts.up_bias"][e]
            gate, up = both[:INNER], both[INNER:]
            sigmoid = 1 / (1 + numpy.exp(-gate))
            inner = gate * sigmoid * up
            parts.append((gate, up, sigmoid, inner, inner @ w["experts.down"][e] + w["experts.down_bias"][e]))
        y = x + sum(s * part[-1] for s, part in zip(share, parts))
        p = softmax(y @ w["out.weight"])
        loss -= numpy.log(p[label]) / TOKENS
        p[label] -= 1
        p /= TOKENS
        d["out.weight"] += numpy.outer(y, p)
        dy = w["out.weight"] @ p
        dx, dshare = dy.copy(), numpy.array([dy @ part[-1] for part in parts])
        for e, s, (gate, up, sigmoid, inner, _) in zip(chosen, share, parts):
            d["experts.down"][e] += numpy.outer(inner, s * dy)
            d["experts.down_bias"][e] += s * dy
            dinner = w["experts.down"][e] @ (s * dy)
            dboth = numpy.concatenate([dinner * up * sigmoid * (1 + gate * (1 - sigmoid)), dinner * gate * sigmoid])
            d["experts.up"][e] += numpy.outer(x, dboth)
            d["experts.up_bias"][e] += dboth
            dx += w["experts.up"][e] @ dboth
        dscores = numpy.zeros(EXPERTS)
        dscores[chosen] = share * (dshare - share @ dshare)
        d["router.weight"] += numpy.outer(x, dscores)
        d["router.bias"] += dscores
        d["embed.weight"][word] += dx + w["router.weight"] @ dscores
    return loss, d


def trained():
    w, losses = {name: value.astype(float) for name, value in weights.items()}, []
    for _ in range(STEPS):
        loss, d = gradients(w)
        losses.append(loss)
        w = {name: value - RATE * d[name] for name, value in w.items()}
    return losses


ints = lambda *numbers: array(numbers, numpy.int64)  # noqa: E731
BEFORE = [("Gather", ["embed.weight", "ids"], ["x3"]), ("Reshape", ["x3", "rows"], ["x"]), ("MatMul", ["x", "router.weight"], ["raw"]),
          ("Add", ["raw", "router.bias"], ["scores"]), ("TopK", ["scores", "chosen"], ["top", "experts"], {"axis": 1}),
          ("Softmax", ["top"], ["share"], {"axis": 1})]
BEHIND = [("Reshape", ["mixed", "whole"], ["y3"]), ("Add", ["x3", "y3"], ["y"]), ("MatMul", ["y", "out.weight"], ["logits"])]
SIZES = {"rows": ints(TOKENS, WIDTH), "whole": ints(ROWS, LENGTH, WIDTH), "chosen": ints(CHOSEN), "zero": ints(0), "one": ints(1), "two": ints(2),
         "minus": ints(-1)}


def gate(inner, axis):
    return [("Split", ["both"], ["gate", "up"], {"axis": axis, "num_outputs": 2}), ("Sigmoid", ["gate"], ["sigmoid"]), ("Mul", ["gate", "sigmoid"], ["silu"]),
            ("Mul", ["silu", "up"], [inner])]


def gathered():
    """A matrix for each token and expert, on the right of a row."""
    return [("Unsqueeze", ["x", "one"], ["x1"]), ("Expand", ["x1", "repeated"], ["x2"]), ("Reshape", ["x2", "single"], ["row"]),
            ("Reshape", ["experts", "minus"], ["e"]),
            ("Gather", ["experts.up", "e"], ["ups"]), ("Gather", ["experts.up_bias", "e"], ["up_biases"]), ("MatMul", ["row", "ups"], ["both1"]),
            ("Squeeze", ["both1", "one"], ["both0"]), ("Add", ["both0", "up_biases"], ["both"]), *gate("inner", 1),
            ("Unsqueeze", ["inner", "one"], ["inner1"]), ("Gather", ["experts.down", "e"], ["downs"]),
            ("Gather", ["experts.down_bias", "e"], ["down_biases"]), ("MatMul", ["inner1", "downs"], ["out1"]), ("Squeeze", ["out1", "one"], ["out0"]),
            ("Add", ["out0", "down_biases"], ["out"]), ("Reshape", ["share", "column"], ["s"]), ("Mul", ["out", "s"], ["weighted"]),
            ("Reshape", ["weighted", "tokens"], ["apart"]), ("ReduceSum", ["apart", "one"], ["mixed"], {"keepdims": 0})]


GATHERED = {"repeated": ints(TOKENS, CHOSEN, WIDTH), "single": ints(TOKENS * CHOSEN, 1, WIDTH), "column": ints(TOKENS * CHOSEN, 1),
            "tokens": ints(TOKENS, CHOSEN, WIDTH)}


def broadcast():
    """The same without a repetition, and with a dim for the experts of a token."""
    return [("Unsqueeze", ["x", "inside"], ["row"]), ("Gather", ["experts.up", "experts"], ["ups"]), ("Gather", ["experts.up_bias", "experts"], ["up_biases"]),
            ("MatMul", ["row", "ups"], ["both1"]), ("Squeeze", ["both1", "two"], ["both0"]), ("Add", ["both0", "up_biases"], ["both"]), *gate("inner", 2),
            ("Unsqueeze", ["inner", "two"], ["inner1"]), ("Gather", ["experts.down", "experts"], ["downs"]),
            ("Gather", ["experts.down_bias", "experts"], ["down_biases"]), ("MatMul", ["inner1", "downs"], ["out1"]), ("Squeeze", ["out1", "two"], ["out0"]),
            ("Add", ["out0", "down_biases"], ["out"]), ("Unsqueeze", ["share", "two"], ["s"]), ("Mul", ["out", "s"], ["weighted"]),
            ("ReduceSum", ["weighted", "one"], ["mixed"], {"keepdims": 0})]


ALL = [("Tile", ["x", "copies"], ["flat"]), ("Reshape", ["flat", "all"], ["xs"]), ("MatMul", ["xs", "experts.up"], ["both0"]),
       ("Unsqueeze", ["experts.up_bias", "one"], ["up_biases"]), ("Add", ["both0", "up_biases"], ["both"]), *gate("inner", 2),
       ("MatMul", ["inner", "experts.down"], ["out0"]), ("Unsqueeze", ["experts.down_bias", "one"], ["down_biases"]), ("Add", ["out0", "down_biases"], ["out"])]
DENSE = {"copies": ints(EXPERTS, 1), "all": ints(EXPERTS, TOKENS, WIDTH), "weights": ints(TOKENS, EXPERTS)}


def scattered():
    """All experts for all tokens; what was not chosen is multiplied by zero."""
    return [*ALL, ("ConstantOfShape", ["weights"], ["zeros"]), ("ScatterElements", ["zeros", "experts", "share"], ["g"], {"axis": 1}),
            ("Transpose", ["g"], ["turned"], {"perm": [1, 0]}), ("Unsqueeze", ["turned", "two"], ["g1"]), ("Mul", ["out", "g1"], ["weighted"]),
            ("ReduceSum", ["weighted", "zero"], ["mixed"], {"keepdims": 0})]


def one_hot():
    """The same by masks, and a product adds up."""
    return [*ALL, ("Constant", [], ["bits"], {"value_floats": [0.0, 1.0]}), ("OneHot", ["experts", "count", "bits"], ["mask"]), ("Unsqueeze", ["share", "two"], ["s"]), ("Mul", ["mask", "s"], ["each"]),
            ("ReduceSum", ["each", "one"], ["g"], {"keepdims": 0}), ("Unsqueeze", ["g", "two"], ["g1"]),
            ("Transpose", ["out"], ["turned"], {"perm": [1, 2, 0]}), ("MatMul", ["turned", "g1"], ["mixed"])]


FORMS = {"gathered": (gathered, GATHERED), "broadcast": (broadcast, {"inside": ints(1, 2)}), "scattered": (scattered, DENSE),
         "one-hot": (one_hot, {**DENSE, "count": array(EXPERTS, numpy.int64)})}
OPTIONS = ["--loss", "cross-entropy", "--optimizer", "sgd"]
wanted, (_, exact) = trained(), gradients({name: value.astype(float) for name, value in weights.items()})
for name, (nodes, constants) in FORMS.items():
    case = Small(FOLDER / name, BEFORE + nodes() + BEHIND, {**weights, **SIZES, **constants}, {"ids": ids}, {"logits": [ROWS, LENGTH, WORDS]})
    case.add_data("labels", labels)
    case.trains = list(weights)
    program = case.compile("train", *OPTIONS, "--save-ir", FOLDER / name / "ir")
    text = next((FOLDER / name / "ir").glob("01-*.mlir")).read_text()
    copies = re.findall(f"({EXPERTS}x{TOKENS}|{TOKENS}x{CHOSEN}x{WIDTH}|{TOKENS * CHOSEN}x{WIDTH}|{TOKENS * CHOSEN}x{INNER})x[0-9]", text)
    assert text.count("train.grouped_matmul") == 2 and not copies, text
    lines = case.run(program, "--steps", str(STEPS), "--lr", str(RATE))
    worst = max(abs(line["loss"] - loss) / loss for line, loss in zip(lines, wanted))
    assert len(lines) == STEPS and worst < 1e-5, (name, worst, lines, wanted)
    _, after = case.trained(program, "--steps", "1", "--lr", "1")
    for tensor, gradient in exact.items():
        assert close(weights[tensor] - after[tensor], gradient, 4e-6 if tensor == "embed.weight" else 2e-6), (name, tensor)
    assert (after["experts.up"][EXPERTS - 1] == weights["experts.up"][EXPERTS - 1]).all()
    one = [line["loss"] for line in case.run(program, "--steps", "3", "--threads", "1")]
    assert one == [line["loss"] for line in case.run(program, "--steps", "3", "--threads", "2")], name
    print(f"{name}: grouped, losses and gradients as numpy's")
