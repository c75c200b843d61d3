#!/usr/bin/env python3
"""What the innermost loops of an Arm archive's product tiles consist of: arm_loops.py ARCHIVE|LIBRARY [SYMBOL...]

Disassembles with aarch64-linux-gnu-objdump. A row for the loop with most multiply-adds of each function whose name holds one
of the words (all functions, if none is given): static counts of the instructions between a branch and its target.
"""
import re
import subprocess
import sys

MULTIPLY = re.compile(r"fmla|fmad|bfdot|bfmmla|sdot|udot|smlal|mla\b")


def functions(text):
    """name -> [(address, operation, target or None)]"""
    current = None
    for line in text.splitlines():
        if start := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            if current:
                yield current
            current = (start[1], [])
        elif current and (parts := re.match(r"\s*([0-9a-f]+):\t[0-9a-f ]+\t(\S+)(.*)", line)):
            target = re.search(r"\b([0-9a-f]+) <", parts[3]) if parts[2].startswith(("b.", "cb", "tb")) else None
            current[1].append((int(parts[1], 16), parts[2], int(target[1], 16) if target else None))
    if current:
        yield current


def best_loop(code):
    """The loop without loops inside that multiplies most."""
    spans = sorted((target, at) for at, _, target in code if target is not None and target <= at)
    inner = [span for span in spans
             if not any(other != span and span[0] <= other[0] and other[1] <= span[1] for other in spans)]
    loops = [[operation for at, operation, _ in code if first <= at <= last] for first, last in inner]
    return max(loops, key=lambda loop: sum(map(bool, map(MULTIPLY.match, loop))), default=[])


def main():
    archive, *words = sys.argv[1:]
    text = subprocess.run(["aarch64-linux-gnu-objdump", "-d", "-C", archive], check=True, capture_output=True, text=True).stdout
    print("| function | multiply-adds | loads and prefetches | all | share |\n|---|---|---|---|---|")
    for name, code in functions(text):
        if words and not any(word in name for word in words):
            continue
        loop = best_loop(code)
        multiply = sum(map(bool, map(MULTIPLY.match, loop)))
        if multiply >= 8:
            loads = sum(operation.startswith(("ld", "prf")) for operation in loop)
            print(f"| {name[:100]} | {multiply} | {loads} | {len(loop)} | {multiply / len(loop):.2f} |")


if __name__ == "__main__":
    main()
