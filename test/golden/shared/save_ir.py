#!/usr/bin/env python3
"""save_ir.py FOLDER MODEL OPTION...: compiles with --save-ir, then from each of its files, and compares the programs."""
import pathlib
import shutil
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
for name in ("ir", "a", "b"):
    shutil.rmtree(folder / name, ignore_errors=True)
    (folder / name).mkdir()
first, second = folder / "a/program", folder / "b/program"
subprocess.run(["kedge", "compile", *sys.argv[2:], "--save-ir", folder / "ir", "-o", first], check=True, stderr=subprocess.DEVNULL)
files = sorted((folder / "ir").iterdir())
for file in files:
    subprocess.run(["kedge", "compile", file, "-o", second], check=True)
    if first.read_bytes() != second.read_bytes():
        sys.exit(f"{file}: makes another program")
print(f"{len(files)} files, all make the same program")
