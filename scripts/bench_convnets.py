#!/usr/bin/env python3
"""Training steps of convolutional networks beside PyTorch's, one after the other, round by round.

bench_convnets.py [--models mobilenet-v2,resnet-50,efficientnet,convnext-tiny,unet] [--folder DIR] [--python python3]
                  [--batch 4 --size 224 --rounds 3 --steps 5 --threads 2]
                  [--modes eager,eager-last,compile,compile-last] [--kedge build/release/bin/kedge-bench]

The models are those of scripts/make_convnets.py, which is asked for the ONNX files that DIR lacks (default: a folder that
goes away). --python: an interpreter with torch, onnx and onnxscript. SGD with momentum 0.9, fp32, cross-entropy, random
images. PyTorch runs eagerly and compiled, with contiguous images and in channels_last (the modes ending in -last). Each
contender is a process of its own. Prints the least and the median seconds of a step over all rounds, growth of the
resident set over what is resident when the libraries are loaded, and the ratio of the best of PyTorch's to ours: above 1
we are faster, or smaller.
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

ROOT = pathlib.Path(__file__).resolve().parent.parent


def pytorch(o):
    """One contender, in a process of its own: prints its result."""
    import torch
    import torch.nn.functional as F

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
    for _ in range(o.steps + 3):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(step_model(pixels), labels)
        loss.backward()
        optimizer.step()
        loss.item()
        seconds.append(time.perf_counter() - begin)
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) * 1024
    print(json.dumps({"mode": o.mode, "best_seconds": min(seconds[3:]), "seconds": statistics.median(seconds[3:]),
                      "peak_bytes": peak}))


def contenders(o, name, path):
    common = ["--threads", o.threads, "--steps", o.steps]
    shape = f"pixels={o.batch}x3x{o.size}x{o.size}"
    yield "kedge", [o.kedge, "step", "--model", path, "--shape", shape, "--vocabulary", 21, *common, "--",
                    "--train-mode", "--optimizer", "sgd", "--momentum", "0.9"]
    for mode in o.modes.split(","):
        yield mode, [o.python, __file__, "--pytorch", name, "--mode", mode, "--batch", o.batch, "--size", o.size,
                     *common]


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
            result = result_of(command)
            results.setdefault(mode, []).append(result)
            print(f"{name} round {number + 1} {mode:13} {result['best_seconds']:8.3f} s {result['peak_bytes'] / 1e9:6.2f} GB "
                  f"(load {os.getloadavg()[0]:.1f})", flush=True)
    return results


def table(o, name, results):
    def best(mode):
        return min(r["best_seconds"] for r in results[mode])

    def peak(mode):
        return min(r["peak_bytes"] for r in results[mode])

    print(f"\n| {name}, {o.batch} images | least seconds | median | samples/s | peak GB |\n|---|---|---|---|---|")
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
    o = parser.parse_args()
    if o.pytorch:
        return pytorch(o)
    with tempfile.TemporaryDirectory() as scratch:
        folder = o.folder or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name in o.models.split(","):
            path = folder / f"{name}.onnx"
            if not path.exists():
                subprocess.run([o.python, ROOT / "scripts/make_convnets.py", name, path, "--size", str(o.size)],
                               check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            table(o, name, measure(o, name, path))


if __name__ == "__main__":
    main()
