#!/usr/bin/env python3
"""Writes lib/Model/SchemaTable.cpp from the schemas of the onnx package: what each operator of the default domain takes.

    node_schemas.py [--check]      needs onnx

`--check` writes nothing and fails where the table is not what would be written. The form of a line is explained in the table.
"""
import pathlib
import re
import sys

import onnx

TABLE = pathlib.Path(__file__).resolve().parents[2] / "lib/Model/SchemaTable.cpp"
OLDEST = 7
KINDS = {"FLOAT": "f", "INT": "i", "STRING": "s", "TENSOR": "t", "GRAPH": "g", "FLOATS": "F", "INTS": "I", "STRINGS": "S",
         "TENSORS": "T", "GRAPHS": "G", "SPARSE_TENSOR": "p", "SPARSE_TENSORS": "P", "TYPE_PROTO": "y", "TYPE_PROTOS": "Y"}
# A letter for an element type that is read; what is no tensor (sequences, optionals) is not checked.
TYPES = {"float": "f", "uint8": "B", "int8": "b", "uint16": "W", "int16": "w", "int32": "i", "int64": "l", "string": "s", "bool": "?",
         "float16": "h", "double": "d", "uint32": "I", "uint64": "L", "complex64": "c", "complex128": "C", "bfloat16": "g",
         "float8e4m3fn": "1", "float8e4m3fnuz": "2", "float8e5m2": "3", "float8e5m2fnuz": "4", "uint4": "5", "int4": "6",
         "float4e2m1": "7", "float8e8m0": "8", "uint2": "9", "int2": "0"}
# What files leave out though a schema wants it, because it is not read: (operator, opset, input).
LEFT_OUT = {("Resize", 11, "roi"), ("Resize", 11, "scales")}
HEAD = """// What the operators of the default domain take, in all opsets that are read. scripts/make/node_schemas.py
// writes this file from the schemas of onnx {version}.
#include "lib/Model/Schema.h"

namespace kedge::model {

// A line an operator, a part between semicolons for each opset that changed it: SINCE IN > OUT / ATTRIBUTES /
// TYPES. An input or output is the name of its types, with ? where it may be left out, * or + where any
// number of them or at least one may follow, and ~ where these may differ in type. An attribute is NAME:KIND,
// with ! where it must be there. TYPES are NAME=LETTERS; "any": not checked. Parts that are as before are
// written as =.
const char *const schemaTable = R"("""
TAIL = """)";

} // namespace kedge::model
"""


def letters(names):
    found = {re.fullmatch(r"tensor\((\w+)\)", name) for name in names}
    if None in found:
        return "any"
    return "".join(sorted(TYPES[match[1]] for match in found if match[1] in TYPES))


class Types:
    """The names of a schema's types: those of its constraints, and one for each set that an operand names itself."""

    def __init__(self, schema):
        self.all = {constraint.type_param_str: letters(constraint.allowed_type_strs) for constraint in schema.type_constraints}
        self.all = {name: "any" if set(types) == set(TYPES.values()) else types for name, types in self.all.items()}

    def of(self, operand):
        if operand.type_str in self.all:
            return operand.type_str
        own = letters(operand.types)
        self.all[f"_{own}"] = own
        return f"_{own}"


def operand(schema, types, formal, least, place):
    option = onnx.defs.OpSchema.FormalParameterOption
    end = ""
    if formal.option == option.Optional or (schema.name, schema.since_version, formal.name) in LEFT_OUT:
        end = "?"
    elif formal.option == option.Variadic:
        end = ("+" if least > place else "*") + ("" if formal.is_homogeneous else "~")
    return types.of(formal) + end


def part(schema):
    types = Types(schema)
    ins = " ".join(operand(schema, types, formal, schema.min_input, k) for k, formal in enumerate(schema.inputs))
    outs = " ".join(operand(schema, types, formal, schema.min_output, k) for k, formal in enumerate(schema.outputs))
    attributes = " ".join(f"{name}:{KINDS[a.type.name]}{'!' if a.required else ''}" for name, a in sorted(schema.attributes.items()))
    used = re.findall(r"\w+", f"{ins} {outs}")
    return [f"{ins} > {outs}".strip(), attributes, " ".join(f"{name}={kinds}" for name, kinds in types.all.items() if name in used)]


def line(name, schemas):
    """Those that differ in what is checked, from the oldest that is read."""
    text, before = [], [None, None, None]
    for schema in schemas:
        now = part(schema)
        if now == before:
            continue
        shown = [own if own != old else "=" for own, old in zip(now, before)]
        text.append(f"{schema.since_version} {' / '.join(shown)}".strip())
        before = now
    return f"{name} " + "; ".join(text)


def table():
    byName = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            byName.setdefault(schema.name, []).append(schema)
    lines = []
    for name, schemas in sorted(byName.items()):
        schemas.sort(key=lambda schema: schema.since_version)
        # Deprecated by another operator: files have it in any case, as it was before.
        schemas = [schema for k, schema in enumerate(schemas) if k == 0 or not schema.deprecated]
        while len(schemas) > 1 and schemas[1].since_version <= OLDEST:
            schemas.pop(0)
        lines.append(line(name, schemas))
    return lines


def main():
    text = HEAD.replace("{version}", onnx.__version__) + "\n" + "\n".join(table()) + "\n" + TAIL
    if "--check" in sys.argv[1:]:
        if f"of onnx {onnx.__version__}." not in TABLE.read_text():
            sys.exit(print(f"not compared: the table is not of onnx {onnx.__version__}"))
        sys.exit(text != TABLE.read_text() and f"{TABLE}: not what {sys.argv[0]} writes from onnx {onnx.__version__}")
    TABLE.write_text(text)


if __name__ == "__main__":
    main()
