#!/usr/bin/env python3
"""Seconds of processor time and bytes of memory of `kedge plan` (or compile) by the number of nodes: sizes.py FOLDER [--sizes N...] [--shapes S...]
[--compile] [--limit SECONDS]

Six shapes of graphs that real exporters make in the small: a chain of Relus, a chain of small MatMuls, a fan (a Concat of N one-column products), residual
blocks, a tree of sums, and functions that call each other (N is a power of two there). The last column is the exponent of N that fits all sizes of a row.
"""
import argparse
import math
import os
import pathlib
import resource
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def weight(name, *shape):
    return numpy_helper.from_array(np.full(shape, 0.1, np.float32), name)


def first(output):
    return [helper.make_node("MatMul", ["x", "w"], [output])], [weight("w", 4, 4)]


def relus(count):
    nodes, weights = first("v0")
    return nodes + [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in range(count)], weights, f"v{count}", 4


def products(count):
    nodes = [helper.make_node("MatMul", [f"v{i}" if i else "x", f"w{i}"], [f"v{i + 1}"]) for i in range(count)]
    return nodes, [weight(f"w{i}", 4, 4) for i in range(count)], f"v{count}", 4


def fan(count):
    nodes = [helper.make_node("MatMul", ["x", f"w{i}"], [f"c{i}"]) for i in range(count)]
    nodes.append(helper.make_node("Concat", [f"c{i}" for i in range(count)], ["y"], axis=1))
    return nodes, [weight(f"w{i}", 4, 1) for i in range(count)], "y", count


def residual(count):
    nodes, weights = first("v0")
    for i in range(count // 2):
        nodes += [helper.make_node("Tanh", [f"v{i}"], [f"t{i}"]), helper.make_node("Add", [f"v{i}", f"t{i}"], [f"v{i + 1}"])]
    return nodes, weights, f"v{count // 2}", 4


def sums(count):
    nodes, weights = first("v")
    level, made = [f"m{i}" for i in range(count // 2)], 0
    for i, name in enumerate(level):
        nodes.append(helper.make_node("Mul", ["v", f"s{i}"], [name]))
        weights.append(weight(f"s{i}", 4))
    while len(level) > 1:
        pairs = [level[at:at + 2] for at in range(0, len(level), 2)]
        level = []
        for pair in pairs:
            if len(pair) == 2:
                made += 1
                nodes.append(helper.make_node("Add", pair, [f"a{made}"]))
            level.append(f"a{made}" if len(pair) == 2 else pair[0])
    return nodes, weights, level[0], 4


def nested(count):
    nodes, weights = first("v0")
    functions, opsets = [], [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]
    depth = round(math.log2(count))
    for level in range(depth + 1):
        body = [helper.make_node("Tanh", ["a"], ["b"])] if level == 0 else [
            helper.make_node(f"F{level - 1}", ["a"], ["m"], domain="f"), helper.make_node(f"F{level - 1}", ["m"], ["b"], domain="f")]
        functions.append(helper.make_function("f", f"F{level}", ["a"], ["b"], body, opsets))
    return nodes + [helper.make_node(f"F{depth}", ["v0"], ["y"], domain="f")], weights, "y", 4, functions


SHAPES = {"relus": relus, "products": products, "fan": fan, "residual": residual, "sums": sums, "nested": nested}


def save(shape, count, path):
    nodes, weights, output, width, *functions = SHAPES[shape](count)
    graph = helper.make_graph(nodes, shape, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])],
                              [helper.make_tensor_value_info(output, TensorProto.FLOAT, [2, width])], weights)
    opsets = [helper.make_opsetid("", 17)] + ([helper.make_opsetid("f", 1)] if functions else [])
    onnx.save(helper.make_model(graph, opset_imports=opsets, functions=functions[0] if functions else [], ir_version=9), path)


def measure(words, limit):
    """Seconds of processor time and bytes; None: not within the limit."""
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)))
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        print(f"  {' '.join(map(str, words))}: status {status}: {said[-300:]}", file=sys.stderr)
        return None
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def exponent(points):
    """Of the least squares line through the logarithms; sizes below a second alone where there are no two others, since they have what each run takes."""
    large = [point for point in points if point[1] > 1] or points
    points = large if len(large) > 1 else points
    if len(points) < 2:
        return float("nan")
    logs = np.log(np.array([[count, seconds] for count, seconds, _ in points]))
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1024, 4096, 16384, 65536, 100000])
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--limit", type=int, default=120, help="seconds of processor time for one graph")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    print("| shape | " + " | ".join(f"{count} nodes" for count in given.sizes) + " | exponent |")
    print("|---" * (len(given.sizes) + 2) + "|", flush=True)
    for shape in given.shapes:
        cells, points = [], []
        for count in given.sizes:
            path = given.folder / f"{shape}-{count}.onnx"
            if shape == "nested":
                count = 1 << round(math.log2(count))
            save(shape, count, path)
            words = ["kedge", "compile" if given.compile else "plan", path, "--loss", "mse"]
            found = measure(words + (["-o", given.folder / "program"] if given.compile else []), given.limit)
            path.unlink()
            cells.append(f"{found[0]:.2f} s, {found[1] / 1e6:.0f} MB" if found else f"over {given.limit} s")
            if not found:
                cells += ["-"] * (len(given.sizes) - len(cells))
                break
            points.append((count, *found))
        print(f"| {shape} | " + " | ".join(cells) + f" | {exponent(points):.2f} |", flush=True)


if __name__ == "__main__":
    main()
