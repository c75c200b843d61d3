#!/usr/bin/env python3
"""Programs for Windows beside those for Linux, of one level: windows.py FOLDER MODEL_FOLDER...

Each MODEL_FOLDER has a trace.json (test/golden). In fp32 and in bf16, at the levels that this machine has, both programs train on the
same rows, one after the other on this machine, the first by wine. Prints a table as Markdown: whether their losses are the same
bits, the largest difference, times of a step (the median), of a start, and sizes.
"""
import json
import pathlib
import statistics
import subprocess
import sys
import time

LEVELS = {"v3": ("x86-64-v3", "x86_64-windows+v3"), "v4": ("x86-64-v4", "x86_64-windows+v4")}


def run(program, launcher, trace, folder, log):
    data = [word for name, file in trace["data"].items() for word in ("--data", f"{name}={folder / file}")]
    begin = time.perf_counter()
    subprocess.run([*launcher, program, "--help"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    start = time.perf_counter() - begin
    subprocess.run([*launcher, program, *data, *trace["run"], "--log", log], check=True, stderr=subprocess.DEVNULL)
    steps = [json.loads(line) for line in log.read_text().splitlines()]
    return [(step["loss"], step["grad_norm"]) for step in steps], statistics.median(step["seconds"] for step in steps), start


def compare(folder, out, precision, level):
    trace = json.loads((folder / "trace.json").read_text())
    found = []
    for launcher, cpu in zip(([], ["wine"]), LEVELS[level]):
        program = out / f"{folder.name}-{precision}-{cpu}.exe"
        subprocess.run(["kedge", "compile", folder / trace.get("model", "model.onnx"), *trace["compile"], "--precision", precision, "--cpu", cpu,
                        "-o", program], check=True, stderr=subprocess.DEVNULL)
        found.append((*run(program, launcher, trace, folder, program.with_suffix(".jsonl")), program.stat().st_size))
    (linux, linux_step, linux_start, linux_size), (windows, step, start, size) = found
    gap = max(abs(a - b) / max(abs(a), 1e-3) for one, other in zip(linux, windows) for a, b in zip(one, other) if a is not None)
    same = sum(one == other for one, other in zip(linux, windows))
    print(f"| {folder.name} | {precision} | {level} | {same} of {len(linux)} steps | {gap:.1e} | {linux_step * 1e3:.3f} ms | {step * 1e3:.3f} ms "
          f"| {linux_start:.2f} s | {start:.2f} s | {linux_size / 1e6:.1f} MB | {size / 1e6:.1f} MB |", flush=True)


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    levels = list(LEVELS) if "avx512f" in pathlib.Path("/proc/cpuinfo").read_text() else ["v3"]
    print("| model | precision | level | same bits | largest difference | step: Linux | wine | start: Linux | wine | size: Linux | Windows |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for folder in map(pathlib.Path, sys.argv[2:]):
        for precision in ("fp32", "bf16"):
            for level in levels:
                compare(folder.resolve(), out, precision, level)


if __name__ == "__main__":
    main()
