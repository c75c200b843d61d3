"""Writes and reads .npy files (version 1.0) with nothing but Python: what numpy.save would write."""
import array
import ast
import math
import sys

CODES = {"<f4": "f", "<i4": "i", "<i8": "q"}


def save(path, kind, shape, values):
    """`values`: numbers in row order, as many as `shape` has places."""
    numbers = array.array(CODES[kind], iter(values))
    if len(numbers) != math.prod(shape):
        raise ValueError(f"{path}: {len(numbers)} numbers for shape {shape}")
    if sys.byteorder == "big":
        numbers.byteswap()
    header = str({"descr": kind, "fortran_order": False, "shape": tuple(shape)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        numbers.tofile(file)


def load(path):
    """Shape and numbers, in row order, of a file in C order."""
    with open(path, "rb") as file:
        file.seek(8)
        header = ast.literal_eval(file.read(int.from_bytes(file.read(2), "little")).decode())
        numbers = array.array(CODES[header["descr"]], file.read())
    if sys.byteorder == "big":
        numbers.byteswap()
    return header["shape"], numbers
