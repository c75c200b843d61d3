#!/usr/bin/env python3
"""Draws digits, 16 by 16 points each, and writes them as .npy files: data.py OUT [--few DIGIT].

train-pixels.npy, train-labels.npy, test-pixels.npy, test-labels.npy. With --few, DIGIT is drawn 20 times less often in the
training rows, and weights.npy has a weight for each class: the rows of an average class over those of this one. Needs no packages.
"""
import argparse
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import npy  # noqa: E402

SIZE = 16
# Seven rows of five points, the highest bit on the left.
FONT = [(14, 17, 19, 21, 25, 17, 14), (4, 12, 4, 4, 4, 4, 14), (14, 17, 1, 6, 8, 16, 31), (14, 17, 1, 6, 1, 17, 14),
        (2, 6, 10, 18, 31, 2, 2), (31, 16, 30, 1, 1, 17, 14), (6, 8, 16, 30, 17, 17, 14), (31, 1, 2, 4, 8, 8, 8),
        (14, 17, 17, 14, 17, 17, 14), (14, 17, 17, 15, 1, 2, 12)]


def drawn(digit):
    """Twice the size of the font, somewhere, with ink of some strength, on a noisy ground."""
    left, top, ink = random.randint(0, 6), random.randint(0, 2), random.uniform(0.5, 1.2)
    points = [random.gauss(0, 0.3) for _ in range(SIZE * SIZE)]
    for row, bits in enumerate(FONT[digit]):
        for column in range(5):
            if bits >> (4 - column) & 1:
                for y in (0, 1):
                    for x in (0, 1):
                        points[(top + 2 * row + y) * SIZE + left + 2 * column + x] += ink
    return points


def write(out, part, digits):
    random.shuffle(digits)
    npy.save(out / f"{part}-pixels.npy", "<f4", (len(digits), 1, SIZE, SIZE), [p for digit in digits for p in drawn(digit)])
    npy.save(out / f"{part}-labels.npy", "<i8", (len(digits),), digits)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--few", type=int, choices=range(10), metavar="DIGIT")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    random.seed(0)
    counts = [3 if digit == options.few else 60 for digit in range(10)]
    write(options.out, "train", [digit for digit, count in enumerate(counts) for _ in range(count)])
    write(options.out, "test", [digit for digit in range(10) for _ in range(20)])
    if options.few is not None:
        npy.save(options.out / "weights.npy", "<f4", (10,), [sum(counts) / 10 / count for count in counts])


main()
