#!/usr/bin/env python3
"""Trains a model with optimizer and parameters in files under a limit on address space, and once more in memory.

states_in_files.py MODEL.onnx WORK [--steps N] [--rows 1x128] [--share 3] [--budget BYTES] [--device FILE.json]

Needs `kedge` in PATH. The model may be without weights (kedge shapes): they are drawn. The limit of the run with
files is `ulimit -v` at 1/SHARE of the bytes of parameters and optimizer state. Both runs' losses must be equal to the bit. Prints
JSON: seconds of both steps, bytes that a step copies, and the time that copying them takes at the device file's bandwidth
(`kedge-bench calibrate --disk WORK --output FILE.json`), with and without overlap of both directions.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys

INIT = [".*norm.*weight$=ones", ".*bias$=zeros", ".*(qkv|out|up|down|tokens|positions).weight$=normal:0.02"]


def run(program, arguments, log, limit=None):
    def bound():
        if limit:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    done = subprocess.run([program, *arguments, "--log", log], capture_output=True, text=True, preexec_fn=bound)
    if done.returncode:
        sys.exit(f"{program}: exit code {done.returncode}\n{done.stderr}")
    return [json.loads(line) for line in open(log)]


def compiled(model, rows, options, program):
    command = ["kedge", "compile", model, "--shape", f"input_ids={rows}", "--loss", "cross-entropy", *options, "-o", program]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    plan = json.loads(subprocess.run([program, "--plan"], capture_output=True, text=True, check=True).stdout)
    return program, plan


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--rows", default="1x128")
    parser.add_argument("--share", type=float, default=3)
    parser.add_argument("--device")
    options = parser.parse_args()
    work = options.work
    files = work / "files"
    files.mkdir(parents=True, exist_ok=True)
    tokens = work / "tokens.bin"
    rows, length = map(int, options.rows.split("x"))
    count = (rows * options.steps + 1) * length + 1
    tokens.write_bytes(b"".join((i * 7919 % 50021).to_bytes(2, "little") for i in range(count)))
    train = ["--tokens", str(tokens), "--steps", str(options.steps), "--seed", "7", *(w for i in INIT for w in ("--init", i))]
    memory, _ = compiled(options.model, options.rows, [], work / "memory")
    onDisk, plan = compiled(options.model, options.rows,
                            ["--offload", f"optimizer={files},params={files}"], work / "disk")
    state = plan["state_bytes"]["parameters"] + plan["state_bytes"]["optimizer"]
    limit = int(state / options.share)
    inFiles = run(onDisk, train, work / "disk.jsonl", limit)
    inMemory = run(memory, train, work / "memory.jsonl")
    if [r["loss"] for r in inFiles] != [r["loss"] for r in inMemory]:
        sys.exit(f"other losses: {[r['loss'] for r in inFiles]} in files, {[r['loss'] for r in inMemory]} in memory")
    offload = plan["offload"]
    result = {"state_bytes": state, "limit_bytes": limit, "arena_bytes": plan["arena_bytes"], "disk_bytes": plan["disk_bytes"],
              "losses": [r["loss"] for r in inFiles], "to_disk_bytes": offload["to_disk_bytes"],
              "from_disk_bytes": offload["from_disk_bytes"],
              "seconds_in_files": [r["seconds"] for r in inFiles], "seconds_in_memory": [r["seconds"] for r in inMemory]}
    if options.device:
        rate = json.load(open(options.device))["disk_bytes_per_second"]
        there, back = offload["to_disk_bytes"] / rate, offload["from_disk_bytes"] / rate
        result |= {"disk_bytes_per_second": rate, "seconds_of_copies": there + back, "of_the_longer_direction": max(there, back)}
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
