#!/usr/bin/env python3
"""Draws squares and circles on 32 by 32 points, and writes them as .npy files: data.py OUT.

train-pixels.npy, train-boxes.npy, test-pixels.npy, test-boxes.npy. A picture has one to three shapes; its boxes are three rows of
class (0 a square, 1 a circle, -1 none), middle x, middle y, width, height, in parts of the picture. Needs no packages.
"""
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import npy  # noqa: E402

SIZE, MOST = 32, 3


def is_inside(kind, dx, dy, radius):
    return max(abs(dx), abs(dy)) <= radius if kind == 0 else dx * dx + dy * dy <= radius * radius


def drawn(points, boxes):
    """One shape of some ink, where no other is."""
    kind, radius, ink = random.randint(0, 1), random.uniform(3, 5.5), random.uniform(0.7, 1.3)
    x, y = (random.uniform(radius, SIZE - radius) for _ in "xy")
    if any(abs(x - box[1] * SIZE) + abs(y - box[2] * SIZE) < radius + box[3] * SIZE for box in boxes):
        return
    for at in range(SIZE * SIZE):
        if is_inside(kind, at % SIZE + 0.5 - x, at // SIZE + 0.5 - y, radius):
            points[at] += ink
    boxes.append([kind, x / SIZE, y / SIZE, 2 * radius / SIZE, 2 * radius / SIZE])


def write(out, part, count):
    pixels, all_boxes = [], []
    for _ in range(count):
        points, boxes = [random.gauss(0, 0.2) for _ in range(SIZE * SIZE)], []
        for _ in range(random.randint(1, MOST)):
            drawn(points, boxes)
        pixels += points
        all_boxes += [value for box in boxes + [[-1, 0, 0, 0, 0]] * (MOST - len(boxes)) for value in box]
    npy.save(out / f"{part}-pixels.npy", "<f4", (count, 1, SIZE, SIZE), pixels)
    npy.save(out / f"{part}-boxes.npy", "<f4", (count, MOST, 5), all_boxes)


out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
random.seed(0)
write(out, "train", 400)
write(out, "test", 100)
