#!/usr/bin/env python3
"""A copy of a library of NVIDIA's whose GPU code for other architectures is zeros, so that it compresses to little.

thin_library.py IN OUT [--arch sm_90]    IN: libnccl.so.2 (252 MB for CUDA 13, of which 12 MB are code for sm_90)

Sizes and addresses stay. Fat binaries are in the ELF section .nv_fatbin, each a header (magic, version, its size, the size of
what follows) and entries with headers of their own (kind: 1 PTX, 2 machine code; sizes; architecture), as `cuobjdump` lists
them. __nv_relfatbin, which linking device code reads and running does not, becomes zeros, too.
"""
import argparse
import pathlib
import struct
import sys

MAGIC, MACHINE_CODE = 0xBA55ED50, 2


def sections(data):
    """Name -> (offset, size) of an ELF64 file."""
    table, = struct.unpack_from("<Q", data, 40)
    entry, count, names = struct.unpack_from("<HHH", data, 58)
    heads = [struct.unpack_from("<IIQQQQ", data, table + at * entry) for at in range(count)]
    base = heads[names][4]
    return {bytes(data[base + head[0]:data.index(0, base + head[0])]).decode(): (head[4], head[5]) for head in heads}


def thin(source, target, arch):
    """Bytes of machine code that are kept."""
    data, kept = bytearray(pathlib.Path(source).read_bytes()), 0
    found = sections(data)
    if ".nv_fatbin" not in found:
        sys.exit(f"{source}: no section .nv_fatbin: expected a library with GPU code")
    if "__nv_relfatbin" in found:
        at, size = found["__nv_relfatbin"]
        data[at:at + size] = bytes(size)
    at, size = found[".nv_fatbin"]
    end = at + size
    while at < end:
        magic, _, head, rest = struct.unpack_from("<IHHQ", data, at)
        if magic != MAGIC:
            at += 8
            continue
        at += head
        stop = at + rest
        while at < stop:
            kind, _, own, length = struct.unpack_from("<HHIQ", data, at)
            if kind == MACHINE_CODE and struct.unpack_from("<I", data, at + 28)[0] == int(arch.removeprefix("sm_")):
                kept += length
            else:
                data[at + own:at + own + length] = bytes(length)
            at += own + length
    if not kept:
        sys.exit(f"{source}: no machine code for {arch}")
    pathlib.Path(target).write_bytes(data)
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--arch", default="sm_90")
    o = parser.parse_args()
    print(f"{o.target}: {thin(o.source, o.target, o.arch)} bytes of machine code for {o.arch}")


if __name__ == "__main__":
    main()
