#!/usr/bin/env python3
"""How close --auto comes to its proven bound: ten models and numbers of ranks, as a table and as JSON.

auto_gaps.py TEMP [--out FILE.json] [--only WORD]

Each is planned with `kedge plan --auto --json`, which counts ranks along all axes. Kedge is taken from PATH.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

# Shapes, and rows of a rank; what follows is the same for all.
TOKENS = "input_ids={}x{}"
CASES = [("llama-8b", TOKENS.format(2, 4096), 8), ("llama-8b", TOKENS.format(2, 4096), 64), ("llama-7b", TOKENS.format(2, 2048), 16),
         ("llama-1b", TOKENS.format(8, 2048), 8), ("gpt2", TOKENS.format(16, 1024), 8), ("gpt2-xl", TOKENS.format(8, 1024), 8),
         ("gpt2-xl", TOKENS.format(8, 1024), 32), ("lesson-l", TOKENS.format(8, 512), 8), ("bert-base", TOKENS.format(32, 512), 8),
         ("resnet50", "pixels=64x3x224x224", 8)]


def plan(model, shape, ranks):
    before = os.times()
    done = subprocess.run(["kedge", "plan", str(model), "--shape", shape, "--loss", "cross-entropy", "--precision", "bf16", "--target", "cuda",
                           "--ranks", str(ranks), "--device", "h100", "--link", "dgx-h100", "--auto", "--json"], capture_output=True, text=True)
    after = os.times()
    if done.returncode != 0:
        sys.exit(f"{model.stem} {shape} {ranks}: exit code {done.returncode}: {done.stderr[-2000:]}")
    auto = json.loads(done.stdout)["auto"]
    kept = {key: auto[key] for key in ("considered", "scheduled", "planned", "seconds", "lower_bound", "gap")}
    return {"model": model.stem, "shape": shape, "ranks": ranks, "mesh": auto["choice"]["mesh"], "zero": auto["choice"]["zero"], **kept,
            "search_seconds": after.children_user - before.children_user + after.children_system - before.children_system}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("temp", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    arguments.temp.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, shape, ranks in CASES:
        if arguments.only not in name:
            continue
        model = arguments.temp / f"{name}.onnx"
        if not model.exists():
            subprocess.run(["kedge", "shapes", name, "-o", str(model)], check=True, capture_output=True)
        row = plan(model, shape, ranks)
        rows.append(row)
        print(f"{name:10} {ranks:3} ranks  {row['considered']:6} ways  {row['scheduled']:3} scheduled {row['planned']:3} planned  {row['mesh']:24} "
              f"zero {row['zero']}  {row['seconds']:.5f} s  bound {row['lower_bound']:.5f} s  gap {100 * row['gap']:.2f}%  "
              f"{row['search_seconds']:.1f} s", flush=True)
    print(f"median gap {100 * statistics.median(row['gap'] for row in rows):.2f}%")
    if arguments.out:
        arguments.out.write_text(json.dumps({"cases": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
