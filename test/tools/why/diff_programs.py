"""diff_programs.py FOLDER: next to FOLDER/fp32, `one-thread` runs it on one thread, `one-ulp` and `moved` with one weight moved."""
import json
import os
import struct
import subprocess
import sys

folder = os.path.abspath(sys.argv[1])
weights = f"{folder}/weights.safetensors"
subprocess.run([f"{folder}/fp32", "--steps", "0", "--export-safetensors", weights], check=True, stdout=subprocess.DEVNULL)
data = bytearray(open(weights, "rb").read())
(length,) = struct.unpack("<Q", data[:8])
place = json.loads(data[8:8 + length])["blocks.1.norm2.weight"]["data_offsets"][0] + 8 + length + 4 * 7
(bits,) = struct.unpack("<I", data[place:place + 4])
data[place:place + 4] = struct.pack("<I", bits + 1)
open(weights, "wb").write(data)
(value,) = struct.unpack("<f", struct.pack("<I", bits))
data[place:place + 4] = struct.pack("<f", value + 0.25)
open(f"{folder}/moved.safetensors", "wb").write(data)
for name, options in (("one-thread", "--threads 1"), ("one-ulp", f"--weights '{weights}'"),
                      ("moved", f"--weights '{folder}/moved.safetensors'")):
    with open(f"{folder}/{name}", "w") as script:
        script.write(f"#!/bin/sh\nexec '{folder}/fp32' {options} \"$@\"\n")
    os.chmod(f"{folder}/{name}", 0o755)
