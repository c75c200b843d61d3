#!/usr/bin/env python3
"""Losses and their gradients against PyTorch's of the same numbers: check.py OUT [sweep].

Quick: all losses on outputs of their own in one program, against expected.npz (make.py), and those over tokens in two, against
tokens.npz. `sweep`: each loss by itself, in two micro-batches, and on two ranks, against the program of all rows. Needs numpy and
onnx."""
import pathlib
import sys

import numpy
from cases import CASES, ROWS
from model import Losses, gap
from token_cases import POLICIES, PREFERENCES

# Relative to the largest gradient of a parameter: f32 against f64. The recursion of ctc rounds in each step, PyTorch's own in
# f32 too.
NEAR, RECURSION = 1e-6, 3e-6

out = pathlib.Path(sys.argv[1])
PROGRAMS = {"all": CASES, "preferences": PREFERENCES, "policies": POLICIES}


def said(file):
    numbers = numpy.load(pathlib.Path(__file__).parent / file)
    return {name: numbers[name] for name in numbers.files}


tokens = said("tokens.npz")
expected = said("expected.npz") | {name: value for name, value in tokens.items() if name != "loss"}
LOSSES = {"all": expected["loss"], "preferences": tokens["loss"], "policies": tokens["loss_1"]}


def check(name, found, wanted, most=NEAR):
    worst = gap(found, wanted)
    far = {key: value for key, value in worst.items() if not value <= (max(most, RECURSION) if "ctc" in key else most)}
    assert not far, (name, far)
    return max(worst.values())


def all_together():
    for name, cases in PROGRAMS.items():
        losses = Losses(out / name, cases)
        found = losses.gradients(losses.compile())
        wanted = {"loss": LOSSES[name]} | {key: expected[key] for case in cases for key in case.parameters}
        print(f"{name}: {len(cases)} losses, {len(wanted) - 1} gradients: as PyTorch's, largest difference {check(name, found, wanted):.1e}")


def sweep():
    for case in sum(PROGRAMS.values(), []):
        one = Losses(out / case.name, [case])
        whole = one.gradients(one.compile("--ranks", "1,2", "--shape", f"x={ROWS}x5"))
        for name in case.parameters:
            wanted = expected[name]
            worst = numpy.max(numpy.abs(whole[name] - wanted.reshape(whole[name].shape))) / numpy.max(numpy.abs(wanted))
            assert worst <= (RECURSION if "ctc" in name else NEAR), (case.name, worst)
        print(f"{case.name}: {case.loss} as PyTorch's")
        half = Losses(out / f"{case.name}-half", [case], batch=ROWS // 2)
        ranks = half.gradients(half.compile("--ranks", "2"), ranks=2)
        print(f"  two ranks: {check(case.name, ranks, whole, 2e-6):.1e}")
        # Those compare the rows of a micro-batch, or divide by items of two kinds.
        if not case.loss.startswith(("contrastive", "kto", "orpo")):
            both = half.gradients(half.compile("--accumulate", "2"))
            print(f"  two micro-batches: {check(case.name, both, whole, 2e-6):.1e}")


if sys.argv[2:] == ["sweep"]:
    sweep()
else:
    all_together()
