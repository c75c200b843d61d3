#!/usr/bin/env python3
"""Values of T x T that a step keeps from forward to backward, read from its execution IR:
quadratic.py LENGTH EXEC.mlir

A buffer of @step is kept when it is written before the loss is known and read after it. It is T x T when two of its
dimensions are LENGTH, or one is its square. States, inputs and constants (live from the start) are not counted: an
additive mask that the model stores is no activation.
"""
import re
import sys

BUFFER = re.compile(r"(%\d+) = exec\.buffer \"([^\"]*)\" at \d+ size (\d+) live\[(-?\d+), (\d+)\] tensor<([^>]*)>(.*)")
LAUNCH = re.compile(r"exec\.launch .*? writes\(([^)]*)\)")


class Buffer:
    def __init__(self, symbol, name, size, first, last, shape, rest):
        self.symbol, self.name, self.size = symbol, name, int(size)
        self.first, self.last, self.rest = int(first), int(last), rest
        self.dims = [int(dim) for dim in re.findall(r"(\d+)x", shape)]

    def is_quadratic(self, length):
        return self.dims.count(length) >= 2 or length * length in self.dims


def step_of(text):
    step = text[text.index("exec.function @step"):]
    end = step.find("exec.function @", 1)
    return step if end < 0 else step[:end]


def loss_launch(step, buffers, place):
    """The launch that writes the loss: what comes before it is forward."""
    symbols = [b.symbol for b in buffers if '<result "loss_sum">' in b.rest]
    writers = [k for k, writes in enumerate(LAUNCH.findall(step)) if set(symbols) & set(writes.split(", "))]
    if len(writers) != 1:
        sys.exit(f"{place}: expected one launch that writes loss_sum, found {len(writers)}")
    return writers[0]


def main():
    length, place = int(sys.argv[1]), sys.argv[2]
    with open(place) as file:
        step = step_of(file.read())
    buffers = [Buffer(*found) for found in BUFFER.findall(step)]
    loss = loss_launch(step, buffers, place)
    saved = [b for b in buffers if 0 <= b.first < loss < b.last]
    kept = [b for b in saved if b.is_quadratic(length)]
    print(f"{len(saved)} buffers of {sum(b.size for b in saved)} bytes kept for the backward pass, {len(kept)} of them T x T")
    for b in kept:
        print(f"kept: {b.name} {'x'.join(map(str, b.dims))}, {b.size} bytes, live from launch {b.first} to {b.last}, "
              f"the loss at {loss}")
    sys.exit(not saved or bool(kept))


if __name__ == "__main__":
    main()
