#!/usr/bin/env python3
"""Writes the bytes of files as token numbers: data.py FILE... OUT. The last tenth becomes OUT/test.npy, the rest OUT/train.npy. Needs
no packages."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import npy  # noqa: E402

*files, out = map(pathlib.Path, sys.argv[1:])
text = b"".join(file.read_bytes() for file in files)
out.mkdir(parents=True, exist_ok=True)
border = len(text) * 9 // 10
npy.save(out / "train.npy", "<i4", (border,), text[:border])
npy.save(out / "test.npy", "<i4", (len(text) - border,), text[border:])
