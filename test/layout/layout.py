#!/usr/bin/env python3
"""Checks how the tree is cut: layout.py ROOT.

Dependencies run one way (the folder on the left of `ALLOWED` includes only what stands on the right), no .cpp has more
than 500 lines and no tool's main more than 80, headers of include/kedge mirror folders of lib, and each pass has its
name once as file, flag and test.
"""
import pathlib
import re
import sys

CPP_LINES, MAIN_LINES = 500, 80
LANGUAGE = ["Support", "Interfaces", "Dialect"]
MIDDLE = LANGUAGE + ["Solver", "Model", "Lint", "Analysis", "Interpret", "Import", "Export", "Link"]
# What compilers see of the runtime: facts of calls and programs, and the CPU's kernels to run constants with.
RUNTIME_FACTS = ["runtime/io", "runtime/format", "runtime/abi", "runtime/program", "runtime/calls", "runtime/exec"]
BELOW_EXEC = ["runtime/io", "runtime/format", "runtime/abi", "runtime/program", "runtime/calls"]

# The rooms of the house, and what each includes besides itself. What lies deeper than a room belongs to it; a folder of
# passes/ never includes another phase.
ALLOWED = {
    "Support": [],
    "Solver": [],
    "Solver/Arena": ["Solver"],
    "Solver/Remat": ["Solver", "Solver/Arena"],
    "Interfaces": ["Support"],
    "Dialect": ["Support", "Interfaces"],
    "Model": ["Support"],
    "Lint": ["Support", "Model"],
    "Analysis": LANGUAGE + ["Solver", "runtime/comm"] + RUNTIME_FACTS,
    "Interpret": LANGUAGE + ["Analysis"] + RUNTIME_FACTS,
    "Import": LANGUAGE + ["Model", "Lint", "Interpret"],
    "Export/Skeleton": ["Support", "Model"],
    "Export/Onnx": LANGUAGE + ["Model", "Interpret", "Export/Skeleton"],
    "Export/Plan": LANGUAGE + ["Analysis"],
    "Export/Program": LANGUAGE + ["Interpret", "runtime/format"],
    "Link": ["Support"],
    "passes": MIDDLE + RUNTIME_FACTS,
    "passes/Lower": MIDDLE + RUNTIME_FACTS,
    "passes/Lower/Cluster": LANGUAGE,
    "passes/Lower/Codegen": ["Support", "passes/Lower/Cluster", "runtime/abi"],
    "passes/Lower/Cpu": LANGUAGE + ["passes/Lower", "passes/Lower/Cluster", "passes/Lower/Codegen"],
    "passes/Lower/Gpu": LANGUAGE + ["Analysis", "passes/Lower", "passes/Lower/Cluster", "passes/Lower/Codegen",
                                    "runtime/io", "runtime/calls"],
    "passes/Pipelines": MIDDLE + ["passes"],
    "driver": MIDDLE + ["passes", "passes/Pipelines"] + RUNTIME_FACTS,
    "tools": MIDDLE + ["passes", "passes/Pipelines", "driver"] + RUNTIME_FACTS,
    "runtime/abi": [],
    "runtime/io": [],
    "runtime/format": ["runtime/io"],
    "runtime/program": ["runtime/io", "runtime/format", "runtime/abi"],
    "runtime/calls": ["runtime/io", "runtime/format", "runtime/program"],
    "runtime/comm": BELOW_EXEC,
    "runtime/comm/messages": BELOW_EXEC + ["runtime/comm", "runtime/exec"],
    "runtime/comm/mpi": BELOW_EXEC + ["runtime/comm", "runtime/comm/messages"],
    "runtime/comm/tcp": BELOW_EXEC + ["runtime/comm", "runtime/comm/messages"],
    "runtime/exec": BELOW_EXEC + ["runtime/comm"],
    "runtime/cpu": BELOW_EXEC + ["runtime/comm", "runtime/exec"],
    "runtime/cuda": BELOW_EXEC + ["runtime/exec", "runtime/comm"],
    "runtime/data": BELOW_EXEC + ["runtime/exec"],
    "runtime/library": BELOW_EXEC + ["runtime/comm", "runtime/exec", "runtime/data", "runtime/train"],
    "runtime/train": BELOW_EXEC + ["runtime/exec", "runtime/data", "runtime/comm", "runtime/comm/mpi",
                                   "runtime/comm/tcp"],
}

# Libraries that only some rooms see: MLIR none that works without it, command lines only who has one.
WITHOUT_MLIR = ["Solver", "Solver/Arena", "Solver/Remat", "Model", "Lint", "Export/Skeleton",
                *(room for room in ALLOWED if room.startswith("runtime/"))]
WITH_FLAGS = ["tools", "runtime/program"]
LIBRARIES = {"mlir/": [room for room in ALLOWED if room not in WITHOUT_MLIR],
             "llvm/": [room for room in ALLOWED if room not in WITHOUT_MLIR],
             "CLI/": WITH_FLAGS}

