"""Gradients in safetensors files (F32) compared as the golden models' README asks. Needs only Python's standard library: it
travels to GPU machines, too."""
import json
import math
import pathlib
import struct


def tensors(path):
    raw = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    found = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            found[name] = entry["shape"], struct.unpack(f"<{(end - begin) // 4}f", raw[begin:end])
    return found


def norm(values):
    return math.sqrt(sum(v * v for v in values))


def gradients_differ(want_file, found_file, renamed):
    """Each within 1e-4 of max(its norm, 1e-3 of the norm over all); renamed ones have another layout or name."""
    want, found = tensors(want_file), tensors(found_file)
    whole = norm([norm(values) for _, values in want.values()])
    for name, (shape, values) in want.items():
        if name in found and found[name][0] == shape:
            gap = norm([a - b for a, b in zip(values, found[name][1])])
        elif name in renamed:
            continue
        else:
            yield f"the gradient of {name} is missing"
            continue
        if not gap <= 1e-4 * max(norm(values), 1e-3 * whole):
            yield f"the gradient of {name} is {gap:.3e} away, its norm is {norm(values):.3e}"
