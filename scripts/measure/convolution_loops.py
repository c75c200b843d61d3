#!/usr/bin/env python3
"""How long the convolutions of a program take by the loops of their kernels: convolution_loops.py ARCH KERNELS.ptx PROGRAM.exec [DEVICE]

KERNELS.ptx and PROGRAM.exec are what `kedge compile --target cuda --emit ptx` and `--emit exec --with-places` print. Kernels are assembled and
read back as by loop_instructions.py. Of a kernel's inner loop the share of multiplying instructions (HMMA, FFMA) tells a rate: a scheduler
issues one instruction a clock, and tensor cores take a 16x8x16 product in so many clocks of a scheduler. Times are sums of a convolution's FLOPs
at that rate on all multiprocessors, as if nothing else took time. Nothing here is measured.
"""
import collections
import importlib.util
import math
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("loop_instructions", HERE / "loop_instructions.py")
loop_instructions = importlib.util.module_from_spec(spec)
spec.loader.exec_module(loop_instructions)

# Schedulers, clock in Hz, clocks of a scheduler for an HMMA.16816 (of mma.sync: on an h100 62 % of the peak, arXiv 2402.13499).
DEVICES = {"h100": (132 * 4, 1.83e9, 6.5), "a100": (108 * 4, 1.41e9, 8.0)}
HMMA, FFMA = 2 * 16 * 8 * 16, 2 * 32  # FLOPs of a warp's instruction


def flops(types):
    """Of Y = conv(X, W) or of a gradient: types of the operands in the order of the call."""
    kind, shapes = types
    y, w = {"onnx.Conv": (-1, 1), "train.conv_grad_input": (0, 1), "train.conv_grad_weight": (1, -1)}[kind]
    return 2 * math.prod(shapes[y]) * math.prod(shapes[w][1:])


def convolutions(text):
    """Name of the kernel that multiplies -> [(kind, FLOPs)] of the launches of a step."""
    found = collections.defaultdict(list)
    step = text[text.index("exec.function @step"):].split("exec.function @", 2)[1]
    for launch in step.split("exec.launch ")[1:]:
        head = re.match(r'library "(onnx\.Conv|train\.conv_grad\w+)"', launch)
        kernels = re.findall(r'name = "(\w*convolution\w*)"', launch)
        if head and (name := [k for k in kernels if "pack" not in k and "join" not in k]):
            shapes = [[int(n) for n in dims.split("x")[:-1]] for dims in re.findall(r"tensor<((?:\d+x)+\w+)>", launch)]
            count = 3 if head[1] != "onnx.Conv" or len(shapes) == 3 else 4
            shapes = shapes[:count]
            found[name[0]].append((head[1], flops((head[1], shapes))))
    return found


def inner_loop(code):
    """The loop with the largest number of multiplications, or all where loops are unrolled: (HMMA, FFMA, all)."""
    places = {label: at for at, (label, _, _) in enumerate(code) if label}
    best = (0, 0, 1)
    for at, (_, _, target) in enumerate(code):
        if target and places.get(target, at + 1) <= at:
            body = [op for _, op, _ in code[places[target]:at + 1] if op != "NOP"]
            counts = sum(op.startswith("HMMA") for op in body), sum(op.startswith("FFMA") for op in body), len(body)
            best = max(best, counts, key=lambda c: (HMMA * c[0] + FFMA * c[1]))
    if not any(best[:2]):
        operations = [op for _, op, _ in code if op != "NOP"]
        best = sum(op.startswith("HMMA") for op in operations), sum(op.startswith("FFMA") for op in operations), len(operations)
    return best


def main():
    arch, ptx, plan, *rest = sys.argv[1:]
    schedulers, clock, clocks = DEVICES[rest[0] if rest else "h100"]
    code = loop_instructions.kernels(loop_instructions.machine_code(arch, ptx))
    rows = collections.defaultdict(lambda: [0, 0, 0.0, 0.0, 0.0])
    for name, launches in convolutions(pathlib.Path(plan).read_text()).items():
        mma, fma, every = inner_loop(code[name])
        rate = (HMMA * mma + FFMA * fma) / max(every, mma * clocks) * schedulers * clock
        for kind, work in launches:
            row = rows[kind]
            row[0] += 1
            row[1] += work
            row[2] += work / rate
            row[3] += work * mma / every
            row[4] += work * fma / every
    print("| | launches | GFLOP | ms | HMMA of the loop | FFMA of the loop |\n|---|---|---|---|---|---|")
    for kind, (count, work, seconds, mma, fma) in [*sorted(rows.items()), ("all", [sum(column) for column in zip(*rows.values())])]:
        print(f"| {kind} | {count} | {work / 1e9:.0f} | {1e3 * seconds:.2f} | {100 * mma / work:.0f} % | {100 * fma / work:.0f} % |")


if __name__ == "__main__":
    main()
