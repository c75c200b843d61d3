"""Operators without an input that they need: missing_inputs.py FOLDER [--every N]

Of all operators of ONNX's default domain, by its own schemas: a node with one input left out, for each required input, as an
empty name and at the end; an optional one left out; and one too many. Each is refused by lint with the input's number, or,
where it is optional, not for a missing input. Nothing crashes. With --every N, only each N-th node is tried.
"""
import argparse
import pathlib
import subprocess
import sys

import onnx
from onnx import defs, helper


def signatures():
    """(operator, kinds of its inputs), in the newest opset that is read."""
    newest = min(28, defs.onnx_opset_version())
    for schema in sorted(defs.get_all_schemas(), key=lambda schema: schema.name):
        if schema.domain == "":
            schema = defs.get_schema(schema.name, newest)
            yield schema.name, [kind.option.name for kind in schema.inputs]


def cases():
    """(operator, input names, the number of the missing input or of the first one too many, or None)."""
    for name, kinds in signatures():
        full = [f"x{k}" for k in range(len(kinds))]
        for k, kind in enumerate(kinds):
            left_out = full[:k] + [""] + full[k + 1:]
            if kind == "Single" or (kind == "Variadic" and name != "Scan"):
                yield name, left_out, f"input {k} is missing"
            elif kind == "Optional":
                yield name, left_out, None
        required = max([k + 1 for k, kind in enumerate(kinds) if kind == "Single"], default=0)
        if required:
            yield name, full[:required - 1], f"input {required - 1} is missing"
        if "Variadic" not in kinds:
            yield name, [*full, "more"], f"has {len(full) + 1} inputs"


def type_of(name, position):
    """A type that the operator takes there: floats where it takes them."""
    schema = defs.get_schema(name, min(28, defs.onnx_opset_version()))
    types = schema.inputs[position].types if position < len(schema.inputs) else {"tensor(float)"}
    words = {"tensor(float)"} & set(types) or {"tensor(int64)"} & set(types) or {"tensor(int32)"} & set(types) or {"tensor(bool)"} & set(types)
    word = next(iter(words), "tensor(float)").removeprefix("tensor(").removesuffix(")")
    return onnx.TensorProto.DataType.Value(word.upper())


def lint(folder, name, inputs):
    node = helper.make_node(name, inputs, ["y"], name="node")
    values = [helper.make_tensor_value_info(x, type_of(name, k), [2, 2]) for k, x in enumerate(inputs) if x]
    graph = helper.make_graph([node], "g", values, [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)])
    newest = min(28, defs.onnx_opset_version())
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", newest)], ir_version=9)
    path = folder / "node.onnx"
    path.write_bytes(model.SerializeToString())
    return subprocess.run(["kedge", "lint", path], capture_output=True, text=True, timeout=60)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    tried = list(cases())[::given.every]
    failures = 0
    for name, inputs, expected in tried:
        done = lint(given.folder, name, inputs)
        text = done.stdout + done.stderr
        refused = "is missing; " in text or f"; {name} of opset" in text
        good = done.returncode == 1 and f"node 'node' ({name})" in text and expected in text if expected else not refused
        if not good or done.returncode not in (0, 1, 2):
            failures += 1
            print(f"{name} {inputs}: exit code {done.returncode}, expected {expected}: {text[-300:]}")
    print(f"{len(tried)} nodes, {failures} failed")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
