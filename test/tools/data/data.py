#!/usr/bin/env python3
"""What kedge data makes of small pictures and tables: data.py OUT."""
import json
import pathlib
import subprocess
import sys

import numpy

OUT = pathlib.Path(sys.argv[1])


def run(kind, source, out, *words):
    return subprocess.run(["kedge", "data", kind, str(source), "-o", str(out), *map(str, words)], capture_output=True, text=True)


def made(*words):
    done = run(*words)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def refused(text, *words):
    done = run(*words)
    assert done.returncode == 1 and text in done.stderr, (words, done.stderr)


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
    assert load("g-pixels").shape == (2, 1, 2, 3) and load("g-pixels")[1, 0, 0, 1] == numpy.float32(4 / 255)
    write(OUT / "p/cats/3.pgm", b"P5 4 2 255\n" + bytes(8))
    refused("4x2 pixels, expected 3x2 as in", "images", OUT / "p", OUT / "b")
    write(OUT / "p/cats/3.pgm", b"P5 3 2 255\n" + bytes(5))
    refused("3.pgm: truncated", "images", OUT / "p", OUT / "b")
    write(OUT / "p/cats/3.pgm", b"P2 3 2 255\n0 0 0 0 0 0")
    refused("expected a binary .ppm or .pgm file", "images", OUT / "p", OUT / "b")
    (OUT / "empty").mkdir()
    refused("expected one for each class", "images", OUT / "empty", OUT / "b")
    write(OUT / "p/cats/3.pgm", b"P5 3 2 255\n" + bytes(6))
    refused("--size 3: expected HEIGHTxWIDTH", "images", OUT / "p", OUT / "b", "--size", "3")
    write(OUT / "p/dogs/1.png", b"no picture")
    refused("1.png: ", "images", OUT / "p", OUT / "b")
    print("pictures: classes by folder, planes of channels, 6 refused")


# 5 x 4 colours of formula (40x + 7, 60y + 3, 11xy) as Pillow saved them, and what its resize((3, 2), BILINEAR) and
# resize((7, 9), BILINEAR) make of them.
PNG = ("89504e470d0a1a0a0000000d4948445200000005000000040802000000c9516217000000224944415478da63646766d060402016061b06"
       "06066e3882f3c5200899afc8c0a008004aa00248220b2f770000000049454e44ae426082")
SMALL = ("182e03572e10962e1c188c0b578c32968c5a")
LARGE = ("0703001e03003a0300570300740300900300a70300070d001e0d013a0d02570d04740d05900d06a70d070728001e28043a280957280d74"
       "2812902817a7281b0742001e42063a420f574217744220904228a7422e075d001e5d0a3a5d15575d21745d2d905d39a75d420778001e78"
       "0d3a781b57782b74783a907849a778560792001e920f3a922157923574924890925aa7926907ad001ead123aad2857ad3e74ad5590ad6b"
       "a7ad7d07b7001eb7133ab72a57b74274b75a90b771a7b784")
GRAY = ("04101c28342734424f5c4a596776846e7d8d9dac")


def scaled():
    write(OUT / "s/one/1.png", bytes.fromhex(PNG))
    for text, size in ((SMALL, (2, 3)), (LARGE, (9, 7))):
        made("images", OUT / "s", OUT / "s1", "--size", f"{size[0]}x{size[1]}")
        wanted = numpy.frombuffer(bytes.fromhex(text), numpy.uint8).reshape(*size, 3).transpose(2, 0, 1)
        assert numpy.array_equal(numpy.round(load("s1-pixels")[0] * 255), wanted)
    made("images", OUT / "s", OUT / "s2", "--gray")
    assert numpy.array_equal(numpy.round(load("s2-pixels")[0, 0] * 255).ravel(), list(bytes.fromhex(GRAY)))
    print("scaled: as Pillow does")

