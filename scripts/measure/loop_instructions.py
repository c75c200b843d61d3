#!/usr/bin/env python3
"""What the loops of tensor-core kernels consist of: loop_instructions.py ARCH KERNELS.ptx [KERNEL...]

KERNELS.ptx is what `kedge compile --emit ptx` prints. Each kernel (all that multiply matrices, or those whose name holds one
of the words) is assembled with ptxas and read back with nvdisasm (CUDA's toolkit, or the package nvidia-cuda-nvdisasm);
both are looked for on PATH. A row a loop: static counts of the machine instructions between a branch and its target,
however often parts of them are skipped.
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

KINDS = [("mma", r"HMMA"), ("ldmatrix", r"LDSM"), ("cp.async", r"LDGSTS"), ("ex2", r"MUFU"),
         ("f32", r"FFMA|FMUL|FADD|FMNMX|FSEL|FSETP"), ("convert", r"F2FP|F2F"), ("shuffle", r"SHFL"),
         ("barrier", r"BAR|DEPBAR|LDGDEPBAR")]


def machine_code(arch, ptx):
    with tempfile.TemporaryDirectory() as folder:
        cubin = pathlib.Path(folder, "kernels.cubin")
        subprocess.run(["ptxas", f"-arch={arch}", "-O3", "-fmad=false", ptx, "-o", cubin], check=True)
        return subprocess.run(["nvdisasm", "-c", cubin], check=True, capture_output=True, text=True).stdout


def kernels(text):
    """name -> [(label or None, operation, target or None)]"""
    found, current, label = {}, None, None
    for line in text.splitlines():
        if start := re.match(r"\.text\.(\w+):", line):
            current = found.setdefault(start[1], [])
        elif named := re.match(r"(\.L_x?_?\w+):", line):
            label = named[1]
        elif current is not None and (parts := re.match(r"\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9_.]+)(.*)", line)):
            target = re.search(r"`\((\.L\w+)\)", parts[2]) if parts[1].startswith("BRA") else None
            current.append((label, parts[1], target and target[1]))
            label = None
    return found


def loops(code):
    places = {label: at for at, (label, _, _) in enumerate(code) if label}
    spans = {(places[target], at) for at, (_, _, target) in enumerate(code) if target and places.get(target, at + 1) <= at}
    multiply = [at for at, (_, operation, _) in enumerate(code) if operation.startswith("HMMA")]
    for first, last in sorted(spans):
        inside = [other for other in spans if other != (first, last) and first <= other[0] and other[1] <= last]
        if any(first <= at <= last for at in multiply) and not any(a <= at <= b for a, b in inside for at in multiply):
            yield [operation for _, operation, _ in code[first:last + 1] if operation != "NOP"]


def row(name, operations):
    counts = collections.Counter()
    for operation in operations:
        counts[next((kind for kind, pattern in KINDS if re.match(pattern, operation)), "other")] += 1
    cells = [counts[kind] for kind, _ in KINDS] + [counts["other"], len(operations), f"{100 * counts['mma'] / len(operations):.0f} %"]
    return "| " + " | ".join(map(str, [name, *cells])) + " |"


def main():
    arch, ptx, *words = sys.argv[1:]
    names = ["loop of", *(kind for kind, _ in KINDS), "other", "all", "mma of all"]
    print("| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|")
    for name, code in sorted(kernels(machine_code(arch, ptx)).items()):
        if not words or any(word in name for word in words):
            for operations in loops(code):
                print(row(name, operations))


if __name__ == "__main__":
    main()
