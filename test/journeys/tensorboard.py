#!/usr/bin/env python3
"""Reads event files as TensorBoard does, and compares them with the log: tensorboard.py FOLDER LOG.jsonl."""
import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts/measure"))
from log_to_tensorboard import masked_crc  # noqa: E402


def records(data):
    at = 0
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        assert masked_crc(data[at:at + 8]) == struct.unpack_from("<I", data, at + 8)[0]
        yield data[at + 12:at + 12 + size]
        assert masked_crc(data[at + 12:at + 12 + size]) == struct.unpack_from("<I", data, at + 12 + size)[0]
        at += 16 + size


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def main():
    folder, log = map(pathlib.Path, sys.argv[1:])
    files = sorted(folder.iterdir())
    scalars, others, takes_over = {}, {}, []
    for path in files:
        for event in map(list, map(fields, records(path.read_bytes()))):
            step = dict(event).get(2)
            takes_over += [step for field, value in event if field == 7 and dict(fields(value)) == {1: 1}]
            for summary in (value for field, value in event if field == 5):
                for value in map(dict, map(fields, (value for field, value in fields(summary) if field == 1))):
                    if 2 in value:
                        scalars[value[1].decode(), step] = struct.unpack("<f", value[2])[0]
                    else:
                        others[value[1].decode()] = value
    lines = [json.loads(text) for text in log.read_text().splitlines()]
    for line in lines:
        for key in ("loss", "lr", "grad_norm", "loss_scale", "samples_per_second", "memory_bytes", "eval_loss"):
            wanted = line.get(key)
            got = scalars.get((key, line["completed_steps"]))
            assert (wanted is None) == (got is None), (key, line)
            assert wanted is None or abs(got - wanted) <= 1e-6 * abs(wanted), (key, got, line)
    print(f"{len(files)} files, {len(lines)} steps, evaluations at {', '.join(str(step) for name, step in scalars if name == 'eval_loss')}")
    print("the second takes over at step", *takes_over)
    options = others["_hparams_/session_start_info"][9]
    plan = others["memory plan"][8]
    print("options:", "optimizer adamw" if b"adamw" in options and b"optimizer" in options else options, "; the plan:", "arena_bytes" if b"arena_bytes" in plan else plan)


if __name__ == "__main__":
    main()
