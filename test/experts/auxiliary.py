#!/usr/bin/env python3
"""auxiliary.py FOLDER: a router whose file has its load-balance loss and its z-loss as outputs. They are added to a cross-entropy or to a loss of the file, with
weights; losses of 20 steps, each by its name in the log, and weights after them are those of numpy in double. Micro-batches average them."""
import pathlib
import subprocess
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "precision" / "Inputs"))
from small import Small, array, close  # noqa: E402

FOLDER = pathlib.Path(sys.argv[1])
TOKENS, WIDTH, EXPERTS, CHOSEN, WORDS, STEPS, RATE = 24, 8, 4, 2, 11, 20, 0.5
BALANCE, Z = 0.25, 0.125
random = numpy.random.default_rng(3)
weights = {"router.weight": array(random.normal(size=(WIDTH, EXPERTS))), "experts.weight": array(random.normal(size=(EXPERTS, WIDTH, WORDS)) / 3)}
x, labels = array(random.normal(size=(2 * TOKENS, WIDTH))), random.integers(0, WORDS, 2 * TOKENS)


def softmax(z):
    e = numpy.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def gradients(w, x, labels):
    """The three losses of a batch, and the gradients of their weighted sum."""
    n, rows, valid = len(x), numpy.arange(len(x))[:, None], labels >= 0
    scores = x @ w["router.weight"]
    chosen = numpy.argsort(-scores, axis=1, kind="stable")[:, :CHOSEN]
    shares = softmax(numpy.take_along_axis(scores, chosen, 1))
    each = numpy.einsum("tk,tskn->tsn", x, w["experts.weight"][chosen])
    logits = numpy.einsum("ts,tsn->tn", shares, each)
    p = softmax(logits)
    main = -numpy.log(p[rows[:, 0], labels * valid])[valid].mean()
    probabilities = softmax(scores)
    counts = numpy.bincount(chosen.ravel(), minlength=EXPERTS) / n
    balance = EXPERTS * counts @ probabilities.mean(0)
    lse = numpy.log(numpy.exp(scores).sum(1))
    dlogits = p.copy()
    dlogits[rows[:, 0], labels * valid] -= 1
    dlogits *= valid[:, None] / valid.sum()
    deach = shares[..., None] * dlogits[:, None]
    dweight = numpy.zeros_like(w["experts.weight"])
    numpy.add.at(dweight, chosen, numpy.einsum("tk,tsn->tskn", x, deach))
    dshares = numpy.einsum("tsn,tn->ts", each, dlogits)
    dscores = numpy.zeros_like(scores)
    numpy.put_along_axis(dscores, chosen, shares * (dshares - (shares * dshares).sum(1, keepdims=True)), 1)
    dp = BALANCE * EXPERTS * counts / n
    dscores += probabilities * (dp - probabilities @ dp[:, None])
    dscores += Z * 2 / n * lse[:, None] * probabilities
    return (main, balance, (lse ** 2).mean()), {"router.weight": x.T @ dscores, "experts.weight": dweight}


def trained(batches):
    """Of micro-batches, each step's are averaged."""
    w, lines = {name: value.astype(float) for name, value in weights.items()}, []
    for _ in range(STEPS):
        parts = [gradients(w, *batch) for batch in batches]
        lines.append(numpy.mean([part[0] for part in parts], 0))
        w = {name: value - RATE * numpy.mean([part[1][name] for part in parts], 0) for name, value in w.items()}
    return numpy.array(lines), w


ints = lambda *numbers: array(numbers, numpy.int64)  # noqa: E731
NODES = [("MatMul", ["x", "router.weight"], ["scores"]), ("TopK", ["scores", "chosen"], ["top", "experts"], {"axis": 1}), ("Softmax", ["top"], ["shares"], {"axis": 1}),
         ("Gather", ["experts.weight", "experts"], ["matrices"]), ("Unsqueeze", ["x", "inside"], ["rows"]), ("MatMul", ["rows", "matrices"], ["each4"]),
         ("Squeeze", ["each4", "two"], ["each"]), ("Unsqueeze", ["shares", "two"], ["s"]), ("Mul", ["each", "s"], ["weighted"]),
         ("ReduceSum", ["weighted", "one"], ["logits"], {"keepdims": 0}),
         ("Softmax", ["scores"], ["probabilities"], {"axis": 1}), ("ReduceMean", ["probabilities", "zero"], ["shares_of_experts"], {"keepdims": 0}),
         ("Constant", [], ["bits"], {"value_floats": [0.0, 1.0]}), ("OneHot", ["experts", "count", "bits"], ["hot"]), ("ReduceMean", ["hot", "zero"], ["places"], {"keepdims": 0}),
         ("ReduceSum", ["places", "zero"], ["counts"], {"keepdims": 0}), ("Mul", ["counts", "shares_of_experts"], ["products"]),
         ("ReduceSum", ["products", "zero"], ["sum"], {"keepdims": 0}), ("Mul", ["sum", "factor"], ["balance"]),
         ("ReduceLogSumExp", ["scores", "one"], ["lse"], {"keepdims": 0}), ("Mul", ["lse", "lse"], ["squares"]), ("ReduceMean", ["squares", "zero"], ["z"], {"keepdims": 0})]
