#!/usr/bin/env python3
"""Compares boxes that were found with the true ones: boxes.py FOUND.npy TRUE.npy [PICTURE].

Counts, and draws one picture: the true boxes on the left, those found on the right. Needs no packages.
"""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import npy  # noqa: E402

SIGNS = "#o"  # a square, a circle


def rows(path):
    (count, places, width), numbers = npy.load(path)
    return [[numbers[at:at + width] for at in range(row * places * width, (row + 1) * places * width, width)] for row in range(count)]


def overlap(a, b):
    """Intersection over union of two boxes of (class, x, y, width, height)."""
    sides = [max(0.0, min(a[i] + a[i + 2] / 2, b[i] + b[i + 2] / 2) - max(a[i] - a[i + 2] / 2, b[i] - b[i + 2] / 2)) for i in (1, 2)]
    common = sides[0] * sides[1]
    return common / (a[3] * a[4] + b[3] * b[4] - common)


def kept(cells):
    """The cells that are sure of a shape, the surest first, without those that show one that is kept already."""
    boxes = []
    for cell in sorted((cell for cell in cells if cell[0] > 0), key=lambda cell: -cell[0]):
        box = [int(cell[6] > cell[5]), *cell[1:5]]
        if all(overlap(box, other) < 0.3 for other in boxes):
            boxes.append(box)
    return boxes


def drawn(boxes, size=24):
    """Corners and edges, by the sign of the class."""
    points = [[" "] * size for _ in range(size)]
    for kind, x, y, wide, high in boxes:
        left, right, top, low = (min(size - 1, max(0, math.floor(v * size))) for v in (x - wide / 2, x + wide / 2, y - high / 2, y + high / 2))
        for at in range(left, right + 1):
            points[top][at] = points[low][at] = SIGNS[int(kind)]
        for at in range(top, low + 1):
            points[at][left] = points[at][right] = SIGNS[int(kind)]
    return ["".join(row) for row in points]


found = [kept(cells) for cells in rows(sys.argv[1])]
true = [[box for box in boxes if box[0] >= 0] for boxes in rows(sys.argv[2])]
right = sum(any(box[0] == one[0] and overlap(box, one) >= 0.5 for one in here) for boxes, here in zip(true, found) for box in boxes)
print(f"{right} of {sum(map(len, true))} shapes are found; {sum(map(len, found))} boxes in all")
if len(sys.argv) > 3:
    at = int(sys.argv[3])
    for left, right_side in zip(drawn(true[at]), drawn(found[at])):
        print(f"|{left}|{right_side}|")
