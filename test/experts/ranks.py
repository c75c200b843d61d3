#!/usr/bin/env python3
"""ranks.py FOLDER: a mixture of experts on several ranks trains as on one: data with every stage of ZeRO, micro-batches, tensor, and to the bit with --same-bits."""
import sys

from mixture import Mixture, apart

case, steps = Mixture(sys.argv[1]), ["--steps", 20, "--lr", 0.01]
one = case.run(case.compile("one"), *steps)
for stage in range(4):
    assert apart(case.run(case.compile("two", "--ranks", 2, "--zero", stage, rows=2), *steps, ranks=2), one) < 1e-6, stage
assert apart(case.run(case.compile("micro", "--accumulate", 2, rows=2), *steps), one) < 1e-6
assert apart(case.run(case.compile("cut", "--ranks", 4, "--tensor", 2, rows=2), *steps, ranks=4), one) < 1e-6
same = case.run(case.compile("same", "--same-bits", 2), *steps)
assert same == case.run(case.compile("same2", "--same-bits", 2, "--ranks", 2, rows=2), *steps, ranks=2)
print("ranks train experts as one does")
