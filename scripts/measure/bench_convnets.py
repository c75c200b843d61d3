#!/usr/bin/env python3
"""Training steps of convolutional networks beside PyTorch's, one after the other, round by round.

bench_convnets.py [--models mobilenet-v2,resnet-50,efficientnet,convnext-tiny,unet] [--folder DIR] [--python python3]
                  [--batch 4 --size 224 --rounds 3 --steps 5 --threads 2] [--precision fp32]
                  [--modes eager,eager-last,compile,compile-last] [--kedge build/release/bin/kedge-bench]
                  [--processor-time]

The models are those of scripts/make/make_convnets.py, which is asked for the ONNX files that DIR lacks (default: a folder that
goes away). --python: an interpreter with torch, onnx and onnxscript. SGD with momentum 0.9, cross-entropy, random
images; bf16 under autocast in PyTorch. vit-b-16 is there, too. PyTorch runs eagerly and compiled, with contiguous images and in channels_last (the modes ending in -last). Each
contender is a process of its own. Prints the least and the median seconds of a step over all rounds, growth of the
resident set over what is resident when the libraries are loaded, and the ratio of the best of PyTorch's to ours: above 1
we are faster, or smaller.

--processor-time, for a busy machine: one thread, and processor seconds a step, ours from the difference of a run with --steps
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
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def pytorch(o):
    """One contender, in a process of its own: prints its result."""
    import torch
    import torch.nn.functional as F

    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "make"))
    import make_convnets

    torch.set_num_threads(o.threads)
    start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    classes, way = make_convnets.classes_of(o.pytorch), o.mode.split("-")[0]
    model = make_convnets.make(o.pytorch, classes)
    pixels = torch.randn(o.batch, 3, o.size, o.size)
    if o.mode.endswith("-last"):
        model, pixels = model.to(memory_format=torch.channels_last), pixels.to(memory_format=torch.channels_last)
    step_model = torch.compile(model) if way == "compile" else model
    labels = torch.randint(classes, (o.batch, *step_model(pixels).shape[2:]))
    optimizer, seconds = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), []
    now = time.process_time if o.processor_time else time.perf_counter
    for _ in range(o.steps + 3):
        begin = now()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=o.precision == "bf16"):
            loss = F.cross_entropy(step_model(pixels), labels)
        loss.backward()
        optimizer.step()
        loss.item()
        seconds.append(now() - begin)
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) * 1024
    print(json.dumps({"mode": o.mode, "best_seconds": min(seconds[3:]), "seconds": statistics.median(seconds[3:]),
                      "peak_bytes": peak}))


def contenders(o, name, path):
    common = ["--threads", o.threads, "--precision", o.precision]
    shape = f"pixels={o.batch}x3x{o.size}x{o.size}"
    yield "kedge", [o.kedge, "step", "--model", path, "--shape", shape, "--vocabulary", 21, *common]
    for mode in o.modes.split(","):
        yield mode, [o.python, __file__, "--pytorch", name, "--mode", mode, "--batch", o.batch, "--size", o.size,
                     *common] + ["--processor-time"] * o.processor_time


def processor_seconds():
    """Of all processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_one(o, mode, command):
    def run(steps):
        ours = ["--", "--train-mode", "--optimizer", "sgd", "--momentum", "0.9"] if mode == "kedge" else []
        return result_of([*command, "--steps", steps, *ours])

    begin = processor_seconds()
    result = run(o.steps)
    if o.processor_time and mode == "kedge":
        middle = processor_seconds()
        run(1)
        result["seconds"] = result["best_seconds"] = (2 * middle - begin - processor_seconds()) / (o.steps - 1)
    return result


def result_of(command):
    run = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    found = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    if run.returncode or len(found) != 1:
        sys.exit(f"{' '.join(map(str, command))}: ended with {run.returncode} and {len(found)} results")
    return found[0]


def measure(o, name, path):
    """All rounds: {mode: [result]}."""
    results = {}
    for number in range(o.rounds):
        for mode, command in contenders(o, name, path):
            result = run_one(o, mode, command)
            results.setdefault(mode, []).append(result)
            print(f"{name} round {number + 1} {mode:13} {result['best_seconds']:8.3f} s {result['peak_bytes'] / 1e9:6.2f} GB "
                  f"(load {os.getloadavg()[0]:.1f})", flush=True)
    return results


def table(o, name, results):
    def best(mode):
        return min(r["best_seconds"] for r in results[mode])

    def peak(mode):
        return min(r["peak_bytes"] for r in results[mode])

    print(f"\n| {name}, {o.batch} images | least {'processor ' * o.processor_time}seconds | median | samples/s | peak GB |\n|---|---|---|---|---|")
    for mode, rounds in results.items():
        median = statistics.median(r["seconds"] for r in rounds)
        print(f"| {mode} | {best(mode):.3f} | {median:.3f} | {o.batch / best(mode):.1f} | {peak(mode) / 1e9:.2f} |")
    others = [mode for mode in results if mode != "kedge"]
    print(f"| best of the others / kedge | {min(map(best, others)) / best('kedge'):.2f} | | "
          f"| {min(map(peak, others)) / peak('kedge'):.2f} |\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="mobilenet-v2,resnet-50,efficientnet,convnext-tiny,unet")
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--kedge", type=pathlib.Path, default=ROOT / "build/release/bin/kedge-bench")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--modes", default="eager,eager-last,compile,compile-last")
    parser.add_argument("--pytorch", help=argparse.SUPPRESS)
    parser.add_argument("--mode", help=argparse.SUPPRESS)
    for name, value in dict(batch=4, size=224, rounds=3, steps=5, threads=2).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--precision", default="fp32", choices=["fp32", "bf16"])
    parser.add_argument("--processor-time", action="store_true")
    o = parser.parse_args()
    if o.processor_time:
        o.threads, o.steps = 1, max(2, o.steps)
    if o.pytorch:
        return pytorch(o)
    with tempfile.TemporaryDirectory() as scratch:
        folder = o.folder or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name in o.models.split(","):
            path = folder / f"{name}.onnx"
            if not path.exists():
                subprocess.run([o.python, ROOT / "scripts/make/make_convnets.py", name, path, "--size", str(o.size)],
                               check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            table(o, name, measure(o, name, path))


if __name__ == "__main__":
    main()
