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

HOUSE = ("lib", "passes", "driver", "runtime", "tools")
SOURCES = (".cpp", ".h")

# Types of one name in two rooms that never meet in a file. The list only shrinks.
TWICE = {"AttentionMask", "Blocks", "Collective", "DType", "Error", "Function", "Graph", "Operand", "Operation",
         "Options", "Part", "Phase", "Progress", "RankGroup", "Reduction", "Reservation", "Walk", "Window"}
# Options whose words are a list in place: they name what is made or a type of numbers, and are text in other places, too.
WORDS_IN_PLACE = {"--optimizer", "--emit", "--replicas", "--grad-dtype", "--accumulate-dtype"}
# Where one field fills another of its name, and why: such a copy is what an option must not need.
COPIES = {
    "driver/Compilation.cpp": 1,            # the importer knows no options of the driver
    "driver/MeshParts.cpp": 1,
    "driver/AdapterGraph.cpp": 1,           # a node like another
    "driver/PhasePipelines.cpp": 1,         # --effort is of two solvers
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
        if len(where) > 1 and found not in TWICE:
            yield f"{found}: a type in {' and in '.join(sorted(where))}, expected one type of a name"
    for found in sorted(TWICE - {found for found, where in places.items() if len(where) > 1}):
        if len(texts) > 100:
            yield f"test/layout/declarations.py: {found} is one type now: take it off the list TWICE"


def check_options(texts):
    flags = collections.defaultdict(list)
    for name, text in texts.items():
        if name.startswith("tools/kedge/"):
            for found in FLAG.finditer(text):
                flags[found[2]].append(f"{name}:{line_of(text, found.start())}")
                if found[1] == "word" and found[3] and found[2] not in WORDS_IN_PLACE:
                    yield f"{flags[found[2]][-1]}: {found[2]} lists its words, expected an enumeration with Words<> (lib/Support/Words.h)"
    for flag, where in sorted(flags.items()):
        if len(where) > 1:
            yield f"{flag}: declared at {' and '.join(where)}, expected one declaration"
    for name, text in texts.items():
        copies = [line_of(text, found.start()) for found in COPY.finditer(text)]
        if name.startswith(("driver/", "tools/", "passes/Pipelines/")) and len(copies) > COPIES.get(name, 0):
            yield f"{name}: copies fields of one name to the other in the lines {copies}, expected {COPIES.get(name, 0)} such " \
                  "lines: hand the options of the pass over as a whole (docs/how-to-add-an-option.md)"


def check_lines(texts):
    for name, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            place = f"{name}:{number}"
            if name.startswith(("lib/", "passes/")) and CALL_BY_TEXT.search(line):
                yield f"{place}: compares a kernel's name, expected calls<OpT>() or LibraryCallOpInterface"
            if "makeKernel(" in line and not name.startswith(MAKES_KERNELS):
                yield f"{place}: makes a kernel, expected workOf of the call (runtime/calls/LibraryCall.h) or a check of its own"
            if name.startswith(PROGRAM_JSON) and RAW_KEY.search(line):
                yield f"{place}: spells a key of the program's JSON, expected a constant of runtime/abi/ProgramKeys.h"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    texts = {str(path.relative_to(root)): path.read_text()
             for room in HOUSE for path in sorted((root / room).rglob("*")) if path.suffix in SOURCES}
    problems = [*check_types(texts), *check_options(texts), *check_lines(texts)]
    print("\n".join(problems) or f"declared once: {len(texts)} files")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
