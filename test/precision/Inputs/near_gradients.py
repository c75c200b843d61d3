"""Whether two files of gradients tell the same: near_gradients.py A.safetensors B.safetensors RELATIVE. Of each tensor the norm of the
difference is at most RELATIVE of its norm."""
import json
import math
import pathlib
import struct
import sys


def tensors(path):
    raw = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            yield name, entry["dtype"], raw[8 + size + begin:8 + size + end]


def numbers(dtype, data):
    if dtype == "F32":
        return struct.unpack(f"<{len(data) // 4}f", data)
    if dtype == "F16":
        return struct.unpack(f"<{len(data) // 2}e", data)
    assert dtype == "BF16", dtype
    return struct.unpack(f"<{len(data) // 2}f", b"".join(b"\0\0" + data[at:at + 2] for at in range(0, len(data), 2)))


def norm(values):
    return math.sqrt(sum(value * value for value in values))


first = {name: numbers(dtype, data) for name, dtype, data in tensors(sys.argv[1])}
second = {name: numbers(dtype, data) for name, dtype, data in tensors(sys.argv[2])}
assert first.keys() == second.keys() and first, (first.keys(), second.keys())
worst = 0
for name, values in first.items():
    distance = norm([a - b for a, b in zip(values, second[name], strict=True)]) / norm(second[name])
    assert distance <= float(sys.argv[3]), (name, distance)
    worst = max(worst, distance)
print(f"{len(first)} gradients, at most {worst:.1e} apart")
