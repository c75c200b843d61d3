#!/usr/bin/env python3
"""Looks whether facts are declared once: declarations.py ROOT.

A type's name means one type; a flag is declared once, and its words are an enumeration; options of passes are not copied
field by field; calls are recognized by their op, not by text; the keys of a program's JSON are constants that both sides
include; no kernel is made to learn a fact of a launch.
"""
import collections
import pathlib
import re
import sys

HOUSE = ("include", "lib", "passes", "driver", "runtime", "tools")
SOURCES = (".cpp", ".h")

# Options that more than three files spell, with their number. A program has most of them, too: a row of runtime/program/NumberFlags.cpp
# (range), of runtime/program/Options.cpp (help) and of what it tells about each. The list only shrinks.
SPELLED = {
    "--betas": 6, "--bucket-bytes": 4, "--class-weights": 4, "--decay-steps": 6,
    "--deepspeed-config": 4, "--eps": 6, "--loss-scale-hysteresis": 4, "--lr": 5,
    "--min-lr": 6, "--only": 4, "--pos-weight": 4, "--precision-policy": 4, "--ranks": 4, "--report": 5,
    "--schedule": 5, "--seed": 5, "--warmup": 5, "--warmup-start": 6, "--weight-decay": 5, "--zero": 4,
}
# Where one field fills another of its name, and why: such a copy is what an option must not need.
COPIES = {
    "driver/Compilation.cpp": 1,            # the importer knows no options of the driver
    "driver/MeshParts.cpp": 1,
    "driver/AdapterGraph.cpp": 1,           # a node like another
    "driver/joint/Joint.cpp": 3, "driver/plan/Compare.cpp": 2, "driver/plan/MaxBatch.cpp": 2,    # plans that differ in the rest
    "driver/program/PlansByWorld.cpp": 1, "driver/program/ProgramBuilder.cpp": 1,
    "passes/Pipelines/Pipelines.cpp": 8,    # one option read by several passes
    "passes/Pipelines/RegisterPasses.cpp": 7,    # a pipeline's options for kedge-opt
    "tools/kedge-bench/ArenaCommand.cpp": 1, "tools/kedge-bench/RematCommand.cpp": 2,
    "tools/kedge/SavedCommand.cpp": 8,      # what a saved compilation takes from the command line
}
# Who makes kernels: who runs them, and the plan of a processor's workspaces.
MAKES_KERNELS = ("runtime/cpu/", "lib/Interpret/ConstantEvaluator.cpp", "lib/Analysis/LibraryCall.cpp", "tools/kedge-bench/",
                 "runtime/calls/LibraryKernel.h")
PROGRAM_JSON = ("lib/Export/Program/", "runtime/program/ProgramJson.cpp", "runtime/program/Shard.cpp")

TYPE = re.compile(r"^(?:class|struct|enum class|enum) (\w+)(?: final)?(?: :[^;{]*)?\s*\{", re.M)
FLAG = re.compile(r'\b(add|word|list|number|numbers|bytes|onOff)\(\s*"(--[a-z0-9-]+)",\s*[\w.]+,\s*(\{")?')
LITERAL = re.compile(r'"(--[a-z0-9-]+)"')
COPY = re.compile(r"\.(\w+) = (?:\w+(?:->|\.))+\1[;,]")
CALL_BY_TEXT = re.compile(r'getKernel\(\) [=!]= |getKernel\(\)\.(?:starts_with|ends_with|contains)|[kK]ernel [=!]= "(?:onnx|train|dist)\.')
RAW_KEY = re.compile(r'(?:\[|\bat\(|\bvalue\(|\bfind\(|\bcontains\()"[a-z_0-9]+"')


def line_of(text, place):
    return text.count("\n", 0, place) + 1


def check_types(texts):
    places = collections.defaultdict(set)
    for name, text in texts.items():
        if name.endswith(".h"):
            for found in TYPE.findall(text):
                places[found].add(name)
    for found, where in sorted(places.items()):
        if len(where) > 1:
            yield f"{found}: a type in {' and in '.join(sorted(where))}, expected one type of a name"


def check_options(texts):
    flags = collections.defaultdict(list)
    for name, text in texts.items():
        if name.startswith("tools/flags/"):
            for found in FLAG.finditer(text):
                flags[found[2]].append(f"{name}:{line_of(text, found.start())}")
                if found[1] == "word" and found[3]:
                    yield f"{flags[found[2]][-1]}: {found[2]} lists its words, expected an enumeration with Words<> (include/kedge/Support/Words.h)"
    for flag, where in sorted(flags.items()):
        if len(where) > 1:
            yield f"{flag}: declared at {' and '.join(where)}, expected one declaration"
    for name, text in texts.items():
        copies = [line_of(text, found.start()) for found in COPY.finditer(text)]
        if name.startswith(("driver/", "tools/", "passes/Pipelines/")) and len(copies) > COPIES.get(name, 0):
            yield f"{name}: copies fields of one name to the other in the lines {copies}, expected {COPIES.get(name, 0)} such " \
                  "lines: hand the options of the pass over as a whole (docs/how-to-add-an-option.md)"


def check_spelling(texts):
    """An option is written in at most three files: the pass, the flag, and one that acts on it by name."""
    flags = {found[2] for name, text in texts.items() if name.startswith("tools/flags/") for found in FLAG.finditer(text)}
    spelled = collections.defaultdict(list)
    for name, text in texts.items():
        for found in LITERAL.findall(text) if not name.startswith("tools/kedge-bench/") else ():
            if found in flags and name not in spelled[found]:
                spelled[found].append(name)
    for flag, where in sorted(spelled.items()):
        if len(where) > SPELLED.get(flag, 3):
            yield f"{flag}: spelled in {', '.join(where)}, expected {SPELLED.get(flag, 3)} files at most: read its field, and let one table name it"
    for flag, number in sorted(SPELLED.items()):
        if len(texts) > 100 and len(spelled[flag]) < number:
            yield f"test/layout/declarations.py: {flag} is spelled in {len(spelled[flag])} files now: lower its number in SPELLED"


def check_lines(texts):
    for name, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            place = f"{name}:{number}"
            if name.startswith(("lib/", "passes/")) and CALL_BY_TEXT.search(line):
                yield f"{place}: compares a kernel's name, expected calls<OpT>() or LibraryCallOpInterface"
            if "makeKernel(" in line and not name.startswith(MAKES_KERNELS):
                yield f"{place}: makes a kernel, expected workOf of the call (runtime/calls/LibraryCall.h) or a check of its own"
            if name.startswith(PROGRAM_JSON) and RAW_KEY.search(line):
                yield f"{place}: spells a key of the program's JSON, expected a constant of include/kedge/abi/ProgramKeys.h"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    texts = {str(path.relative_to(root)): path.read_text()
             for room in HOUSE for path in sorted((root / room).rglob("*")) if path.suffix in SOURCES}
    problems = [*check_types(texts), *check_options(texts), *check_spelling(texts), *check_lines(texts)]
    print("\n".join(problems) or f"declared once: {len(texts)} files")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
