"""Gradients of a session beside those that a program wrote: arrays.py GRADIENTS FILE.safetensors."""
import json
import struct
import sys

data = open(sys.argv[2], "rb").read()
length, = struct.unpack("<Q", data[:8])
header = json.loads(data[8:8 + length])
header.pop("__metadata__", None)
written = {name: data[8 + length + entry["data_offsets"][0]:8 + length + entry["data_offsets"][1]] for name, entry in header.items()}
session = open(sys.argv[1], "rb").read()
for name in sorted(written, key=lambda name: session.index(name.encode() + b"\n")):
    assert session.startswith(name.encode() + b"\n"), name
    session = session[len(name) + 1:]
    assert session[:len(written[name])] == written[name], name
    session = session[len(written[name]):]
assert not session
print(len(written), "gradients, bit for bit those of the program")
