#!/usr/bin/env python3
"""Compares lib/Lint/Find/LostArguments.cpp with what torch's exporter drops: exporter_arguments.py [--all].

For every call that the exporter translates, the arguments that its translation never reads, by its source. Each must be a row of the
table, or be known here to change no value. --all prints them. Needs torch and onnxscript.
"""
import ast
import inspect
import pathlib
import re
import sys
import textwrap
import warnings

TABLE = pathlib.Path(__file__).resolve().parents[2] / "lib/Lint/Find/LostArguments.cpp"
# Memory, devices and speed; what decides nothing that the file computes.
HARMLESS = {"layout", "device", "pin_memory", "non_blocking", "memory_format", "cudnn_enabled", "cudnn_enable", "sparse", "sparse_grad", "stable", "sorted",
            "path", "implicit", "output_size", "stride", "return_debug_mask", "return_complex", "generator"}
# By call: what other arguments, the result's type or the record say.
KNOWN = {("embedding", "padding_idx"): "from the record", ("embedding", "scale_grad_by_freq"): "from the record",
         ("embedding_bag", "padding_idx"): "this overload has none", ("native_group_norm", "C"): "from the shape", ("native_group_norm", "HxW"): "from the shape",
         ("allclose", "equal_nan"): "a bool, without gradient", ("sym_storage_offset", "self"): "0", ("sym_storage_offset", "dim"): "0",
         ("_embedding_bag_forward_only", "scale_grad_by_freq"): "has no gradient",
         ("unique_consecutive", "return_inverse"): "always given", ("unique_consecutive", "return_counts"): "always given"}


def dropped():
    """(call, argument) for each argument that no translation of the call reads."""
    from torch.onnx._internal.exporter import _registration
    calls, read, named = 0, {}, {}
    for target, translations in _registration.ONNXRegistry.from_torchlib().functions.items():
        name = re.sub(r"^\w+::|\.\w+$", "", str(target))
        for translation in translations:
            function = inspect.unwrap(getattr(translation.onnx_function, "function", translation.onnx_function))
            node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
            if not isinstance(node, ast.FunctionDef) or str(target).startswith("onnx_symbolic"):
                continue
            calls += 1
            arguments = [a.arg for a in node.args.posonlyargs + node.args.args + node.args.kwonlyargs]
            used = {x.id for s in node.body for x in ast.walk(s) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load)}
            named.setdefault(str(target), (name, set()))[1].update(arguments)
            read.setdefault(str(target), set()).update(used)
    found = sorted({(name, argument) for target, (name, arguments) in named.items() for argument in arguments - read[target]})
    return calls, found


def main():
    warnings.filterwarnings("ignore")
    calls, found = dropped()
    text = TABLE.read_text()
    rows = set(re.findall(r'"(\w+)(?:\.\w+)?", "\w+", \d+, "(\w+)"', text)) | set(re.findall(r'factor\("(\w+)(?:\.\w+)?", \d+, "(\w+)"', text))
    missing = [row for row in found if row[1] not in HARMLESS and row not in KNOWN and row not in rows]
    if "--all" in sys.argv[1:]:
        for row in found:
            print(*row, "harmless" if row[1] in HARMLESS else KNOWN.get(row, "in the table" if row in rows else "MISSING"))
    print(f"{calls} translations, {len(found)} arguments that they never read, {len(missing)} in no list", *(f"{c}({a})" for c, a in missing))
    sys.exit(bool(missing))


if __name__ == "__main__":
    main()
