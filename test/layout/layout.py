#!/usr/bin/env python3
"""Checks how the tree is cut: layout.py ROOT.

Dependencies run one way (the folder on the left of `ALLOWED` includes only what the right side lists), no .cpp has more
than 500 lines and no tool's main more than 80, a folder holds at most 40 files, each include of a file of the project
gives its path from the root, and each pass has its name once as file, flag and test.
"""
import collections
import pathlib
import re
import subprocess
import sys

FILE_LINES, MAIN_LINES, FOLDER_FILES = 500, 80, 40
HOUSE = ("include", "lib", "passes", "driver", "runtime", "tools")
SOURCES = (".cpp", ".h", ".inc", ".td", ".cu")
LANGUAGE = ["Support", "Interfaces", "Dialect"]
MIDDLE = LANGUAGE + ["Text", "Solver", "Model", "Lint", "Analysis", "Interpret", "Import", "Export", "Link"]
# What compilers see of the runtime: facts of calls and programs, and the CPU's kernels to run constants with.
RUNTIME_FACTS = ["runtime/platform", "runtime/io", "runtime/format", "abi", "runtime/program", "runtime/calls", "runtime/exec"]
BELOW_EXEC = ["runtime/platform", "runtime/io", "runtime/format", "abi", "runtime/program", "runtime/calls"]

# The rooms of the house, and what each includes besides itself. What lies deeper than a room belongs to it; a folder of
# passes/ never includes another phase.
ALLOWED = {
    "abi": [],
    "session": [],
    "kernel": ["session"],
    "compiler": ["session"],
    "Passes": [],
    "Support": [],
    "Solver": [],
    "Solver/Arena": ["Solver"],
    "Solver/Remat": ["Solver", "Solver/Arena"],
    "Solver/Mesh": ["Solver"],
    "Solver/Shard": ["Solver"],
    "Interfaces": ["Support"],
    "Dialect": ["Support", "Interfaces"],
    "Text": LANGUAGE,
    "Model": ["Support"],
    "Lint": ["Support", "Model"],
    "Analysis": LANGUAGE + ["Solver", "runtime/comm"] + RUNTIME_FACTS,
    "Interpret": LANGUAGE + ["Analysis"] + RUNTIME_FACTS,
    "Import": LANGUAGE + ["Model", "Lint", "Interpret"],
    "Export/Template": ["Support", "Model"],
    "Export/Onnx": LANGUAGE + ["Model", "Interpret", "Export/Template"],
    "Export/Plan": LANGUAGE + ["Analysis"],
    "Export/C": LANGUAGE + RUNTIME_FACTS,
    "Export/Web": LANGUAGE + RUNTIME_FACTS + ["Export/C"],
    "Export/Program": LANGUAGE + ["Interpret", "abi", "runtime/format"],
    "Link": ["Support"],
    "passes/Base": ["Support", "runtime/io"],
    "passes": MIDDLE + RUNTIME_FACTS + ["passes/Base"],
    "passes/Lower": MIDDLE + RUNTIME_FACTS + ["passes/Base"],
    "passes/Lower/Cluster": LANGUAGE,
    "passes/Lower/Codegen": ["Support", "passes/Base", "passes/Lower/Cluster", "abi"],
    "passes/Lower/Cpu": LANGUAGE + ["passes/Lower", "passes/Lower/Cluster", "passes/Lower/Codegen"],
    "passes/Lower/Gpu": LANGUAGE + ["Analysis", "passes/Base", "passes/Lower", "passes/Lower/Cluster", "passes/Lower/Codegen",
                                    "runtime/io", "abi", "runtime/calls"],
    "passes/Pipelines": MIDDLE + ["passes"],
    "driver": MIDDLE + ["passes", "passes/Pipelines", "runtime/text"] + RUNTIME_FACTS,
    "tools": MIDDLE + ["compiler", "session", "Passes", "passes", "passes/Pipelines", "driver", "runtime/comm", "runtime/comm/mpi"] + RUNTIME_FACTS,
    "runtime/platform": [],
    "runtime/io": ["runtime/platform"],
    "runtime/format": ["runtime/platform", "runtime/io"],
    "runtime/program": ["runtime/platform", "runtime/io", "runtime/format", "abi"],
    "runtime/calls": ["runtime/platform", "runtime/io", "runtime/format", "runtime/program"],
    "runtime/comm": BELOW_EXEC,
    "runtime/comm/alone": BELOW_EXEC + ["runtime/comm", "runtime/comm/mpi", "runtime/comm/tcp"],
    "runtime/comm/messages": BELOW_EXEC + ["runtime/comm", "runtime/exec"],
    "runtime/comm/mpi": BELOW_EXEC + ["runtime/comm", "runtime/comm/messages", "runtime/exec"],
    "runtime/comm/tcp": BELOW_EXEC + ["runtime/comm", "runtime/comm/messages"],
    "runtime/exec": BELOW_EXEC + ["runtime/comm"],
    "runtime/cpu": BELOW_EXEC + ["kernel", "runtime/comm", "runtime/exec"],
    "runtime/cuda": BELOW_EXEC + ["runtime/exec", "runtime/comm"],
    "runtime/data": BELOW_EXEC + ["runtime/exec"],
    "runtime/text": ["runtime/platform", "runtime/io"],
    "runtime/library": BELOW_EXEC + ["session", "runtime/comm", "runtime/exec", "runtime/data", "runtime/train"],
    "runtime/train": BELOW_EXEC + ["runtime/exec", "runtime/data", "runtime/text", "runtime/comm", "runtime/comm/mpi",
                                   "runtime/comm/tcp"],
}

