"""safetensors files as numpy arrays, without a dependency."""
import json
import os
import struct
from typing import Dict, Mapping, Union

import numpy as np

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U64": "<u8", "U32": "<u4",
          "U16": "<u2", "U8": "u1", "BOOL": "?", "BF16": "<u2"}
_NAMES = {np.dtype(code): name for name, code in _TYPES.items() if name != "BF16"}


def load(path: Union[str, "os.PathLike[str]"]) -> Dict[str, np.ndarray]:
    """bfloat16 comes as float32, which numpy has."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        array = np.frombuffer(data[begin:end], dtype=_TYPES[entry["dtype"]]).reshape(entry["shape"])
        if entry["dtype"] == "BF16":
            array = (array.astype(np.uint32) << 16).view(np.float32)
        arrays[name] = array
    return arrays


def save(arrays: Mapping[str, np.ndarray], path: Union[str, "os.PathLike[str]"]) -> None:
    header, blocks, offset = {}, [], 0
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        if array.dtype not in _NAMES:
            raise TypeError(f"'{name}': safetensors has no type {array.dtype}")
        header[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        blocks.append(array)
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in blocks:
            file.write(array.tobytes())
