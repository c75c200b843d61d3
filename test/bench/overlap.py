#!/usr/bin/env python3
"""Seconds a step on several ranks, with collectives beside what computes and where they stand (KEDGE_NO_OVERLAP=1):
overlap.py MODEL.onnx TEMP --shape INPUT=ROWSxLENGTH [--ranks 1,2,4] [--zero 2] [OPTION OF COMPILE...].

The model's only input takes tokens; each rank has ROWS rows. Prints the median step of each, relative to one rank's, and
for how much of their time collectives ran under launches (from rank 0's --profile).
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import struct
import subprocess

STEPS, WARM, TURNS = 12, 4, 2


def compile_program(options, rest, ranks, out):
    subprocess.run(["kedge", "compile", options.model, "--shape", options.shape, *rest, "--ranks", str(ranks), "--zero",
                    str(options.zero if ranks > 1 else 0), "-o", out], check=True)


def run(program, ranks, temp, overlap):
    log, profile = temp / "log.jsonl", temp / "profile.json"
    launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", str(ranks)]
    environment = dict(os.environ, **({} if overlap else {"KEDGE_NO_OVERLAP": "1"}))
    subprocess.run([*(launcher if ranks > 1 else []), program, "--tokens", temp / "tokens.bin", "--steps", str(STEPS), "--init",
                    ".=normal:0.02", "--log", log, "--profile", profile, "--threads", "1"], check=True, env=environment,
                   capture_output=True)
    steps = [json.loads(line)["seconds"] for line in log.read_text().splitlines()][WARM:]
    return statistics.median(steps), [
        e for e in json.loads(profile.read_text())["traceEvents"] if e["ph"] == "X" and e["pid"] == 0]


def share_under_launches(events):
    """Of the collectives' time, how much some launch that computes ran in."""
    busy = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e["tid"] == 0 and not e["name"].startswith("dist."))
    total = hidden = 0
    for event in events:
        if event["tid"] == 3:
            begin, end = event["ts"], event["ts"] + event["dur"]
            total += end - begin
            hidden += sum(max(0, min(end, b[1]) - max(begin, b[0])) for b in busy)
    return hidden / total if total else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("temp", type=pathlib.Path)
    parser.add_argument("--shape", required=True)
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--zero", type=int, default=2)
    options, rest = parser.parse_known_args()
    options.temp.mkdir(parents=True, exist_ok=True)
    generator = random.Random(1)
    tokens = [generator.randrange(256) for _ in range(1 << 16)]
    (options.temp / "tokens.bin").write_bytes(struct.pack(f"<{len(tokens)}H", *tokens))
    alone = None
    print(f"{'ranks':>5} {'overlap':>7} {'ms a step':>9} {'relative':>8} {'hidden':>6}")
    for ranks in map(int, options.ranks.split(",")):
        program = options.temp / f"program-{ranks}"
        compile_program(options, rest, ranks, program)
        for overlap in (True, False) if ranks > 1 else (True,):
            best, hidden = min((lambda found: (found[0], share_under_launches(found[1])))(run(program, ranks, options.temp, overlap))
                               for _ in range(TURNS))
            alone = alone or best
            print(f"{ranks:5} {'on' if overlap else 'off':>7} {best * 1e3:9.1f} {best / alone:8.2f} "
                  f"{hidden if overlap and ranks > 1 else 0:6.0%}")


if __name__ == "__main__":
    main()
