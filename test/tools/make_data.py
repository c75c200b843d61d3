#!/usr/bin/env python3
"""What scripts/make/make_data.py makes of small pictures and tables: make_data.py OUT SCRIPT."""
import pathlib
import subprocess
import sys

import numpy

OUT, SCRIPT = pathlib.Path(sys.argv[1]), sys.argv[2]


def run(*words):
    return subprocess.run([sys.executable, SCRIPT, *map(str, words)], capture_output=True, text=True)


def made(*words):
    done = run(*words)
    assert done.returncode == 0, (words, done.stderr)


def refused(text, *words):
    done = run(*words)
    assert done.returncode == 1 and text in done.stderr and "Traceback" not in done.stderr, (words, done.stderr)


def load(name):
    return numpy.load(OUT / f"{name}.npy")


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def pictures():
    colours = numpy.arange(2 * 3 * 3, dtype=numpy.uint8).reshape(2, 3, 3)  # 2 high, 3 wide
    write(OUT / "p/cats/1.ppm", b"P6\n# a comment\n3 2\n255\n" + colours.tobytes())
    write(OUT / "p/ants/2.pgm", b"P5 3 2 100\n" + bytes([0, 10, 20, 30, 40, 100]))
    made("images", OUT / "p", OUT / "a", "--mean", "0.5,0,0", "--std", "1,2,1")
    pixels = load("a-pixels")
    assert pixels.shape == (2, 3, 2, 3) and pixels.dtype == numpy.float32 and load("a-labels").tolist() == [0, 1]
    assert (OUT / "a-classes.txt").read_text() == "ants\ncats\n"
    wanted = (colours / 255 - numpy.array([0.5, 0, 0])) / numpy.array([1, 2, 1])
    assert numpy.allclose(pixels[1], wanted.transpose(2, 0, 1)) and numpy.allclose(pixels[0, 2], [[0, 0.1, 0.2], [0.3, 0.4, 1]])
    made("images", OUT / "p", OUT / "g", "--gray")
    assert load("g-pixels").shape == (2, 1, 2, 3) and abs(load("g-pixels")[1, 0, 0, 1] - (0.299 * 3 + 0.587 * 4 + 0.114 * 5) / 255) < 1e-6
    write(OUT / "p/cats/3.pgm", b"P5 4 2 255\n" + bytes(8))
    refused("4x2 pixels, expected 3x2 as in", "images", OUT / "p", OUT / "b")
    write(OUT / "p/cats/3.pgm", b"P5 3 2 255\n" + bytes(5))
    refused("3.pgm: truncated", "images", OUT / "p", OUT / "b")
    write(OUT / "p/cats/3.pgm", b"P2 3 2 255\n0 0 0 0 0 0")
    refused("expected a binary .ppm or .pgm file", "images", OUT / "p", OUT / "b")
    (OUT / "empty").mkdir()
    refused("expected one for each class", "images", OUT / "empty", OUT / "b")
    print("pictures: classes by folder, planes of channels, 4 refused")


def tables():
    write(OUT / "t.csv", b'size,"colour, of it",price,kind\n1,red,2.5,b\n2,blue,3,a\n6,red,4,b\n')
    made("csv", OUT / "t.csv", OUT / "k", "--label", "kind")
    assert load("k-labels").tolist() == [1, 0, 1] and (OUT / "k-classes.txt").read_text() == "a\nb\n"
    assert load("k-features").tolist() == [[1, 0, 1, 2.5], [2, 1, 0, 3], [6, 0, 1, 4]]
    assert (OUT / "k-features.txt").read_text() == "size\ncolour, of it = blue\ncolour, of it = red\nprice\n"
    made("csv", OUT / "t.csv", OUT / "n", "--label", "price", "--standardize")
    assert load("n-labels").tolist() == [[2.5], [3], [4]] and load("n-labels").dtype == numpy.float32
    sizes = numpy.array([1, 2, 6])
    assert numpy.allclose(load("n-features")[:, 0], (sizes - sizes.mean()) / sizes.std())
    assert (OUT / "n-features.txt").read_text().startswith("size, less 3.0, over 2.16")
    refused("'size' has 3 different whole numbers in 3 rows, which may be classes or the values of a regression: say --classes or --numbers",
            "csv", OUT / "t.csv", OUT / "s", "--label", "size")
    made("csv", OUT / "t.csv", OUT / "s", "--label", "size", "--classes")
    assert load("s-labels").tolist() == [0, 1, 2] and (OUT / "s-classes.txt").read_text() == "1\n2\n6\n"
    made("csv", OUT / "t.csv", OUT / "s", "--label", "size", "--numbers")
    assert load("s-labels").tolist() == [[1], [2], [6]]
    refused("has no column 'cost'; it has size, colour, of it, price, kind", "csv", OUT / "t.csv", OUT / "b", "--label", "cost")
    refused("row 1: the label 'b' is no number", "csv", OUT / "t.csv", OUT / "b", "--label", "kind", "--numbers")
    write(OUT / "u.csv", b"a,b\n1,\n")
    refused("row 1: expected 2 cells that are not empty", "csv", OUT / "u.csv", OUT / "b", "--label", "a")
    print("tables: classes and numbers, 3 refused")


pictures()
tables()
