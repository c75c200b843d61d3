"""Values of level 2 that forward computes in f32 and backward reads: saved_wide(TEXT of --emit train --with-places)."""
import re

TENSOR = re.compile(r"tensor<([^<>]*)>")


def step_lines(text):
    lines = text.split("func.func @step")[1].splitlines()[1:]
    return lines[:next(i for i, line in enumerate(lines) if re.match(r"^\s+return ", line))]


def is_backward(line):
    return "kedge.place = #backward" in line or "kedge.place = #kedge.place<backward" in line


def is_update(line):
    return "kedge.place = #update" in line or "kedge.place = #kedge.place<update" in line


def results_of(line):
    """(name, type) of what a line defines: %a:2 has two results, %a, %b one each."""
    names, rest = line.strip().split(" = ", 1)
    types = TENSOR.findall(rest.rsplit(" -> ", 1)[1]) if " -> " in rest else []
    found = []
    for name in names.split(", "):
        base, _, count = name.partition(":")
        found += [f"{base}#{i}" for i in range(int(count))] if count else [base]
    return list(zip(found, types))


def saved_wide(text):
    """(op, shape) of each such value that is no scalar."""
    wide, saved = {}, []
    for line in step_lines(text):
        if " = " not in line or "onnx.Constant" in line:
            continue
        op = line.split(" = ", 1)[1].split()[0]
        if is_backward(line):
            for name in re.findall(r"%[\w#]+", line.split(" = ", 1)[1]):
                if name in wide and wide[name] not in saved:
                    saved.append(wide[name])
        elif not is_update(line):
            for name, of in results_of(line):
                *shape, element = of.split("x")
                if element == "f32" and shape:
                    wide[name] = (op, [int(size) for size in shape])
    return saved
