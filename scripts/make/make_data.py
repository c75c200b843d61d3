#!/usr/bin/env python3
"""Makes data files (.npy) of what people have.

    make_data.py images FOLDER OUT [--size HxW] [--gray] [--mean R,G,B --std R,G,B]
    make_data.py csv FILE OUT --label COLUMN [--classes | --numbers] [--standardize] [--delimiter C]

images: FOLDER has a folder for each class, as torchvision's ImageFolder. Writes OUT-pixels.npy (float32 [rows, channels, height,
width], 0 to 1, then (x - mean) / std), OUT-labels.npy (int64 [rows]) and OUT-classes.txt (the name of class k on line k). Pictures
must have one size; --size scales them. .ppm and .pgm files need no package but numpy, others and --size need Pillow.

csv: the first line names the columns. All columns but the label become OUT-features.npy (float32 [rows, columns]); OUT-features.txt
names them. The label becomes OUT-labels.npy: classes (int64; OUT-classes.txt names them), or numbers (float32 [rows, 1]).
Without --classes and --numbers texts are classes, numbers with a fraction are numbers, and whole numbers are classes where there are at
most 20, and a tenth of the rows; more of them are refused, since they may be either.
A column whose cells are not all numbers becomes a column of 0 and 1 for each of its values. --standardize: each column of numbers
less its mean, over its deviation; OUT-features.txt has both, for the data of later. Cells must not be empty. Needs numpy.
"""
import argparse
import csv
import math
import pathlib
import sys

import numpy


MANY = 20  # classes; more are most likely values


def fail(text):
    sys.exit(f"make_data.py: {text}")


def portable(path):
    """A .ppm or .pgm file (P5, P6; 8 bits) as [height, width, channels]."""
    data, fields, at = path.read_bytes(), [], 0
    while len(fields) < 4:  # magic, width, height, largest value; lines of # between them
        while at < len(data) and data[at:at + 1].isspace():
            at += 1
        if data[at:at + 1] == b"#":
            at = data.index(b"\n", at)
            continue
        end = at
        while end < len(data) and not data[end:end + 1].isspace():
            end += 1
        if end == at:
            fail(f"{path}: ends within its header")
        fields.append(data[at:end])
        at = end
    if fields[0] not in (b"P5", b"P6") or int(fields[3]) > 255:
        fail(f"{path}: expected a binary .ppm or .pgm file (P6, P5) of 8 bits, found {fields[0]!r} up to {fields[3]!r}")
    width, height, channels = int(fields[1]), int(fields[2]), 3 if fields[0] == b"P6" else 1
    pixels = numpy.frombuffer(data, numpy.uint8, offset=at + 1)
    if pixels.size < width * height * channels:
        fail(f"{path}: truncated: {width}x{height} pixels of {channels} bytes, found {pixels.size} bytes")
    return pixels[:width * height * channels].reshape(height, width, channels) / numpy.float32(int(fields[3]))


def with_pillow(path, size, gray):
    try:
        from PIL import Image
    except ImportError:
        fail(f"{path}: only .ppm and .pgm files of one size are read without Pillow (pip install pillow)")
    picture = Image.open(path).convert("L" if gray else "RGB")
    if size:
        picture = picture.resize((size[1], size[0]), Image.Resampling.BILINEAR)
    pixels = numpy.asarray(picture, numpy.float32) / 255
    return pixels[:, :, None] if gray else pixels


def picture(path, size, gray):
    if size or path.suffix.lower() not in (".ppm", ".pgm"):
        return with_pillow(path, size, gray)
    pixels = portable(path)
    if pixels.shape[2] == 1 and not gray:
        return numpy.repeat(pixels, 3, axis=2)
    if pixels.shape[2] == 3 and gray:
        return (pixels @ numpy.array([0.299, 0.587, 0.114], numpy.float32))[:, :, None]  # as Pillow weighs them
    return pixels


