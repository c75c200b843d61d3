#!/usr/bin/env python3
"""GPT-2's training step beside PyTorch's and JAX's, in one run, one after the other, round by round.

bench_gpt2.py --kedge build/release/bin/kedge-bench --model gpt2.onnx [--tools ../shared/tools] [--python python3]
              [--rounds 3 --steps 5 --threads 2 --shapes 4x64,1x1024 --modes eager,compile --precision fp32]
              [--processor-time]

--model: what scripts/make/make_gpt2.py writes (made when it is missing; needs torch and onnx). --python: an interpreter with
torch and jax. --tools: the folder of pytorch_step.py and jax_step.py. Each contender is a process of its own and is
measured in the same way: median seconds of the steps after three, growth of the resident set over what is resident when
its libraries are loaded. Prints a line a run, then the table of medians over the rounds, with ratios of the better of
the others to ours: above 1 we are faster, or smaller.

--processor-time, for a busy machine: one thread, and processor seconds a step, from the difference of a run with --steps
and one with 1. Waiting for a processor does not count then; what several threads gain or lose does not show.
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys


def lines_of(command):
    """The JSON lines a contender prints."""
    fresh = dict(os.environ, TORCHINDUCTOR_FORCE_DISABLE_CACHES="1")  # each round compiles anew, as ours does
    run = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, env=fresh)
    found = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    if run.returncode or not found:
        sys.exit(f"{' '.join(map(str, command))}: ended with {run.returncode} and {len(found)} results")
    return found


def contenders(o, batch, length):
    shape = ["--batch", batch, "--length", length, "--threads", o.threads, "--precision", o.precision]
    yield [o.kedge, "step", "--model", o.model, "--shape", f"input_ids={batch}x{length}", "--threads", o.threads,
           "--precision", o.precision]
    for mode in o.modes.split(","):
        yield [o.python, o.tools / "pytorch_step.py", *shape, "--mode", mode]
    yield [o.python, o.tools / "jax_step.py", *shape]


def processor_seconds():
    """Of all processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_one(o, command):
    begin = processor_seconds()
    result, = lines_of(command + ["--steps", o.steps])
    if o.processor_time:
        middle = processor_seconds()
        lines_of(command + ["--steps", 1])
        result["seconds"] = (2 * middle - begin - processor_seconds()) / (o.steps - 1)
    return result


def measure(o, shape):
    """One round: {mode: result}."""
    batch, length = shape.split("x")
    results = {}
    for command in contenders(o, batch, length):
        result = run_one(o, command)
        results[result["mode"]] = result
        print(f"{shape:8} {result['mode']:8} {result['seconds']:8.3f} s {result['peak_bytes'] / 1e9:6.2f} GB "
              f"(load {os.getloadavg()[0]:.1f})", flush=True)
    return results


def compile_seconds(result):
    """Ours is a command; theirs is what the first step takes longer than the others."""
    return result.get("compile_seconds", result["first_step_seconds"] - result["seconds"])


def table(o, shape, rounds):
    def median(mode, value):
        return statistics.median(value(results[mode]) for results in rounds)

    def ratio(value):
        """Within a round, so that both have the same company; then the median."""
        return statistics.median(min(value(r[m]) for m in r if m != "kedge") / value(r["kedge"]) for r in rounds)

    seconds = "processor seconds" if o.processor_time else "seconds"
    print(f"\n| {shape} | {seconds} a step | peak GB | compile seconds |\n|---|---|---|---|")
    for mode in rounds[0]:
        print(f"| {mode} | {median(mode, lambda r: r['seconds']):.3f} | {median(mode, lambda r: r['peak_bytes']) / 1e9:.2f} "
              f"| {median(mode, compile_seconds):.1f} |")
    print(f"| better of the others / kedge | {ratio(lambda r: r['seconds']):.2f} | {ratio(lambda r: r['peak_bytes']):.2f} | |")


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kedge", type=pathlib.Path, default=root / "build/release/bin/kedge-bench")
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--tools", type=pathlib.Path, default=root.parent / "shared/tools")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--shapes", default="4x64,1x1024")
    for name, value in dict(rounds=3, steps=5, threads=2).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--modes", default="eager,compile")
    parser.add_argument("--precision", default="fp32", choices=["fp32", "bf16"])
    parser.add_argument("--processor-time", action="store_true")
    o = parser.parse_args()
    if o.processor_time:
        o.threads = 1
        o.steps = max(2, o.steps)
    if not o.model.exists():
        subprocess.run([o.python, root / "scripts/make/make_gpt2.py", o.model], check=True, stdout=subprocess.DEVNULL)
    shapes, rounds = o.shapes.split(","), []
    for number in range(o.rounds):
        print(f"round {number + 1} of {o.rounds}", flush=True)
        rounds.append({shape: measure(o, shape) for shape in shapes})
    for shape in shapes:
        table(o, shape, [results[shape] for results in rounds])


if __name__ == "__main__":
    main()
