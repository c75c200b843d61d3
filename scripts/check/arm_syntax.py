#!/usr/bin/env python3
"""Do all sources of Kedge itself pass the compiler of 64-bit Arm? arm_syntax.py BUILD [WORD...] (files whose path holds a WORD)

Takes the commands of BUILD/compile_commands.json for lib, passes, driver and tools, with Debian's cross compiler in place of the
system's: the headers of MLIR, LLVM, fmt and CLI11 are the same for all machines. Nothing is linked, as there is no LLVM for Arm
here. The runtime is built for Arm anyway (cmake/KedgeOtherMachines.cmake). About half an hour of processor time.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("lib", "passes", "driver", "tools")
COMPILER = ["aarch64-linux-gnu-g++", "-idirafter", "/usr/include"]


def inside(file, build):
    """Is it, or what CMake joined of it, in one of the folders?"""
    place = pathlib.Path(file)
    base = build if build in place.parents else ROOT
    return base in place.parents and place.relative_to(base).parts[0] in FOLDERS


def for_arm(command, headers):
    """The command for the cross compiler, without what is written; its precompiled header is one of `headers`."""
    words = shlex.split(command)
    compiler = next(at for at, word in enumerate(words) if word.endswith("++"))
    kept = [headers.get(word, word) for word in words[compiler + 1:]]
    at = kept.index("-o")
    del kept[at:at + 2]
    kept.remove("-c")
    # Flags of this machine's processor say nothing about another.
    return COMPILER + [word for word in kept if not re.match(r"-m(arch|cpu|tune|avx|amx|fma)", word)] + ["-fsyntax-only"]


def precompile(header, command, folder):
    words = for_arm(command, {})
    at = words.index("-include")
    del words[at:at + 2]
    copy = folder / pathlib.Path(header).name
    copy.write_text(pathlib.Path(header).read_text().replace("#pragma GCC system_header", ""))
    words = [word for word in words[:-1] if not word.endswith(".cxx") and not word.endswith(".cpp") and word != "-Winvalid-pch"]
    subprocess.run(words + ["-x", "c++-header", copy, "-o", f"{copy}.gch"], check=True)
    return str(copy)


def check(entry, headers):
    done = subprocess.run(for_arm(entry["command"], headers), cwd=entry["directory"], capture_output=True, text=True)
    return entry["file"], done.returncode, done.stderr


def main():
    build, words = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    entries = [entry for entry in json.loads((build / "compile_commands.json").read_text())
               if inside(entry["file"], build) and (not words or any(word in entry["file"] for word in words))]
    failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        headers = {}
        for entry in entries:
            named = re.search(r"-include (\S+)", entry["command"])
            if named and named[1] not in headers and "kedge_precompiled." in named[1]:
                headers[named[1]] = precompile(named[1], entry["command"], pathlib.Path(folder))
        for file, code, errors in pool.map(lambda entry: check(entry, headers), entries):
            failed += bool(code)
            print(f"{'fails' if code else 'passes'}: {file}\n{errors}", end="", flush=True)
    print(f"{len(entries) - failed} of {len(entries)} files pass the compiler of 64-bit Arm")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
