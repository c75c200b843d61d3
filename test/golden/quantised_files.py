"""Safetensors files with weights as bitsandbytes writes them. Needs numpy."""
import json
import struct

import numpy

#: The values of 4-bit NormalFloat (QLoRA, Dettmers et al. 2023, appendix E).
NF4 = numpy.array([-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
                   -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
                   0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0], numpy.float32)
TYPES = {"float32": "F32", "uint8": "U8", "int8": "I8"}


def write(path, tensors):
    header, body = {}, b""
    for name, value in tensors.items():
        data = numpy.ascontiguousarray(value).tobytes()
        header[name] = {"dtype": TYPES[str(value.dtype)], "shape": list(value.shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    return path


def state(tensors, name, shape, more={}):
    text = json.dumps({"quant_type": "nf4", "blocksize": 64, "dtype": "float32", "shape": list(shape)} | more)
    tensors[f"{name}.quant_map"] = NF4
    tensors[f"{name}.quant_state.bitsandbytes__nf4"] = numpy.frombuffer(text.encode(), numpy.uint8)
