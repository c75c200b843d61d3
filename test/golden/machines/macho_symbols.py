#!/usr/bin/env python3
"""What a program or library for macOS takes of others and gives to them: macho_symbols.py LIBSYSTEM.tbd FILE [HEADER]

Each symbol that it lacks is in the list of what libSystem has; it exports nothing or, where a HEADER of --emit lib is given, the functions
which that declares.
"""
import pathlib
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    known = set(re.findall(r"[\w$.]+", pathlib.Path(sys.argv[1]).read_text()))
    lacking = output("llvm-nm", "-u", "-j", sys.argv[2]).split()
    if unknown := [name for name in lacking if name not in known]:
        sys.exit(f"libSystem has none of {unknown}")
    exported = {name for name in re.findall(r"^0x\w+\s+(\S+)", output("llvm-objdump", "--macho", "--exports-trie", sys.argv[2]), re.M)
                if not name.startswith("__mh_")}
    declared = set()
    if len(sys.argv) > 3:
        declared = {"_" + name for name in re.findall(r"^(?:int|void|const char \*) ?\*?(\w+)\(", pathlib.Path(sys.argv[3]).read_text(), re.M)}
    if exported != declared:
        sys.exit(f"exported and not declared: {sorted(exported - declared)}; declared and not exported: {sorted(declared - exported)}")
    print(f"{len(lacking)} symbols of libSystem, {len(exported)} exported")


if __name__ == "__main__":
    main()
