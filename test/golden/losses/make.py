#!/usr/bin/env python3
"""Writes what PyTorch says of the cases: make.py (into expected.npz beside it). Needs torch."""
import pathlib

import numpy
from cases import CASES, gradients_of

if __name__ == "__main__":
    numpy.savez_compressed(pathlib.Path(__file__).parent / "expected.npz",
                           **{name: numpy.asarray(value, numpy.float64) for name, value in gradients_of(CASES).items()})
