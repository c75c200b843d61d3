"""Initializers of ONNX files as numpy arrays, and their metadata, without a dependency."""
import os
import pathlib
from typing import BinaryIO, Dict, Iterator, List, Tuple, Union

import numpy as np

from ._errors import KedgeError

_TYPES = {1: "<f4", 2: "u1", 3: "i1", 4: "<u2", 5: "<i2", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2", 11: "<f8", 12: "<u4", 13: "<u8"}
_Field = Tuple[int, Union[int, memoryview]]


def _varint(data: memoryview, at: int) -> Tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _fields(data: memoryview) -> Iterator[_Field]:
    """Number and value of each field of a protobuf message."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            size, at = _varint(data, at)
        yield key >> 3, data[at:at + size]
        at += size


def _dims(value: Union[int, memoryview]) -> List[int]:
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        dim, at = _varint(value, at)
        found.append(dim)
    return found


def _tensor(data: memoryview, folder: pathlib.Path, name: str = "") -> Tuple[str, Union[np.ndarray, None]]:
    dims: List[int] = []
    kind, raw, place = 0, b"", {}
    for number, value in _fields(data):
        if number == 1:
            dims += _dims(value)
        elif number == 2:
            kind = int(value)  # type: ignore[arg-type]
        elif number == 8 and not name:
            name = bytes(value).decode()  # type: ignore[arg-type]
        elif number in (4, 9, 10) and not isinstance(value, int):
            raw += bytes(value)  # float_data and double_data may come one by one
        elif number == 13:
            entry = dict(_fields(value))  # type: ignore[arg-type]
            place[bytes(entry[1]).decode()] = bytes(entry[2]).decode()  # type: ignore[arg-type]
    if kind not in _TYPES and kind != 16:
        return name, None
    if place:
        with open(folder / place["location"], "rb") as file:
            file.seek(int(place.get("offset", 0)))
            raw = file.read(int(place["length"])) if "length" in place else file.read()
    code = _TYPES.get(kind, "<u2")
    if len(raw) != int(np.prod(dims, dtype=np.int64)) * np.dtype(code).itemsize:
        return name, None  # stored element by element: a number of the graph
    array = np.frombuffer(raw, code).reshape(dims)
    return name, (array.astype(np.uint32) << 16).view(np.float32) if kind == 16 else array


def initializers(path: Union[str, "os.PathLike[str]"]) -> Dict[str, np.ndarray]:
    """The weights of an ONNX file by name: its initializers, and what it has in Constant nodes. bfloat16 comes as float32."""
    data, folder = memoryview(pathlib.Path(path).read_bytes()), pathlib.Path(path).parent
    arrays: Dict[str, np.ndarray] = {}
    try:
        for graph in (value for number, value in _fields(data) if number == 7):
            for number, value in _fields(graph):  # type: ignore[arg-type]
                if number == 5:
                    name, array = _tensor(value, folder)  # type: ignore[arg-type]
                elif number == 1:
                    name, array = _constant(value, folder)  # type: ignore[arg-type]
                else:
                    continue
                if array is not None:
                    arrays[name] = array
    except (IndexError, TypeError, KeyError, ValueError) as error:
        raise KedgeError(f"{path}: not an ONNX file, or a damaged one") from error
    return arrays


def _varint_of(file: BinaryIO) -> int:
    value = shift = 0
    while True:
        byte = file.read(1)[0]
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value


def metadata(path: Union[str, "os.PathLike[str]"]) -> Dict[str, str]:
    """metadata_props of an ONNX file. The graph, which may be large, is not read."""
    found: Dict[str, str] = {}
    size = os.path.getsize(path)
    try:
        with open(path, "rb") as file:
            while file.tell() < size:
                key = _varint_of(file)
                if key & 7 == 0:
                    _varint_of(file)
                    continue
                length = {1: 8, 5: 4}.get(key & 7) or _varint_of(file)
                if key >> 3 != 14:
                    file.seek(length, os.SEEK_CUR)
                    continue
                pair = {number: bytes(value).decode() for number, value in _fields(memoryview(file.read(length)))}  # type: ignore[arg-type]
                found[pair[1]] = pair.get(2, "")
    except (IndexError, TypeError, KeyError, ValueError) as error:
        raise KedgeError(f"{path}: not an ONNX file, or a damaged one") from error
    return found


def _constant(node: memoryview, folder: pathlib.Path) -> Tuple[str, Union[np.ndarray, None]]:
    output, kind, attributes = "", "", []
    for number, value in _fields(node):
        if number == 2 and not output:
            output = bytes(value).decode()  # type: ignore[arg-type]
        elif number == 4:
            kind = bytes(value).decode()  # type: ignore[arg-type]
        elif number == 5:
            attributes.append(value)
    for attribute in attributes if kind == "Constant" else []:
        for number, value in _fields(attribute):  # type: ignore[arg-type]
            if number == 5:
                return _tensor(value, folder, output)  # type: ignore[arg-type]
    return output, None