def images(options):
    root, size = pathlib.Path(options.source), None
    if options.size:
        size = tuple(int(part) for part in options.size.split("x"))
    classes = sorted(entry.name for entry in root.iterdir() if entry.is_dir())
    if not classes:
        fail(f"{root}: has no folders; expected one for each class")
    files = [(path, label) for label, name in enumerate(classes) for path in sorted((root / name).rglob("*")) if path.is_file()]
    if not files:
        fail(f"{root}: its folders have no pictures")
    first = picture(files[0][0], size, options.gray).shape
    pixels = numpy.lib.format.open_memmap(f"{options.out}-pixels.npy", "w+", numpy.float32, (len(files), first[2], *first[:2]))
    mean, std = (numpy.array(numbers_of(text, first[2]), numpy.float32) for text in (options.mean or "0", options.std or "1"))
    for row, (path, _) in enumerate(files):
        one = picture(path, size, options.gray)
        if one.shape != first:
            fail(f"{path}: {one.shape[1]}x{one.shape[0]} pixels, expected {first[1]}x{first[0]} as in {files[0][0]}; --size scales all")
        pixels[row] = ((one - mean) / std).transpose(2, 0, 1)
    pixels.flush()
    numpy.save(f"{options.out}-labels.npy", numpy.array([label for _, label in files], numpy.int64))
    pathlib.Path(f"{options.out}-classes.txt").write_text("".join(name + "\n" for name in classes))
    print(f"{len(files)} pictures of {len(classes)} classes: {options.out}-pixels.npy {list(pixels.shape)}, {options.out}-labels.npy")


def numbers_of(text, count):
    numbers = [float(part) for part in text.split(",")]
    if len(numbers) not in (1, count):
        fail(f"{text}: expected one number, or {count}")
    return numbers


def number(cell):
    try:
        return float(cell) if math.isfinite(float(cell)) else None
    except ValueError:
        return None


def features(name, cells, standardize):
    """The columns that a column of cells becomes, with their names."""
    values = [number(cell) for cell in cells]
    if None in values:
        kinds = sorted(set(cells))
        return [([float(cell == kind) for cell in cells], f"{name} = {kind}") for kind in kinds]
    if not standardize:
        return [(values, name)]
    mean, deviation = numpy.mean(values), numpy.std(values) or 1.0
    return [((numpy.array(values) - mean) / deviation, f"{name}, less {float(mean)!r}, over {float(deviation)!r}")]


def labels(options, cells):
    values = [number(cell) for cell in cells]
    if options.numbers or (not options.classes and None not in values and any(value != int(value) for value in values)):
        if None in values:
            fail(f"{options.source}: row {values.index(None) + 1}: the label '{cells[values.index(None)]}' is no number")
        return numpy.array(values, numpy.float32)[:, None], None
    count = len(set(cells))
    if not options.classes and None not in values and count > min(MANY, max(2, len(cells) // 10)):
        fail(f"{options.source}: the label '{options.label}' has {count} different whole numbers in {len(cells)} rows, which may be classes or "
             "the values of a regression: say --classes or --numbers")
    kinds = sorted(set(cells), key=lambda cell: (number(cell) is None, number(cell) or 0, cell))
    return numpy.array([kinds.index(cell) for cell in cells], numpy.int64), kinds


def table(options):
    with open(options.source, newline="") as file:
        head, *rows = [row for row in csv.reader(file, delimiter=options.delimiter) if row]
    if options.label not in head:
        fail(f"{options.source}: has no column '{options.label}'; it has {', '.join(head)}")
    for index, row in enumerate(rows):
        if len(row) != len(head) or "" in row:
            fail(f"{options.source}: row {index + 1}: expected {len(head)} cells that are not empty, found {row}")
    columns = {name: [row[place] for row in rows] for place, name in enumerate(head)}
    target, kinds = labels(options, columns.pop(options.label))
    made = [one for name, cells in columns.items() for one in features(name, cells, options.standardize)]
    numpy.save(f"{options.out}-features.npy", numpy.array([values for values, _ in made], numpy.float32).T.copy())
    numpy.save(f"{options.out}-labels.npy", target)
    pathlib.Path(f"{options.out}-features.txt").write_text("".join(name + "\n" for _, name in made))
    if kinds:
        pathlib.Path(f"{options.out}-classes.txt").write_text("".join(kind + "\n" for kind in kinds))
    print(f"{len(rows)} rows: {options.out}-features.npy {[len(rows), len(made)]}, {options.out}-labels.npy of "
          + (f"{len(kinds)} classes" if kinds else "numbers"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("images")
    one.set_defaults(run=images)
    one.add_argument("--size", metavar="HxW")
    one.add_argument("--gray", action="store_true")
    one.add_argument("--mean")
    one.add_argument("--std")
    two = commands.add_parser("csv")
    two.set_defaults(run=table)
    two.add_argument("--label", required=True, metavar="COLUMN")
    two.add_argument("--delimiter", default=",")
    two.add_argument("--standardize", action="store_true")
    kinds = two.add_mutually_exclusive_group()
    kinds.add_argument("--classes", action="store_true")
    kinds.add_argument("--numbers", action="store_true")
    for command in (one, two):
        command.add_argument("source", metavar="FOLDER" if command is one else "FILE")
        command.add_argument("out", metavar="OUT")
    options = parser.parse_args()
    options.run(options)


main()
