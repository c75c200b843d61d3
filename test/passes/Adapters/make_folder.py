#!/usr/bin/env python3
"""Writes a folder of adapters as peft does: make_folder.py OUT CONFIG.json NAME=2x4...; tensors of zeros in F32."""
import json
import math
import pathlib
import struct
import sys

out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
(out / "adapter_config.json").write_text(sys.argv[2])
header, offset = {}, 0
for word in sys.argv[3:]:
    name, shape = word.split("=")
    shape = [int(size) for size in shape.split("x")]
    end = offset + 4 * math.prod(shape)
    header["base_model.model." + name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, end]}
    offset = end
text = json.dumps(header).encode()
(out / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(offset))
