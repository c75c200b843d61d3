#!/usr/bin/env python3
"""Writes what PyTorch says of the cases: make.py (into expected.npz and tokens.npz beside it). Needs torch."""
import pathlib

import numpy
from cases import CASES, gradients_of
from token_cases import POLICIES, PREFERENCES

FILES = {"expected": [CASES], "tokens": [PREFERENCES, POLICIES]}

if __name__ == "__main__":
    for name, programs in FILES.items():
        said = {}
        for number, cases in enumerate(programs):
            found = gradients_of(cases)
            said[f"loss_{number}" if number else "loss"] = found.pop("loss")
            said |= found
        numpy.savez_compressed(pathlib.Path(__file__).parent / f"{name}.npz", **{key: numpy.asarray(value, numpy.float64) for key, value in said.items()})
