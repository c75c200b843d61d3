"""Compiles public headers, each alone: headers.py INCLUDE GENERATED sample|all."""
import pathlib
import subprocess
import sys

INCLUDE, GENERATED, HOW = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3]
LLVM = "/usr/lib/llvm-22/include"
IN_C = ("session.h", "abi.h", "compiler.h", "kernel.h")
# What the headers of the dialects include in turn, but for what stands alone.
SAMPLE = IN_C + ("session.hpp", "compiler.hpp", "Passes.h", "InitAllDialects.h", "Dialect/Kedge/Place.h", "Interfaces/OnnxDomainInterface.h",
                 "abi/ProgramKeys.h")


def fails(name, language, standard):
    done = subprocess.run(["cc", "-fsyntax-only", "-Wall", "-Werror", f"-std={standard}", "-x", language, f"-I{INCLUDE}", f"-I{GENERATED}",
                           "-isystem", LLVM, "-"], input=f'#include "kedge/{name}"\n', capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{name} in {standard}: {next((line for line in done.stderr.splitlines() if 'error' in line), done.stderr)}")
    return done.returncode != 0


def main():
    root = INCLUDE / "kedge"
    names = SAMPLE if HOW == "sample" else sorted(str(path.relative_to(root)) for path in root.rglob("*.h*"))
    wrong = sum(fails(name, "c++", "c++20") for name in names) + sum(fails(name, "c", "c11") for name in IN_C)
    if not wrong:
        print(f"compiled alone: {len(names)} headers, {len(IN_C)} of them in C11")
    return wrong


sys.exit(main())