OWN = [("SoftmaxCrossEntropyLoss", ["logits", "labels"], ["main"])]
CONSTANTS = {"chosen": ints(CHOSEN), "inside": ints(1, 2), "zero": ints(0), "one": ints(1), "two": ints(2), "count": array(EXPERTS, numpy.int64),
             "factor": array(EXPERTS)}
SCALAR = {"balance": [], "z": []}


def check(name, case, options, batches, bound, names):
    program = case.compile(name, "--optimizer", "sgd", *options)
    lines, after = case.trained(program, "--steps", str(STEPS), "--lr", str(RATE))
    parts, w = trained(batches)
    total = parts @ [1, BALANCE, Z]
    found = numpy.array([[line["losses"][part] for part in names] for line in lines])
    assert len(lines) == STEPS and close(array([line["loss"] for line in lines]), total, bound), (name, lines, total)
    assert close(found, parts, bound), (name, found - parts)
    for tensor, value in w.items():
        assert close(after[tensor], value, 10 * bound), (name, tensor)
    print(f"{name}: losses and weights as numpy's")


half = slice(0, TOKENS), slice(TOKENS, None)
first, both = [(x[half[0]], labels[half[0]])], [(x[part], labels[part]) for part in half]
case = Small(FOLDER / "added", NODES, {**weights, **CONSTANTS}, {"x": x[:TOKENS]}, {"logits": [TOKENS, WORDS], **SCALAR})
case.add_data("labels", labels[:TOKENS])
case.trains = list(weights)
added = ["--loss", "cross-entropy", "--loss-output", f"balance={BALANCE},z={Z}"]
check("added", case, added, first, 1e-6, ["cross-entropy", "balance", "z"])
check("bf16", case, [*added, "--precision", "bf16"], first, 0.03, ["cross-entropy", "balance", "z"])
case.add_data("x", x), case.add_data("labels", labels)
ranks = case.compile("ranks", "--optimizer", "sgd", *added, "--ranks", "2")
lines, _ = case.run_on(2, ranks, "--steps", str(STEPS), "--lr", str(RATE))
assert close(numpy.array([[*line["losses"].values()] for line in lines]), trained(both)[0], 1e-6)
print("ranks: losses as numpy's")

# Micro-batches have means of their own, over the labels that count, as PyTorch's accumulation has them.
few = labels.copy()
few[2:9] = few[TOKENS:TOKENS + 3] = -100
of_run = ["--steps", str(STEPS), "--lr", str(RATE)]
case.add_data("labels", few)
lines, after = case.trained(case.compile("accumulated", "--optimizer", "sgd", *added, "--accumulate", "2"), *of_run)
parts, w = trained([(x[part], few[part]) for part in half])
assert close(numpy.array([[*line["losses"].values()] for line in lines]), parts, 1e-6) and close(array([line["loss"] for line in lines]), parts @ [1, BALANCE, Z], 1e-6)
assert all(close(after[name], value, 1e-5) for name, value in w.items())
wide, more = numpy.concatenate([x, x[::-1] * 0.5]), numpy.concatenate([labels, labels[::-1]])
case.add_data("x", wide), case.add_data("labels", more)
lines, _ = case.run_on(2, case.compile("accumulated", "--optimizer", "sgd", *added, "--accumulate", "2", "--ranks", "2"), *of_run)
quarters = [slice(at, at + TOKENS) for at in range(0, 4 * TOKENS, TOKENS)]
assert close(numpy.array([[*line["losses"].values()] for line in lines]), trained([(wide[part], more[part]) for part in quarters])[0], 1e-6)
print("accumulated: losses as numpy's")

own = Small(FOLDER / "own", NODES + OWN, {**weights, **CONSTANTS}, {"x": x[:TOKENS], "labels": labels[:TOKENS]},
            {"main": [], **SCALAR, "logits": [TOKENS, WORDS]})
own.trains = list(weights)
check("own", own, ["--loss-output", f"main,balance={BALANCE},z={Z}"], first, 1e-6, ["main", "balance", "z"])
own.add_data("x", x), own.add_data("labels", labels)
check("averaged", own, ["--loss-output", f"main,balance={BALANCE},z={Z}", "--accumulate", "2"], both, 1e-6, ["main", "balance", "z"])
lines = own.run(own.compile("one", "--optimizer", "sgd", "--loss-output", "main"), "--steps", "2")
assert "losses" not in lines[0]
REFUSED = {"'much' is no weight": ["--loss-output", "main,z=much"], "'z' is there twice": ["--loss-output", "z,z"], "'more'": ["--loss-output", "z,more"],
           "is there twice": ["--loss-output", "main,main"]}
for said, options in REFUSED.items():
    done = subprocess.run(["kedge", "compile", own.model, *options, "-o", FOLDER / "no"], capture_output=True, text=True)
    assert done.returncode == 1 and said in done.stderr, done.stderr
print("refused by name")
