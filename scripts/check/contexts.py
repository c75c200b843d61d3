#!/usr/bin/env python3
"""Sequences as long as the largest that plans of a Llama of 8B fit into GPUs, by a 64th, on a Llama whose layers are narrower by a 64th: each
trains on this machine in the bytes that were planned, with the losses of the same model without recomputation and chunks.

contexts.py TEMP [--rows N]

Adapters over nf4, feed-forwards in chunks, --recompute full. Kedge is taken from PATH; the package numpy is needed.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import numpy

TOKENS = {"8 GB": 3567, "12 GB": 26218, "16 GB": 48869, "24 GB": 94170, "40 GB": 184773, "48 GB": 230074, "80 GB": 411280}
HIDDEN, VOCABULARY, STEPS = 224, 512, 3
LAYERS = r"layers\..*\.(q|k|v|o|gate|up|down)\.weight$"


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}: {done.stdout[-500:]}{done.stderr[-2000:]}")
    return done.stdout


def make_model(path):
    run("kedge", "shapes", "llama-8b", "-o", path, "--layers", 4, "--width", 64, "--heads", 4, "--key-heads", 1, "--hidden", HIDDEN, "--vocabulary",
        VOCABULARY)


def train(temp, name, tokens, *flags):
    """The losses, the bytes of the arena as planned and as measured."""
    words = [temp / "model.onnx", "--shape", f"input_ids=1x{tokens}", "--loss", "cross-entropy", "--lora", LAYERS, "--lora-rank", 8, "--quantize",
             f"{LAYERS}=nf4", *flags]
    planned = json.loads(run("kedge", "plan", *words, "--json"))
    program, log, report = (temp / f"{name}{end}" for end in ("", ".jsonl", ".json"))
    run("kedge", "compile", *words, "-o", program)
    log.unlink(missing_ok=True)
    run(program, "--tokens", temp / "tokens.bin", "--init", ".*=normal:0.02", "--seed", 1, "--steps", STEPS, "--log", log, "--memory-report", report)
    losses = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    return losses, planned["arena_bytes"], json.loads(report.read_text())["arena_bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("temp", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=len(TOKENS), help="the first N")
    options = parser.parse_args()
    options.temp.mkdir(parents=True, exist_ok=True)
    make_model(options.temp / "model.onnx")
    numpy.random.default_rng(0).integers(0, VOCABULARY, 40_000, dtype=numpy.uint16).tofile(options.temp / "tokens.bin")
    failed = 0
    for row, tokens in list(TOKENS.items())[:options.rows]:
        length = tokens // 64
        whole, _, all_bytes = train(options.temp, "whole", length)
        losses, planned, measured = train(options.temp, "chunks", length, "--recompute", "full", "--feed-forward-chunk",
                                          max(1024, length * HIDDEN * 4 // 8))
        apart = max(abs(a - b) / abs(b) for a, b in zip(losses, whole, strict=True))
        fine = planned == measured and apart < 1e-6
        failed += not fine
        print(f"{row}: {length} tokens, planned {planned} bytes, measured {measured}, {all_bytes} without both; losses {apart:.1e} apart: "
              f"{'as planned' if fine else 'NOT as planned'}", flush=True)
    print(f"{min(options.rows, len(TOKENS))} lengths, {failed} not as planned")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
