#!/usr/bin/env python3
"""Every fp32 golden model beside the repository becomes machine code for three architectures: golden_ptx.py MODELS TEMP.

The statistics are ptxas' own, from the head of `--emit ptx`. Nothing is left to link, every kernel is there, and only
gradients of attention may spill, a few bytes (docs/rationale/gpu-attention.md).
"""
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
SPILLED = 128  # bytes of a thread
STATISTICS = re.compile(r"// (\w+): \d+ registers, \d+ bytes shared, \d+ bytes stack, (\d+) bytes spilled, \d+ bytes reloaded")


def compiled(folder, run, arch, temp):
    output = temp / f"{folder.name}-{arch}.ptx"
    # What cuDNN would compute as well, so that every kind of kernel is assembled.
    command = ["kedge", "compile", folder / run.get("model", "model.onnx"), *run["compile"], "--target", f"cuda:{arch}",
               "--convolution", "generated", "--emit", "ptx", "-o", output]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{folder.name} {arch}: exit code {done.returncode}\n{done.stderr}")
    return output.read_text()


def check(folder, run, arch, temp):
    text = compiled(folder, run, arch, temp)
    kernels = set(re.findall(r"^\.visible \.entry (\w+)\(", text, re.M))
    statistics = {name: int(spilled) for name, spilled in STATISTICS.findall(text)}
    wrong = [f"{name} spills {spilled} bytes" for name, spilled in statistics.items()
             if spilled and (spilled > SPILLED or "attention_grad" not in name)]
    if not kernels or kernels != set(statistics):
        wrong.append(f"{len(kernels)} kernels and {len(statistics)} with statistics")
    if ".extern .func" in text:
        wrong.append("a function is left to link")
    if wrong:
        raise SystemExit(f"{folder.name} {arch}: {'; '.join(wrong)}")
    return f"{folder.name} {arch}: {len(kernels)} kernels"


def main():
    models, temp = map(pathlib.Path, sys.argv[1:])
    temp.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        waiting = []
        for trace in sorted(models.glob("*/trace.json")):
            runs = [run for run in json.loads(trace.read_text())["runs"].values() if "--precision" not in run["compile"]]
            waiting += [pool.submit(check, trace.parent, runs[0], arch, temp) for arch in ARCHITECTURES]
        print("\n".join(result.result() for result in waiting))
    print(f"{len(waiting)} programs")


if __name__ == "__main__":
    main()
