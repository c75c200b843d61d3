"""What a session under schedule-free AdamW reads and writes: averages.py LIBRARY TEMP.

Reads are of the averages, computed here from the same gradients; a checkpoint goes on to the bit; weights that are set begin a new average.
"""
import sys

import numpy as np
from kedge_compiler._session import Session

LR, BETA1, BETA2, EPS, DECAY, STEPS = 0.05, 0.9, 0.999, 1e-8, 0.01, 12


class Reference:
    """The algorithm with its three sequences: z is moved, x averages z, gradients are taken at y between them."""

    def __init__(self, values):
        self.z = values.astype(np.float64)
        self.x, self.y, self.moment, self.weights, self.step = self.z.copy(), self.z.copy(), np.zeros_like(self.z), 0.0, 0

    def update(self, gradient):
        self.step += 1
        gradient = gradient.astype(np.float64)
        self.moment = BETA2 * self.moment + (1 - BETA2) * gradient**2
        direction = gradient / (np.sqrt(self.moment / (1 - BETA2**self.step)) + EPS) + DECAY * self.y
        self.z = self.z - LR * direction
        self.weights += LR**2
        self.x += LR**2 / self.weights * (self.z - self.x)
        self.y = (1 - BETA1) * self.z + BETA1 * self.x


def away(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


library, temp = sys.argv[1:]
numbers = np.random.default_rng(3)
with Session(library, threads=1, lr=LR, weight_decay=DECAY) as session:
    first = session.get_parameters()
    gradients = numbers.standard_normal((STEPS, first.size)).astype(np.float32)
    reference = Reference(first)
    rows = {name: numbers.standard_normal(session.inputs[name][1]).astype(np.float32) for name in ("input", "labels")}
    for gradient in gradients[:-2]:
        session.apply_gradients(gradient)
        reference.update(gradient)
    found = session.get_parameters()
    assert away(found, reference.x) < 2e-6 < 1e-4 < away(found, reference.y), (away(found, reference.x), away(found, reference.y))
    named = session.split(found)
    assert all((session.get_state(name) == values).all() for name, values in named.items())
    assert all((session.state_dict()[name] == values).all() for name, values in named.items())
    evaluated = session.evaluate(rows)
    session.checkpoint(temp)
    for gradient in gradients[-2:]:
        session.apply_gradients(gradient)
        reference.update(gradient)
    last = session.get_parameters()
    assert away(last, reference.x) < 2e-6
    print("reads are of the averages")

    session.resume(temp)
    assert (session.get_parameters() == found).all() and session.evaluate(rows) == evaluated
    for gradient in gradients[-2:]:
        session.apply_gradients(gradient)
    assert (session.get_parameters() == last).all(), "resumed: other averages"
    print("a checkpoint goes on to the bit")

    session.set_parameters(found)
    assert (session.get_parameters() == found).all() and session.evaluate(rows) == evaluated
    name = next(iter(named))
    session.set_state(name, 2 * named[name])
    assert (session.get_state(name) == 2 * named[name]).all()
    print("weights that are set begin a new average")
