#!/usr/bin/env python3
"""Saves on four ranks at stage 3 and goes on elsewhere: ranks_resume.py FOLDER OUT.

On four ranks of the same stage the log and the weights are those of a run that was not interrupted, to the bit; on two,
three and one, and at other stages, losses agree within 1e-5 where the batch is the same, and what is exported without
training is the same file.
"""
import json
import pathlib
import shutil
import subprocess
import sys

from ranks import mpirun, shared_rows

STEPS, SAVED = 12, 6
PROGRAMS = {"four": (4, 3), "four-other": (4, 1), "two": (2, 2), "three": (3, 3), "one": (1, 0)}


def compile_all(folder, trace, out):
    for name, (ranks, stage) in PROGRAMS.items():
        rows = shared_rows(trace["compile"], 4 if name == "three" else ranks)
        subprocess.run(["kedge", "compile", folder / "model.onnx", *rows, "--ranks", str(ranks), "--zero", str(stage), "-o",
                        out / name], check=True)


def run(out, name, run_name, *arguments):
    ranks = PROGRAMS[name][0]
    log, weights = out / f"{run_name}.jsonl", out / f"{run_name}.safetensors"
    mpirun(ranks, out / name, *arguments, "--log", log, "--export-safetensors", weights)
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [(line["step"], line["loss"], line["grad_norm"]) for line in lines], weights.read_bytes()


def main():
    folder, out = map(pathlib.Path, sys.argv[1:3])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    trace = json.loads((folder / "trace.json").read_text())
    compile_all(folder, trace, out)
    data = [word for name, file in trace["data"].items() for word in ("--data", f"{name}={folder / file}")]
    steps = trace["run"].index("--steps")
    rates = trace["run"][:steps] + trace["run"][steps + 2:]
    flags = [*data, *rates, "--steps", str(STEPS), "--checkpoint-every", str(SAVED), "--checkpoint-dir"]
    whole, weights = run(out, "four", "whole", *flags, out / "ck")
    saved = out / "ck" / f"step-{SAVED}"
    assert (saved / "model.rank-3.safetensors").exists() and (saved / "optimizer.rank-3.safetensors").exists()
    for name in PROGRAMS:
        _, exported = run(out, name, f"{name}-saved", "--steps", str(SAVED), "--resume", saved)
        first = out / "four-saved.safetensors"
        assert exported == first.read_bytes(), f"{name} exports other weights from the same checkpoint"
        if name == "three":  # has other rows a step
            continue
        log, after = run(out, name, f"{name}-on", *flags, out / f"ck-{name}", "--resume", saved)
        expected = whole[SAVED:]
        assert [line[0] for line in log] == [line[0] for line in expected], f"{name}: {log}"
        if name == "four":
            assert log == expected and after == weights, f"not to the bit: {log} instead of {expected}"
        for found, wanted in zip(log, expected):
            assert abs(found[1] - wanted[1]) <= 1e-5 * wanted[1], f"{name}: {found} instead of {wanted}"
    print(f"{folder.name}: a checkpoint of four ranks goes on everywhere")


if __name__ == "__main__":
    main()