# The same colours, and their reds alone, as Pillow saved them in .jpg (quality 60), and as it reads these files.
JPEG = ("ffd8ffe000104a46494600010100000100010000ffdb0043000d090a0b0a080d0b0a0b0e0e0d0f13201513121213271c1e17202e2931302e"
        "292d2c333a4a3e333646372c2d405741464c4e525352323e5a615a50604a51524fffdb0043010e0e0e131113261515264f352d354f4f4f4f"
        "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4fffc00011080004000503"
        "011100021101031101ffc40014000100000000000000000000000000000002ffc40019100001050000000000000000000000000005000103"
        "0421ffc4001501010100000000000000000000000000000205ffc4001a110002030101000000000000000000000001020003041131ffda00"
        "0c03010002110311003f0003418f7afb0a9b5b971d6830eeb857ecffd9")
JPEG_PIXELS = ("0503002204004f06007b0707990707093905253b0c523c177f3d239e3d2a0c801129811d568233838347a283570dae102aaf2257af3e84af"
               "5da2b073")
GRAY_JPEG = ("ffd8ffe000104a46494600010100000100010000ffdb0043000d090a0b0a080d0b0a0b0e0e0d0f13201513121213271c1e17202e2931302e"
             "292d2c333a4a3e333646372c2d405741464c4e525352323e5a615a50604a51524fffc0000b080004000501011100ffc40014000100000000"
             "000000000000000000000003ffc4001810000203000000000000000000000000000001063581ffda0008010100003f0008754ac3ffd9")
GRAY_PIXELS = ("062e567fa4062e567fa4062e567fa4062e567fa4")


def compressed():
    write(OUT / "j/one/1.jpg", bytes.fromhex(JPEG))
    write(OUT / "j/two/2.JPEG", bytes.fromhex(GRAY_JPEG))
    made("images", OUT / "j", OUT / "j1")
    colours = numpy.frombuffer(bytes.fromhex(JPEG_PIXELS), numpy.uint8).reshape(4, 5, 3).transpose(2, 0, 1)
    gray = numpy.frombuffer(bytes.fromhex(GRAY_PIXELS), numpy.uint8).reshape(4, 5)
    pixels = numpy.round(load("j1-pixels") * 255)
    assert load("j1-labels").tolist() == [0, 1]
    assert numpy.array_equal(pixels[0], colours) and all(numpy.array_equal(plane, gray) for plane in pixels[1])
    write(OUT / "j/two/3.jpg", bytes.fromhex(JPEG)[:-12])
    refused("3.jpg: is damaged: Premature end of JPEG file", "images", OUT / "j", OUT / "b")
    write(OUT / "j/two/3.jpg", bytes.fromhex(PNG))
    refused("3.jpg: is no picture that libjpeg reads: Not a JPEG file", "images", OUT / "j", OUT / "b")
    print(".jpg: as Pillow reads it, 2 refused")


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
    assert (OUT / "n-features.txt").read_text().startswith("size, less 3, over 2.16")
    refused("'size' has 3 different whole numbers in 3 rows, which may be classes or the values of a regression: say --classes or --numbers",
            "csv", OUT / "t.csv", OUT / "s", "--label", "size")
    made("csv", OUT / "t.csv", OUT / "s", "--label", "size", "--classes")
    assert load("s-labels").tolist() == [0, 1, 2] and (OUT / "s-classes.txt").read_text() == "1\n2\n6\n"
    made("csv", OUT / "t.csv", OUT / "s", "--label", "size", "--numbers")
    assert load("s-labels").tolist() == [[1], [2], [6]]
    refused("has no column 'cost'; it has size, colour, of it, price, kind", "csv", OUT / "t.csv", OUT / "b", "--label", "cost")
    refused("t.csv:2: the label 'b' is no number", "csv", OUT / "t.csv", OUT / "b", "--label", "kind", "--numbers")
    write(OUT / "u.csv", b"a,b\n1,\n")
    refused("u.csv:2: the cell of 'b' is empty", "csv", OUT / "u.csv", OUT / "b", "--label", "a")
    write(OUT / "u.csv", b"a,b\n1,2,3\n")
    refused("u.csv:2: has 3 cells, expected 2", "csv", OUT / "u.csv", OUT / "b", "--label", "a")
    write(OUT / "u.csv", b'a,b\n"1,2\n')
    refused("u.csv:2: a cell in quotation marks has no end", "csv", OUT / "u.csv", OUT / "b", "--label", "a")
    refused("--label COLUMN is missing", "csv", OUT / "t.csv", OUT / "b")
    write(OUT / "v.csv", b"size,\"colour, of it\",price,kind\n1,red,2.5,c\n")
    refused("v.csv:2: the label 'c' is none of the 2 classes of the training rows", "csv", OUT / "v.csv", OUT / "b", "--like", OUT / "k")
    print("tables: classes and numbers, 8 refused")


