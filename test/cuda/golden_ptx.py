#!/usr/bin/env python3
"""Every golden model beside the repository becomes machine code for three architectures: golden_ptx.py MODELS TEMP.

Precision, recomputation and ZeRO stage change from program to program so that all pairs of architecture, precision, recomputation
and stage are met, and each model's pairs with an architecture, a precision and a kind of recomputation. The statistics are
ptxas' own, from the head of `--emit ptx`. Nothing is left to link, every kernel is there, and only gradients of attention may
spill, a few bytes (docs/rationale/gpu-attention.md).
"""
import concurrent.futures
import itertools
import json
import pathlib
import re
import subprocess
import sys

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
PRECISIONS = ("fp32", "bf16", "fp16")
RECOMPUTE = ("none", "full", "segments=2")
STAGES = (0, 1, 2, 3)
SPILLED = 128  # bytes of a thread
STATISTICS = re.compile(r"// (\w+): \d+ registers, \d+ bytes shared, \d+ bytes stack, (\d+) bytes spilled, \d+ bytes reloaded")
# Programs of one rank, as their models need: a training graph has its own update.
ALONE = ("onnx-training",)


def rows(folders):
    """A model's number and three architectures -> what each program is compiled with."""
    for number, folder in enumerate(folders):
        for at, arch in enumerate(ARCHITECTURES):
            yield folder, arch, PRECISIONS[(number + at) % 3], RECOMPUTE[(number // 3 + at) % 3], STAGES[(number // 2 + 3 * at) % 4]


def expect_pairs(table):
    for left, right in itertools.combinations(range(1, 5), 2):
        met = {(row[left], row[right]) for row in table}
        everything = set(itertools.product({row[left] for row in table}, {row[right] for row in table}))
        assert met == everything, f"pairs that no program has: {sorted(everything - met, key=str)}"


def flags_of(folder, arch, precision, recompute, stage):
    if folder.name in ALONE:
        return ["--recompute", recompute]
    ranks = ["--ranks", "2", "--zero", str(stage)] if stage else []
    return ["--precision", precision, "--recompute", recompute, *ranks]


def compiled(folder, run, row, temp):
    output = temp / f"{folder.name}-{row[1]}.ptx"
    # What cuDNN would compute as well, so that every kind of kernel is assembled.
    command = ["kedge", "compile", folder / run.get("model", "model.onnx"), *run["compile"], *flags_of(*row), "--target",
               f"cuda:{row[1]}", "--convolution", "generated", "--emit", "ptx", "-o", output]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return output.read_text()


def check(folder, run, row, temp):
    text = compiled(folder, run, row, temp)
    kernels = set(re.findall(r"^\.visible \.entry (\w+)\(", text, re.M))
    statistics = {name: int(spilled) for name, spilled in STATISTICS.findall(text)}
    wrong = [f"{name} spills {spilled} bytes" for name, spilled in statistics.items()
             if spilled and (spilled > SPILLED or "attention_grad" not in name)]
    if not kernels or kernels != set(statistics):
        wrong.append(f"{len(kernels)} kernels and {len(statistics)} with statistics")
    if ".extern .func" in text:
        wrong.append("a function is left to link")
    if wrong:
        raise SystemExit(f"{folder.name} {row[1:]}: {'; '.join(wrong)}")
    return f"{folder.name} {row[1]}: {len(kernels)} kernels"


def main():
    models, temp = map(pathlib.Path, sys.argv[1:])
    temp.mkdir(parents=True, exist_ok=True)
    runs = {}
    for trace in sorted(models.glob("*/trace.json")):
        plain = [run for run in json.loads(trace.read_text())["runs"].values() if "--precision" not in run["compile"]]
        runs[trace.parent] = plain[0]
    table = list(rows(runs))
    expect_pairs([row for row in table if row[0].name not in ALONE])
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(check, row[0], runs[row[0]], row, temp) for row in table]
        print("\n".join(result.result() for result in waiting))
    print(f"{len(waiting)} programs")


if __name__ == "__main__":
    main()
