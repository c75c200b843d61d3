#!/usr/bin/env python3
"""Trains from artifacts of ONNX Runtime with the command that `kedge artifacts` prints: artifacts.py FOLDER OUT.

FOLDER holds the cases of scripts/sweep/exporters/onnxruntime_artifacts.py. Compares the losses of each step with onnxruntime's own.
"""
import json
import pathlib
import shlex
import subprocess
import sys


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{words[:2]}: {done.stderr.strip()}")
    return done.stdout


def losses(case, facts, out):
    printed = run("kedge", "artifacts", case, "-o", out / f"{case.name}.onnx")
    command = shlex.split(printed.splitlines()[-1].replace("N", str(facts["rows"])))
    run(*[out / case.name if word == "PROGRAM" else word for word in command])
    run(out / case.name, "--data", f"x={case / 'x.npy'}", f"{facts['labels']}={case / 'labels.npy'}", "--steps", len(facts["losses"]),
        "--lr", facts["rate"], "--log", out / f"{case.name}.jsonl")
    return [json.loads(line)["loss"] for line in (out / f"{case.name}.jsonl").read_text().splitlines()]


def main():
    folder, out = map(pathlib.Path, sys.argv[1:3])
    out.mkdir(parents=True, exist_ok=True)
    right, cases = 0, sorted(path.parent for path in folder.glob("*/case.json"))
    for case in cases:
        facts = json.loads((case / "case.json").read_text())
        found = losses(case, facts, out)
        far = max(abs(a - b) / abs(b) for a, b in zip(found, facts["losses"], strict=True))
        right += far <= facts["relative"]
        print(f"{case.name}: losses of {len(found)} steps differ by {far:.1e} at most")
    print(f"{right} of {len(cases)} cases right")


main()
