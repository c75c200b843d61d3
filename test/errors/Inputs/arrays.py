#!/usr/bin/env python3
"""Data files with one thing wrong: arrays.py FOLDER GOLDEN-GPT. Plain Python, as the suite's interpreter may lack numpy."""
import array
import pathlib
import shutil
import sys

FOLDER, GOLDEN = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
ROWS, LENGTH = 20, 24


def values(name):
    raw = (GOLDEN / name).read_bytes()
    return array.array("q", raw[10 + int.from_bytes(raw[8:10], "little"):])


def save(name, data, shape, descr="<i8", order="False"):
    header = str({"descr": descr, "fortran_order": order == "True", "shape": tuple(shape)}).encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    (FOLDER / name).write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data.tobytes())


def changed(data, row, element, value):
    data = data[:]
    data[row * LENGTH + element] = value
    return data


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    ids, labels = values("input_ids.npy"), values("labels.npy")
    save("labels-64.npy", changed(labels, 10, 3, 64), (ROWS, LENGTH))
    save("ids-64.npy", changed(ids, 9, 5, 64), (ROWS, LENGTH))
    save("floats.npy", array.array("f", ids), (ROWS, LENGTH), "<f4")
    save("complex.npy", array.array("q", ids), (ROWS, LENGTH), "<c8")
    save("short-rows.npy", ids, (LENGTH, ROWS))
    save("few.npy", ids[:7 * LENGTH], (7, LENGTH))
    save("empty.npy", array.array("q"), (0, LENGTH))
    save("fortran.npy", ids, (ROWS, LENGTH), order="True")
    tokens = array.array("H", (i % 64 for i in range(1200)))
    tokens[600] = 999
    (FOLDER / "tokens.bin").write_bytes(tokens.tobytes())
    shutil.copy(GOLDEN / "input_ids.npy", FOLDER / "torn.npy")
    with open(FOLDER / "torn.npy", "r+b") as torn:
        torn.truncate(1000)


if __name__ == "__main__":
    main()