# Includes that the rules above forbid and that are wanted, each with its reason.
EXCEPTIONS = {
    ("lib/Model/ModelLoad.cpp", "runtime/format/GraphHash.h"): "compiler and program compare one hash of the graph",
    ("lib/Lint/Classify.cpp", "runtime/format/NearMisses.h"): "compiler and program guess alike what a name was meant to be",
    ("lib/Lint/Classify.cpp", "runtime/io/NamePattern.h"): "REGEX means the same to the compiler and to programs",
    ("lib/Lint/FindIntent.cpp", "runtime/io/NamePattern.h"): "names may be of any length",
    ("lib/Lint/FindTraced.cpp", "runtime/io/NamePattern.h"): "REGEX means the same to the compiler and to programs",
    ("lib/Lint/Traced.cpp", "runtime/io/NamePattern.h"): "REGEX means the same to the compiler and to programs",
    ("lib/Model/ModelWire.cpp", "runtime/io/Printable.h"): "what is UTF-8 is so for the compiler and for programs",
    ("lib/Lint/Text.cpp", "runtime/io/Printable.h"): "terminals are alike to the compiler and to programs",
    ("runtime/cpu/Main.cpp", "runtime/train/LinkedProgram.h"): "main() of a program gives training its device",
    ("runtime/cuda/Main.cpp", "runtime/train/LinkedProgram.h"): "main() of a program gives training its device",
}


def home(path):
    """The room that a file or an included path belongs to; None for what is not ours."""
    parts = path.split("/")
    if parts[:2] == ["include", "kedge"]:
        parts = parts[1:]
    if parts[0] in ("kedge", "lib"):
        parts = parts[1:]
    elif parts[0] not in ("passes", "driver", "runtime", "tools"):
        return None
    folders = parts[:-1]
    if folders[:1] == ["tools"]:
        return "tools"
    rooms = ["/".join(folders[:n]) for n in range(len(folders), 0, -1)]
    phase = rooms[-2:-1] if folders[:1] == ["passes"] else []
    return next((room for room in rooms if room in ALLOWED and room != "passes"), (phase + rooms[-1:] + [None])[0])


def rule_of(folder):
    return ALLOWED.get(folder, ALLOWED["passes"] if folder.startswith("passes/") else [])


def may_include(folder, included):
    if folder == included:
        return True
    if included.startswith("passes/") and "passes" in rule_of(folder):
        return True
    rule = rule_of(folder)
    return any(room in rule for room in (included, included.split("/")[0] if not included.startswith("runtime") else included))


def includes_of(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = re.match(r'\s*#?\s*include\s*["<]([^">]+)[">]', line)
        if found:
            yield number, found.group(1)


def check_includes(root, path):
    name = str(path.relative_to(root))
    folder = home(name)
    for number, included in includes_of(path):
        target = home(included)
        rooms = next((rooms for library, rooms in LIBRARIES.items() if included.startswith(library)), None)
        if folder and rooms is not None and (folder if folder in ALLOWED else folder.split("/")[0]) not in rooms:
            yield f"{name}:{number}: {folder} includes {included}, which is for {', '.join(rooms)}"
        if folder is None or target is None or may_include(folder, target) or (name, included) in EXCEPTIONS:
            continue
        yield f"{name}:{number}: {folder} includes {included}, expected only " \
              f"{', '.join(rule_of(folder)) or 'itself'}; move what it needs down, or pass it in"


def check_size(root, path):
    name, lines = str(path.relative_to(root)), len(path.read_text().splitlines())
    if path.suffix == ".cpp" and lines > CPP_LINES:
        yield f"{name}: {lines} lines, expected {CPP_LINES} at most: cut it by concern"
    is_main = name.startswith("tools/") and re.search(r"^int main\(", path.read_text(), re.M)
    if is_main and lines > MAIN_LINES:
        yield f"{name}: {lines} lines, expected {MAIN_LINES} at most in a tool's main: move its work to a library"


def check_mirror(root):
    for folder in sorted((root / "include/kedge").iterdir()):
        if folder.is_dir() and not (root / "lib" / folder.name).is_dir():
            yield f"{folder.relative_to(root)}: expected its sources in lib/{folder.name}, found no such folder"


def check_passes(root):
    """One pass = one file = one flag = one test."""
    for table in sorted(root.glob("passes/*/Passes.td")):
        phase = table.parent.name
        for symbol, flag in re.findall(r'^def (\w+)\s*:\s*\w+<\s*"([^"]+)"', table.read_text(), re.M):
            place = f"{table.relative_to(root)}: {symbol}"
            if not flag.startswith("kedge-"):
                yield f"{place}: its flag '{flag}' should begin with kedge-"
            if not any(table.parent.rglob(f"{symbol}.cpp")):
                yield f"{place}: expected passes/{phase}/{symbol}.cpp"
            test = root / "test/passes" / phase / f"{flag.removeprefix('kedge-')}.mlir"
            if not test.exists():
                yield f"{place}: expected its test {test.relative_to(root)}"


def main():
    root = pathlib.Path(sys.argv[1])
    problems = []
    for folder in ("include", "lib", "passes", "driver", "runtime", "tools"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cpp", ".h", ".inc", ".td"):
                problems += [*check_includes(root, path), *check_size(root, path)]
    problems += [*check_mirror(root), *check_passes(root)]
    print("\n".join(problems) or "the layout holds")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
