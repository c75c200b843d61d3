"""Types of gradients, accumulators and weights: element_types.py CASE FOLDER."""
import json
import subprocess
import sys

import numpy
from small import Small, array, close

GRAPH_LOSS = ["--loss", "none", "--loss-output", "loss"]
SGD = ["--optimizer", "sgd"]


def linear(folder, rows, w):
    nodes = [("Mul", ["x", "w"], ["y"]), ("ReduceSum", ["y"], ["loss"], {"keepdims": 0})]
    return Small(folder, nodes, {"w": array(w)}, {"x": array(rows)}, {"loss": []})


def plan(case, *options):
    return json.loads(subprocess.run(["kedge", "plan", case.model, *case.says_what_trains(options), *GRAPH_LOSS, *options, "--json"], check=True, capture_output=True,
                                     text=True).stdout)


def gradients(folder):
    """--grad-dtype rounds the gradient of an fp32 program, and no more."""
    rows, w = [[1 + 2 ** -9, 3, 4, 5]], [0.5, 0.5, 0.5, 0.5]
    case = linear(folder, rows, w)
    for kind, wanted in (("fp32", 1 + 2 ** -9), ("bf16", 1), ("fp16", 1 + 2 ** -9)):
        program = case.compile(kind, *GRAPH_LOSS, *SGD, "--grad-dtype", kind)
        _, weights = case.trained(program, "--steps", "1", "--lr", "1", "--weight-decay", "0")
        assert weights["w"][0] == numpy.float32(0.5 - wanted), (kind, weights)
        assert plan(case, "--grad-dtype", kind)["state_bytes"]["gradients"] == 4 * (4 if kind == "fp32" else 2)
    # bf16 computes 1 + 2^-9 as 1; asked for in fp32 it is the same value in another type.
    program = case.compile("low", *GRAPH_LOSS, *SGD, "--precision", "bf16", "--grad-dtype", "fp32")
    _, weights = case.trained(program, "--steps", "1", "--lr", "1", "--weight-decay", "0")
    assert weights["w"][0] == -0.5, weights


def accumulators(folder):
    """Sums over micro-batches are fp32 whatever the gradients are, unless --accumulate-dtype says otherwise."""
    rows = [[1, 0, 0, 0]] + [[2 ** -9, 0, 0, 0]] * 3
    case = linear(folder, rows[:1], [0.5] * 4)
    case.add_data("x", array(rows))
    for options, wanted in ((["--precision", "bf16"], 1 + 3 * 2 ** -9), (["--precision", "bf16", "--accumulate-dtype", "bf16"], 1),
                            (["--accumulate-dtype", "bf16"], 1), (["--accumulate-dtype", "fp16"], 1 + 3 * 2 ** -9)):
        program = case.compile("program", *GRAPH_LOSS, *SGD, "--accumulate", "4", *options)
        _, weights = case.trained(program, "--steps", "1", "--lr", "4", "--weight-decay", "0")
        assert weights["w"][0] == numpy.float32(0.5 - wanted), (options, weights)
        held = plan(case, "--accumulate", "4", *options)["peak_breakdown"]["gradients"]
        assert held >= (8 if "--accumulate-dtype" in options else 16), held


def stochastic(folder):
    """bf16 weights without masters: a step far below their rounding arrives in the mean; two runs and a resumed one are equal."""
    count = 4096
    rows = numpy.ones((1, count)) * 2 ** -12
    case = linear(folder, rows, numpy.full(count, 1.5))
    flags = [*GRAPH_LOSS, *SGD, "--precision", "bf16"]
    run = ["--lr", "1", "--weight-decay", "0", "--seed", "5"]
    _, kept = case.trained(case.compile("masters", *flags), "--steps", "16", *run)
    program = case.compile("program", *flags, "--master-weights", "off")
    _, once = case.trained(program, "--steps", "16", *run)
    assert numpy.all(kept["w"] == numpy.float32(1.5 - 16 * 2 ** -12)), kept
    values = once["w"]
    assert set(numpy.unique((1.5 - values) * 2 ** 7)) <= set(range(8)), numpy.unique(values)  # multiples of bf16's step
    # Of each weight 16 chances of 1/32 for a step of 2^-7; the mean of 4096 has a deviation of 2e-5.
    assert len(numpy.unique(values)) >= 3 and abs(values.mean() - (1.5 - 16 * 2 ** -12)) < 1e-4, values.mean()
    _, again = case.trained(program, "--steps", "16", *run)
    assert numpy.array_equal(again["w"], values)
    folders = ["--checkpoint-dir", case.folder / "checkpoints"]
    case.trained(program, "--steps", "9", *run, *folders)
    _, resumed = case.trained(program, "--steps", "16", *run, *folders, "--resume")
    assert numpy.array_equal(resumed["w"], values)
    _, other = case.trained(program, "--steps", "16", *run[:-1], "6")
    assert not numpy.array_equal(other["w"], values)
    state, before = (plan(case, "--precision", "bf16", "--master-weights", word)["state_bytes"] for word in ("off", "on"))
    assert state["parameters"] == 2 * count and state["working_copies"] == 0 and state["gradients"] == 2 * count, state
    assert before["parameters"] == 4 * count and before["working_copies"] == 2 * count and state["optimizer"] == before["optimizer"] == 8 * count


if __name__ == "__main__":
    case = globals()[sys.argv[1]]
    case(sys.argv[2])
    print(f"{sys.argv[1]}: {case.__doc__}")
