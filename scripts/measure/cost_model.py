#!/usr/bin/env python3
"""Predicted against measured times of training steps, by kind of launch, as a table in Markdown.

cost_model.py --kedge build/release/bin/kedge [--threads 2] [--steps 20] [--runs 1] [--device FILE.json] [--dump FILE.csv]
              [--models ../shared/models] [--gpt2 FILE.onnx] [NAME...]

Every model is planned (`kedge plan --launches`), compiled and run with `--profile`; a launch's measured time is the
least of its steps but the first, which is what it takes on a machine that does nothing else. NAMEs choose among the
folders of --models (their trace.json holds the options), byte-gpt and, with --gpt2, the file that
scripts/make/make_gpt2.py writes: gpt2-4x64, gpt2-1x1024. On a machine with other work: --processor-time, or many --runs.
"""
import argparse
import csv
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

# Processor time in place of the clock's, which goes on while other programs run.
SHIM = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *time) {
  return syscall(SYS_clock_gettime, id == CLOCK_MONOTONIC ? CLOCK_PROCESS_CPUTIME_ID : id, time);
}
"""
ROOT = pathlib.Path(__file__).resolve().parents[2]


def processor_time(folder):
    """The environment that makes a program read processor time, and the seconds that reading it twice adds."""
    (folder / "shim.c").write_text(SHIM)
    library = folder / "shim.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, folder / "shim.c"], check=True)
    begin = time.process_time()
    for _ in range(100000):
        time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)
    reading = time.process_time() - begin
    begin = time.process_time()
    for _ in range(100000):
        time.clock_gettime(time.CLOCK_MONOTONIC)
    return {**os.environ, "LD_PRELOAD": str(library)}, (reading - (time.process_time() - begin)) / 100000


def tokens_file(folder, count, vocabulary):
    random.seed(0)
    path = folder / "tokens"
    path.write_bytes(b"".join(random.randrange(vocabulary).to_bytes(2, "little") for _ in range(count)))
    return ["--tokens", str(path)]


def known_models(options, folder):
    """Name -> (model file, options of compile, options of the program)."""
    models = {}
    for trace_file in sorted(pathlib.Path(options.models).glob("*/trace.json")):
        home, trace = trace_file.parent, json.loads(trace_file.read_text())
        run = next(iter(trace["runs"].values()))
        data = [word for name, file in trace["data"].items() for word in ("--data", f"{name}={home / file}")]
        models[home.name] = (home / run.get("model", "model.onnx"), run["compile"], data)
    tokens = tokens_file(folder, 1 << 16, 256)
    models["byte-gpt"] = (ROOT / "examples/byte-gpt/byte-gpt.onnx", ["--shape", "input_ids=8x128"], tokens)
    if options.gpt2:
        for shape in ("4x64", "1x1024"):
            models[f"gpt2-{shape}"] = (options.gpt2, ["--shape", f"input_ids={shape}"], tokens)
    return models


def measured(program, arguments, options, folder):
    """(function, launch) -> least seconds of a step but the first."""
    trace = folder / "trace.json"
    command = [program, *arguments, "--steps", str(options.steps), "--threads", str(options.threads), "--lr", "1e-5",
               "--profile", trace]
    seconds = {}
    for _ in range(options.runs):
        subprocess.run(command, check=True, capture_output=True, cwd=folder, env=options.environment)
        seen = set()
        for event in json.loads(trace.read_text())["traceEvents"]:
            if event["cat"] == "steps":
                continue
            key = event["cat"], event["args"]["launch"]
            if key in seen:
                seconds[key] = min(seconds.get(key, 1e9), max(0, event["dur"] / 1e6 - options.reading))
            seen.add(key)
    return seconds


def compare(name, model, options, folder):
    file, compile_options, run_options = model
    program, table = folder / "program", folder / "launches.csv"
    device = ["--device", options.device] if options.device else []
    plan = [options.kedge, "plan", file, *compile_options, *device, "--launches", table, "--json"]
    subprocess.run(plan, check=True, capture_output=True)
    subprocess.run([options.kedge, "compile", file, *compile_options, "-o", program], check=True, capture_output=True)
    times = measured(program, run_options, options, folder)
    rows = []
    for row in csv.DictReader(table.open()):
        key = row["function"], int(row["launch"])
        if key in times and key[0] in ("step", "micro", "update"):
            rows.append({"model": name, **row, "measured": times[key]})
    return rows


def kind_of(row):
    return {"vector": "generated"}.get(row["kind"], row["kind"])


def totals(rows):
    """Kind -> [predicted, measured] seconds."""
    sums = {}
    for row in rows:
        for kind in ("all", kind_of(row)):
            pair = sums.setdefault(kind, [0.0, 0.0])
            pair[0] += float(row["seconds"])
            pair[1] += row["measured"]
    return sums


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--kedge", required=True)
    parser.add_argument("--models", default=ROOT / "../shared/models")
    parser.add_argument("--gpt2")
    parser.add_argument("--device")
    parser.add_argument("--dump", help="every launch, for a closer look")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--runs", type=int, default=1, help="a busy machine needs more of them for a quiet moment")
    parser.add_argument("--processor-time", action="store_true", help="of one thread, where the machine is busy; needs cc")
    options = parser.parse_args()
    if options.processor_time:
        options.threads = 1
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])  # so that the plan is of one core, too
    options.kedge = pathlib.Path(options.kedge).resolve()
    kinds = ["all", "product", "attention", "convolution", "generated", "moving", "irregular"]
    print("| model | " + " | ".join(kinds) + " |\n" + "|---" * (len(kinds) + 1) + "|")
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        options.environment, options.reading = processor_time(pathlib.Path(scratch)) if options.processor_time else (None, 0)
        models = known_models(options, pathlib.Path(scratch))
        for name in options.names or models:
            if name not in models:
                sys.exit(f"{name}: no such model; known are {', '.join(models)}")
            try:
                found = compare(name, models[name], options, pathlib.Path(scratch))
            except subprocess.CalledProcessError as error:
                sys.exit(f"{name}: {' '.join(map(str, error.cmd))}\n{error.stderr.decode()}")
            sums = totals(found)
            cells = [f"{1e3 * p:.3g} / {1e3 * m:.3g} ({p / m:.2f})" if m else "" for p, m in
                     (sums.get(kind, (0, 0)) for kind in kinds)]
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
            rows += found
    if options.dump and rows:
        with open(options.dump, "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
