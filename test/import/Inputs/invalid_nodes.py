"""Nodes that are not valid ONNX: invalid_nodes.py FOLDER [--every N]

Of all operators of ONNX's default domain and all opsets that are read, by the schemas of the onnx package: a node with an output
too many, with an attribute that the operator does not have, with one of another kind, without one that it needs, with an input
of a type that it does not take, and with two types where it wants one. Each is refused by lint with the node's name and what
was expected, and the same node as it should be is not. With --every N, only each N-th node is tried.
"""
import argparse
import pathlib
import re
import subprocess
import sys

import onnx
from onnx import defs, helper
from onnx.defs import OpSchema

Option = OpSchema.FormalParameterOption
VALUES = {"FLOAT": 1.0, "INT": 1, "STRING": "a", "FLOATS": [1.0], "INTS": [1], "STRINGS": ["a"]}
TYPES = {"tensor(float)": 1, "tensor(uint8)": 2, "tensor(int8)": 3, "tensor(int32)": 6, "tensor(int64)": 7, "tensor(string)": 8, "tensor(bool)": 9,
         "tensor(float16)": 10, "tensor(double)": 11}


def schemas():
    """With the opset in which each is the newest; those that take a tensor or nothing at every place."""
    for schema in sorted(defs.get_all_schemas_with_history(), key=lambda schema: (schema.name, schema.since_version)):
        opset = max(7, schema.since_version)
        if schema.domain == "" and not schema.deprecated and defs.get_schema(schema.name, opset).since_version == schema.since_version:
            yield schema, opset


def plain(schema):
    """A node that the schema takes: (types of inputs, attributes); None where an input is no plain tensor."""
    types, chosen = [], {}
    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    for formal in schema.inputs:
        if formal.option == Option.Optional:
            break
        kinds = [kind for kind in TYPES if kind in allowed.get(formal.type_str, [formal.type_str])]
        if not kinds:
            return None
        types.append(TYPES[chosen.setdefault(formal.type_str, kinds[0])])
    attributes = {name: a for name, a in schema.attributes.items() if a.required}
    if any(a.type.name not in VALUES for a in attributes.values()):
        return None
    return types, {name: VALUES[a.type.name] for name, a in attributes.items()}


def cases():
    """(operator, opset, types of inputs, outputs, attributes, what is said or None)."""
    for schema, opset in schemas():
        given = plain(schema)
        if given is None:
            continue
        types, attributes = given
        outputs = max(1, sum(formal.option != Option.Optional for formal in schema.outputs))
        name = schema.name
        yield name, opset, types, outputs, attributes, None
        if not any(formal.option == Option.Variadic for formal in schema.outputs):
            yield name, opset, types, len(schema.outputs) + 1, attributes, f"has {len(schema.outputs) + 1} outputs"
        yield name, opset, types, outputs, {**attributes, "other": 1}, "has no attribute 'other'"
        for own, a in list(schema.attributes.items())[:1]:
            if a.type.name in VALUES:
                yield name, opset, types, outputs, {**attributes, own: "a" if a.type.name != "STRING" else 1}, f"attribute '{own}' is of kind"
        for own in list(attributes)[:1]:
            yield name, opset, types, outputs, {k: v for k, v in attributes.items() if k != own}, f"attribute '{own}' is missing"
        allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
        for k, formal in enumerate(schema.inputs[:len(types)]):
            taken = allowed.get(formal.type_str, [formal.type_str])
            other = [TYPES[kind] for kind in TYPES if kind not in taken]
            if other and all(kind.startswith("tensor(") for kind in taken):
                yield name, opset, [*types[:k], other[-1], *types[k + 1:]], outputs, attributes, f"input {k} ('x{k}') is of type"
                break
        alike = [k for k, formal in enumerate(schema.inputs[:len(types)]) if formal.type_str == schema.inputs[0].type_str and formal.is_homogeneous]
        more = [TYPES[kind] for kind in TYPES if len(alike) > 1 and kind in allowed.get(schema.inputs[0].type_str, [])]
        if len(more) > 1:
            mixed = list(types)
            mixed[alike[1]] = next(kind for kind in more if kind != types[alike[0]])
            yield name, opset, mixed, outputs, attributes, "takes tensors of one type there"


def lint(folder, name, opset, types, outputs, attributes):
    inputs = [f"x{k}" for k in range(len(types))]
    made = [f"y{k}" for k in range(outputs)]
    node = helper.make_node(name, inputs, made, name="node", **attributes)
    values = [helper.make_tensor_value_info(x, kind, [2, 2]) for x, kind in zip(inputs, types)]
    graph = helper.make_graph([node], "g", values, [helper.make_tensor_value_info("y0", onnx.TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    path = folder / "node.onnx"
    path.write_bytes(model.SerializeToString())
    return subprocess.run(["kedge", "lint", path], capture_output=True, text=True, timeout=60)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    tried, failures = list(cases())[::given.every], 0
    for name, opset, types, outputs, attributes, expected in tried:
        done = lint(given.folder, name, opset, types, outputs, attributes)
        text = done.stdout + done.stderr
        refused = bool(re.search(rf"{name} of opset|is missing; ", text))
        good = done.returncode == 1 and f"node 'node' ({name})" in text and expected in text if expected else not refused
        if not good or done.returncode not in (0, 1, 2):
            failures += 1
            print(f"{name}-{opset} {types} {outputs} {attributes}: exit code {done.returncode}, expected {expected}: {text[-300:]}")
    print(f"{len(tried)} nodes, {failures} failed")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