# The namespaces that a folder opens; the longest path that fits counts. Import and export are words of C++.
NAMESPACES = {
    "lib/Analysis": "analysis", "lib/Export": "exporter", "lib/Import": "importer", "lib/Interfaces": "", "lib/Interpret": "interpret",
    "lib/Link": "link", "lib/Lint": "lint", "lib/Model": "model", "lib/Solver": "solver", "lib/Support": "", "lib/Text": "text",
    "lib/Dialect": "", "lib/abi": "abi|abi::key", "lib/Dialect/Dist": "dist", "lib/Dialect/Exec": "exec", "lib/Dialect/Kedge": "",
    "lib/Dialect/ONNX": "onnx|", "lib/Dialect/Sched": "sched|", "lib/Dialect/Train": "train", "lib/Dialect/Tune": "tune",
    "passes/Base": "", "passes/Adapters": "adapters", "passes/Autodiff": "autodiff", "passes/Import": "raise", "passes/Levels": "levels",
    "passes/Lower": "lower", "passes/Lower/Codegen": "lower|lower::codegen", "passes/Lower/Gpu": "lower|lower::gpu",
    "passes/Lower/Gpu/library": "lower::gpu|lower::gpu::attention",
    "passes/Lower/Gpu/library/convolution": "lower::gpu|lower::gpu::convolution", "passes/Lower/Gpu/thread": "lower::gpu",
    "passes/Memory": "memory", "passes/Mesh": "mesh", "passes/Offload": "offload", "passes/Partition": "partition", "passes/Pipeline": "pipeline", "passes/Pipelines": "pipelines",
    "passes/Precision": "precision", "passes/Rematerialize": "remat", "passes/Schedule": "schedule", "driver": "driver", "driver/shapes": "driver::shapes",
    "runtime": "rt", "runtime/calls": "rt::calls", "runtime/comm/messages": "rt::messages", "runtime/comm/mpi": "rt|rt::mpi",
    "runtime/comm/tcp": "rt|rt::tcp", "runtime/platform": "rt|rt::platform", "runtime/cpu": "rt|rt::cpu", "runtime/cpu/conv": "rt::cpu|rt::cpu::depthwise",
    "runtime/cuda": "rt::cuda", "runtime/cuda/library": "rt::cuda|rt::cuda::nccl",
    "tools": "tool", "tools/kedge-bench": "bench",
}
FOREIGN = ("llvm", "mlir", "CLI", "detail", "key")

# Libraries that only some rooms see: MLIR none that works without it, command lines only who has one.
WITHOUT_MLIR = ["Solver", "Solver/Arena", "Solver/Remat", "Solver/Mesh", "Solver/Shard", "Model", "Lint", "Export/Template",
                *(room for room in ALLOWED if room.startswith("runtime/"))]
WITH_FLAGS = ["tools", "runtime/program"]
LIBRARIES = {"mlir/": [room for room in ALLOWED if room not in WITHOUT_MLIR],
             "llvm/": [room for room in ALLOWED if room not in WITHOUT_MLIR],
             "CLI/": WITH_FLAGS}

