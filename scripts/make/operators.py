#!/usr/bin/env python3
"""Writes docs/operators.md: every operator that import knows, and what it can do.

    operators.py [--check]      from the importers, the dialect's TableGen files and the kernels' list

`--check` writes nothing and fails where the page is not what would be written. Needs llvm-tblgen, of LLVM 22.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/operators.md"
LLVM = pathlib.Path("/usr/lib/llvm-22")
PRODUCTS = {"onnx.MatMul", "onnx.Gemm"}  # calls of cuBLASLt
# Importers in these files leave values, or the nodes of graphs within, and no op of their own.
AT_COMPILE_TIME = {"Core.cpp", "Sequence.cpp", "MovementSelect.cpp", "Loop.cpp", "Regions.cpp", "Window.cpp",
                   "Boxes.cpp"}
HEAD = """# Operators

What `scripts/make/operators.py` reads from the sources; a test compares. What ONNX's own cases say of each is in
[onnx-operators.md](onnx-operators.md).

- **forward**: `op`: one op of level 1; `parts`: import writes it as other ops, which decide the other columns; `import`:
  it is gone after import, since its shape or value must be known when the program is compiled.
- **gradient**: `yes`, or `parts`: those of the ops it is written as; `-`: none passes (or none is there: an error, with
  all others in the model, when a parameter is before it).
- **CPU**, **CUDA**: `yes`, or `parts`. CUDA `-`: an error that names the operator, when the program is compiled.

"""


def importers():
    """(domain, operator) -> the file that registers it."""
    found = {}
    for path in sorted((ROOT / "lib/Import/Build").glob("*.cpp")):
        text = path.read_text()
        for name, rest in re.findall(r'importers\.add\("(\w+)",([^;]*)\);', text):
            named = re.search(r'"([\w.]+)"', rest)
            domain = named[1] if named else "ai.onnx.preview.training" if "domain" in rest else ""
            if domain != "kedge":
                found[domain, name] = path.name
    return found


def ops():
    """Name of an op -> the interfaces it implements."""
    newest = LLVM / "bin/llvm-tblgen"
    tblgen = str(newest) if newest.exists() else shutil.which("llvm-tblgen")
    found = {}
    for file in sorted((ROOT / "include/kedge/Dialect/ONNX").rglob("*Ops.td")):
        include = ["-I", str(ROOT / "include"), "-I", str(LLVM / "include")]
        records = json.loads(subprocess.run([tblgen, "--dump-json", *include, str(file)], check=True, capture_output=True).stdout)
        for name in records["!instanceof"]["Op"]:
            record = records[name]
            if not isinstance(record.get("opName"), str):
                continue
            dialect = records[record["opDialect"]["def"]]["name"]
            found[f"{dialect}.{record['opName']}"] = {
                records[trait["def"]].get("cppInterfaceName") for trait in record["traits"]} - {None}
    return found


def cuda_kernels():
    text = (ROOT / "docs/library-kernels.md").read_text().split("## On CUDA")[1]
    return set(re.findall(r"`((?:onnx|train)\.\w+)`", text.split("\n- ")[0])) | PRODUCTS


def row(domain, name, file, ops, kernels):
    level1 = ops.get(f"onnx.{name}") if not domain else None
    if file in AT_COMPILE_TIME and level1 is None or name in ("Constant", "Identity"):
        return "import", "parts", "yes", "yes"
    if level1 is None:
        return "parts", "parts", "parts", "parts"
    composite = "DecomposableOpInterface" in level1
    gradient = "yes" if "DifferentiableOpInterface" in level1 else "parts" if composite else "-"
    generated = level1 & {"ClusterableOpInterface", "ViewOpInterface"} or f"onnx.{name}" in kernels
    cuda = "yes" if generated else "parts" if composite else "-"
    if name in ("Dropout", "RandomNormal", "RandomUniform"):  # the step makes them ops of its own
        cuda = "yes"
    return "op", gradient, "yes", cuda


def page():
    known, kernels, lines = ops(), cuda_kernels(), []
    found = importers()
    for (domain, name), file in sorted(found.items(), key=lambda entry: (entry[0][0], entry[0][1].lower())):
        full = f"{domain}::{name}" if domain else name
        lines.append(f"| {full} | {' | '.join(row(domain, name, file, known, kernels))} |")
    return (HEAD + f"{len(lines)} operators.\n\n| operator | forward | gradient | CPU | CUDA |\n|---|---|---|---|---|\n" +
            "\n".join(lines) + "\n")


def main():
    text = page()
    if "--check" not in sys.argv:
        PAGE.write_text(text)
    elif PAGE.read_text() != text:
        sys.exit("docs/operators.md is not what scripts/make/operators.py writes: run it")
    print(re.search(r"\d+ operators", text)[0])


if __name__ == "__main__":
    main()