def splits():
    rows = [(x, "abc"[x % 3], 10 * x) for x in range(40)]
    text = "x,letter,y\r\n" + "".join(f'{x},"{letter}",{y}.5\r\n' for x, letter, y in rows)
    write(OUT / "w.csv", text.encode())
    said = made("csv", OUT / "w.csv", OUT / "w", "--label", "y", "--test", "0.25", "--standardize")
    assert said.startswith("30 rows: ") and "\n10 rows: " in said, said
    train, test, labels, held = (load(f"w{part}") for part in ("-features", "-test-features", "-labels", "-test-labels"))
    assert sorted([*labels.ravel(), *held.ravel()]) == [10 * x + 0.5 for x in range(40)]
    numbers = (labels.ravel() - 0.5) / 10
    wanted = (held.ravel() - 0.5) / 10
    assert numpy.allclose(train[:, 0], (numbers - numbers.mean()) / numbers.std(), atol=1e-6)
    assert numpy.allclose(test[:, 0], (wanted - numbers.mean()) / numbers.std(), atol=1e-6)
    write(OUT / "later.csv", b"letter,x,y\nb,4,1.5\nz,5,2\n")  # other columns first, and a letter that training had not
    made("csv", OUT / "later.csv", OUT / "later", "--like", OUT / "w")
    assert numpy.allclose(load("later-features")[:, 0], (numpy.array([4, 5]) - numbers.mean()) / numbers.std(), atol=1e-6)
    assert load("later-features")[:, 1:].tolist() == [[0, 1, 0], [0, 0, 0]]
    made("images", OUT / "s", OUT / "moments", "--standardize")
    pixels = load("moments-pixels")
    assert numpy.allclose(pixels.mean((0, 2, 3)), 0, atol=1e-5) and numpy.allclose(pixels.std((0, 2, 3)), 1, atol=1e-5)
    made("images", OUT / "s", OUT / "again", "--like", OUT / "moments")
    assert numpy.array_equal(load("again-pixels"), pixels)
    print("splits: every row once, the training rows' numbers for all")


def lines():
    rows = [{"size": 1, "colour": "red", "kind": "b"}, {"size": 2, "colour": "blue", "kind": "a"}]
    write(OUT / "t.jsonl", "".join(json.dumps({**row, "more": [row["size"], 7]}) + "\n" for row in rows).encode())
    made("jsonl", OUT / "t.jsonl", OUT / "j", "--label", "kind")
    assert load("j-labels").tolist() == [1, 0]
    names = (OUT / "j-features.txt").read_text().split("\n")[:-1]
    assert dict(zip(names, load("j-features")[0])) == {"colour = blue": 0, "colour = red": 1, "more[0]": 1, "more[1]": 7, "size": 1}
    refused("t.jsonl: has no column 'none'", "jsonl", OUT / "t.jsonl", OUT / "j", "--label", "none")
    print("lines of JSON: as the table")


pictures()
scaled()
compressed()
tables()
splits()
lines()