# Includes that the rules above forbid and that are wanted, each with its reason.
EXCEPTIONS = {
    ("lib/Support/Error.h", "runtime/io/Error.h"): "the exceptions of compiler and runtime are one family",
    ("lib/Model/ModelTypes.h", "runtime/format/ResizedTensor.h"): "compiler and program make one tensor of a file's",
    ("lib/Model/ModelLoad.cpp", "runtime/format/GraphHash.h"): "compiler and program compare one hash of the graph",
    ("lib/Lint/Classify.cpp", "runtime/format/NearMisses.h"): "compiler and program guess alike what a name was meant to be",
    ("lib/Lint/Classify.cpp", "runtime/io/NamePattern.h"): "REGEX means the same to the compiler and to programs",
    ("lib/Lint/Find/FindIntent.cpp", "runtime/io/NamePattern.h"): "names may be of any length",
    ("lib/Lint/Find/FindTraced.cpp", "runtime/io/NamePattern.h"): "REGEX means the same to the compiler and to programs",
    ("lib/Lint/Traced.cpp", "runtime/io/NamePattern.h"): "REGEX means the same to the compiler and to programs",
    ("lib/Model/ModelWire.cpp", "runtime/io/Printable.h"): "what is UTF-8 is so for the compiler and for programs",
    ("lib/Lint/Refusal.cpp", "runtime/io/Printable.h"): "terminals are alike to the compiler and to programs",
    ("lib/Support/Reporter.cpp", "runtime/io/Printable.h"): "terminals are alike to the compiler and to programs",
    ("lib/Lint/Text.cpp", "runtime/io/Printable.h"): "terminals are alike to the compiler and to programs",
    ("runtime/cpu/Main.cpp", "runtime/train/LinkedProgram.h"): "main() of a program gives training its device",
    ("runtime/cuda/Main.cpp", "runtime/train/LinkedProgram.h"): "main() of a program gives training its device",
}


# What stands in include/kedge itself; its folders have the names of their rooms.
PUBLIC_ROOMS = {"InitAllDialects": "Dialect"}


def home(path):
    """The room that a file or an included path belongs to; None for what is not ours."""
    parts = path.split("/")
    if parts[0] == "include":
        parts = parts[1:]
    if parts[0] == "kedge":
        name = parts[1].split(".")[0]
        return PUBLIC_ROOMS.get(name, name)
    if parts[0] == "lib":
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
    if path.suffix in SOURCES and lines > FILE_LINES:
        yield f"{name}: {lines} lines, expected {FILE_LINES} at most: cut it by concern"
    is_main = name.startswith("tools/") and re.search(r"^int main\(", path.read_text(), re.M)
    if is_main and lines > MAIN_LINES:
        yield f"{name}: {lines} lines, expected {MAIN_LINES} at most in a tool's main: move its work to a library"


def written(root, included):
    """The file of the tree that an include names."""
    return root / ("include/" if included.startswith("kedge/") else "") / included


def check_public(root, path):
    """What others include needs nothing that they do not have."""
    name = str(path.relative_to(root))
    for number, included in includes_of(path) if name.startswith("include/") else ():
        if home(included) and not included.startswith("kedge/"):
            yield f"{name}:{number}: is public and includes {included}, which is not: expected headers of include/kedge alone"


def check_comments(root, path):
    """Of each public function in C, and each form of one (typedef): what it returns for errors, which threads may call it, and the shape of
    the arrays that it takes. A comment is for all functions up to the next blank line or comment."""
    name = str(path.relative_to(root))
    if name not in ("include/kedge/session.h", "include/kedge/compiler.h", "include/kedge/abi.h", "include/kedge/kernel.h"):
        return
    comment = ""
    forms = r"|^typedef void \(\*(\w+)\)(\([^;]*)\);" if name.endswith(("abi.h", "kernel.h")) else r"|(\Z)(\Z)"
    for found in re.finditer(r"/\*(.*?)\*/|^[a-z][\w *]*\b(kedge_\w+)\(([^;]*)\);|^$" + forms, path.read_text(), re.S | re.M):
        said, function, parameters = found[1], found[2] or found[4], found[3] or found[5]
        comment = comment if function else said or ""
        words = re.sub(r"\s+\*?\s*", " ", comment)
        for word in ("rrors", "hreads", *(["hape"] if function and re.search(r"\b(values|data|args|inputs)\b", parameters) else [])):
            if function and not re.search(rf"{word}\b", words):
                yield f"{name}: {function}: its comment says nothing of {word.replace('rrors', 'errors').replace('hr', 'thr').replace('hape', 'the shape of its arrays')}"


def check_wrappers(root, path):
    """Of each public function of a class in the headers of C++: the function in C that says the rest of it, or errors and threads. A comment
    is for all functions up to the next blank line or comment."""
    name, comment = str(path.relative_to(root)), ""
    if not re.fullmatch(r"include/kedge/\w+\.hpp", name):
        return
    for part in re.findall(r"^class \w+ \{\npublic:\n(.*?)^(?:private:|\};)", path.read_text(), re.S | re.M):
        for line in part.splitlines():
            if said := re.match(r"  /// (.*)", line):
                comment = said[1] if not comment or ended else f"{comment} {said[1]}"
            ended = not said
            function = re.match(r"  (?! |return|using|static)[^=(]*?([~\w]+)\(", line.replace("operator=", "operator")) if ended else None
            comment = comment if line else ""
            if function and "= delete" not in line and not re.search(r"kedge_\w+|Errors.*Threads", comment):
                yield f"{name}: {function[1]}: its comment names no function in C, and says nothing of errors and threads"


