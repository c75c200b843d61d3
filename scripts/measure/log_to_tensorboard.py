#!/usr/bin/env python3
"""Writes the numbers of a program's log (--log FILE.jsonl) as TensorBoard reads them: log_to_tensorboard.py LOG.jsonl FOLDER.

Each number of a line becomes a scalar of its name: loss, lr, grad_norm, eval_loss and so on, at the line's `completed_steps`. Then:
tensorboard --logdir FOLDER. Needs no packages. A log that grew is written anew; FOLDER is made where there is none.
"""
import json
import pathlib
import struct
import sys

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def masked_crc(data):
    """CRC-32C, turned and moved, as records of TensorFlow have it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def block(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def event(time, step=None, scalars=None):
    """tensorflow.Event: wall_time 1, step 2, file_version 3, summary 5."""
    data = b"\x09" + struct.pack("<d", time)
    if scalars is None:
        return data + block(3, b"brain.Event:2")
    # Summary.value 1: tag 1, simple_value 2
    values = b"".join(block(1, block(1, name.encode()) + b"\x15" + struct.pack("<f", value)) for name, value in scalars.items())
    return data + b"\x10" + varint(step) + block(5, values)


def record(data):
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    log, folder = map(pathlib.Path, sys.argv[1:])
    out, time, lines = [record(event(0.0))], 0.0, 0
    for number, text in enumerate(log.read_text().splitlines(), 1):
        try:
            line = json.loads(text)
            step = line.get("completed_steps", line["step"] + 1)
        except (ValueError, KeyError, TypeError) as error:
            sys.exit(f"{log}: line {number}: expected an object with 'step', as --log writes it: {error}")
        time += line.get("seconds") or 0.0  # since the start of training
        scalars = {name: float(value) for name, value in line.items()
                   if isinstance(value, (int, float)) and name not in ("step", "completed_steps")}
        out.append(record(event(time, step, scalars)))
        lines += 1
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "events.out.tfevents.0.kedge"
    path.write_bytes(b"".join(out))
    print(f"{path}: {lines} steps")


if __name__ == "__main__":
    main()
