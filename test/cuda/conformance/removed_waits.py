#!/usr/bin/env python3
"""removed_waits.py EXEC.mlir -- whether kedge-check-memory refuses a program of two streams that lacks any one of its waits."""
import pathlib
import re
import subprocess
import sys

WAITS = re.compile(r" waits *\[([0-9, ]+)\]")


def check(text, temp):
    temp.write_text(text)
    return subprocess.run(["kedge-opt", temp, "--kedge-check-memory", "-o", "/dev/null"], capture_output=True, text=True)


def main():
    path = pathlib.Path(sys.argv[1])
    temp, text = path.with_suffix(".less.mlir"), path.read_text()
    whole = check(text, temp)
    if whole.returncode:
        sys.exit(whole.stderr)
    waits = list(WAITS.finditer(text))
    for wait in waits:
        if "," in wait[1]:
            sys.exit(f"{wait[0]}: two streams have one event to wait for")
        done = check(text[:wait.start()] + text[wait.end():], temp)
        if done.returncode != 1 or "nothing orders them" not in done.stderr:
            sys.exit(f"{wait[0]} at {wait.start()} is not missed: {done.stderr}")
    print(f"{len(re.findall(r' stream 5', text))} launches beside products, {len(waits)} waits, without any one of them refused")


main()