def check_paths(root, path, files):
    """An include in quotes gives the path from the root: one name for a file, wherever it is read from."""
    if path.suffix not in SOURCES or path.is_relative_to(root / "examples"):  # those are projects of their own
        return
    name, text = str(path.relative_to(root)), path.read_text()
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r'\s*#?\s*include\s*"([^"]+)"', line)
        if not found or found.group(1).startswith(tuple(LIBRARIES)) or written(root, found.group(1)).exists():
            continue
        included = pathlib.PurePath(found.group(1))
        stem = found.group(1).split(".")[0]
        tables = [stem + ".td", stem.removesuffix("Enums") + ".td"]
        if files.get(included.name):
            yield f"{name}:{number}: includes '{included}', expected the path from the root: " \
                  f"{', '.join(map(str, files[included.name]))}"
        elif included.suffix == ".inc" and not any(written(root, table).exists() for table in tables):
            yield f"{name}:{number}: includes '{included}', found no {stem}.td that it is made from"


def check_namespaces(root, path):
    """What a file opens, forward declarations of other rooms aside (a block of nothing but `class Name;`)."""
    name, text = str(path.relative_to(root)), path.read_text()
    beside = name.replace("include/kedge/", "lib/")  # a public header opens the namespace of its sources
    folder = max((f for f in NAMESPACES if f"{beside}/".startswith(f"{f}/")), key=len, default=None)
    if folder is None or path.suffix == ".td":
        return
    expected = ["::".join(filter(None, ("kedge", part))) for part in NAMESPACES[folder].split("|")]
    for found in re.finditer(r"^(?:inline )?namespace (?:KEDGE_\w+ )?([\w:]+) \{\n((?:.*\n)*?)\}", text, re.M):
        declared = all(re.match(r"(class|struct|enum class) \w+[^{]*;|$|//", line) for line in found.group(2).splitlines())
        if found.group(1) not in expected and found.group(1).split("::")[0] not in FOREIGN and not declared:
            number = text.count("\n", 0, found.start()) + 1
            yield f"{name}:{number}: opens {found.group(1)}, expected {' or '.join(expected)}"


def check_folders(root, paths):
    for folder, count in sorted(collections.Counter(path.parent for path in paths).items()):
        if count > FOLDER_FILES:
            yield f"{folder.relative_to(root)}: {count} files, expected {FOLDER_FILES} at most: cut it by purpose"


def check_passes(root):
    """One pass = one file = one flag = one test."""
    for table in sorted(root.glob("passes/*/*.td")):
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


def check_chores(root):
    """What passes/Base/KedgePass.h does is not done again: naming the pass's own counters, catching exceptions."""
    declared = {}
    for table in sorted(root.glob("passes/*/*.td")):
        for definition in re.split(r"^(?=def )", table.read_text(), flags=re.M)[1:]:
            symbol, flag = re.match(r'def (\w+)[^"]*"(kedge-[^"]+)"', definition).groups()
            declared[symbol] = flag, re.findall(r'Counter<"([^"]+)"', definition)
    catches = []
    for path in sorted(root.glob("passes/**/*.[ch]*")):
        name, text = str(path.relative_to(root)), path.read_text()
        catches += [f"{name}:{text.count(chr(10), 0, found.start()) + 1}" for found in re.finditer(r"\bcatch \(", text)]
        flag, counters = declared.get(path.stem, ("", []))
        if flag and re.search(rf'"[^"\n]*\b{flag}\b[^"\n]*"', text):
            yield f"{name}: a text has the name {flag} of the pass itself, which the statistics and MLIR know"
        for counter in counters:
            if f'"{counter}"' not in text:
                yield f"{name}: nothing is added to the counter '{counter}' that the .td declares"
    if len(catches) > 1:
        yield f"{', '.join(catches)}: expected one catch in passes/: throw, or take reportingFailures of passes/Base"


def tracked(root):
    """What the house consists of; in a folder without history all files."""
    if not (root / ".git").exists():
        return sorted(path for path in root.rglob("*") if path.is_file() and path.relative_to(root).parts[0] != "build")
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True, check=True).stdout
    return sorted(path for name in filter(None, listed.split("\0")) if (path := root / name).is_file())


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    paths = tracked(root)
    files = collections.defaultdict(list)
    for path in paths:
        files[path.name].append(path.relative_to(root))
    problems = []
    for path in paths:
        if path.suffix in SOURCES:
            problems += [*check_paths(root, path, files), *check_public(root, path), *check_comments(root, path)]
            if path.relative_to(root).parts[0] in HOUSE:
                problems += [*check_includes(root, path), *check_size(root, path), *check_namespaces(root, path)]
        problems += check_wrappers(root, path)
    problems += [*check_folders(root, paths), *check_passes(root), *check_chores(root)]
    print("\n".join(problems) or "the layout holds")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
