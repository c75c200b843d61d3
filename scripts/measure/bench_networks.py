#!/usr/bin/env python3
"""Training steps of fourteen networks next to PyTorch's, one after the other, round by round.

bench_networks.py [--models lstm,dcgan,...] [--folder DIR] [--python python3] [--rounds 3 --steps 5]
                  [--threads 2] [--modes eager,compile] [--kedge build/release/bin/kedge-bench] [--also OTHER/kedge-bench]
                  [--processor-time]

The models are those of scripts/make/make_networks.py, which is asked for the ONNX files that DIR lacks (default: a folder that
goes away). --python: an interpreter with torch, onnx and onnxscript. fp32, AdamW (PyTorch's fused one), random inputs. Each
contender is a process of its own: torch.compile stops compiling after eight graphs in a process. --also: a second build
of ours, measured in the same rounds. A run of PyTorch that fails is named and left out. Prints per model the least and the
median seconds of a step over all rounds, the growth of the resident set, ours as a share of the processor's peak (by the
operators' definitions), and the least of PyTorch's divided by ours: above 1 we are faster. At the end a line per model.

--processor-time, for a busy machine: one thread, and processor seconds a step, ours from the difference of a program with --steps
and one with 1: their mean, where PyTorch's is the least, so many --steps are wanted. Waiting for a processor does not count then; what several threads gain or lose does not show.
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
MAKER = ROOT / "scripts/make/make_networks.py"
FOURTEEN = ("efficientnet", "unet", "densenet-121", "convnext-tiny", "mobilenet-v3", "mlp", "bert", "swin-tiny", "bigru", "vit-small",
            "wavenet", "recommender", "dcgan", "lstm")


def networks():
    sys.path.insert(0, str(MAKER.parent))
    import make_networks

    return make_networks


def loss_of(network, result):
    """A function of no arguments for labels that are drawn once."""
    import torch
    import torch.nn.functional as F

    if network.loss == "mse":
        labels = torch.randn(result().shape)
        return lambda: F.mse_loss(result(), labels)
    shape = result().shape
    if len(shape) == 4:  # the classes of each pixel
        labels = torch.randint(network.classes, (shape[0], *shape[2:]))
        return lambda: F.cross_entropy(result(), labels)
    labels = torch.randint(network.classes, shape[:-1])
    return lambda: F.cross_entropy(result().flatten(0, -2), labels.flatten())


def pytorch(o):
    """One contender, in a process of its own: prints its result."""
    import torch

    makers = networks()
    torch.set_num_threads(o.threads)
    start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    network, model = makers.NETWORKS[o.pytorch], makers.make(o.pytorch)
    inputs = network.example(network.batch)
    step_model = torch.compile(model) if o.mode == "compile" else model
    loss = loss_of(network, lambda: step_model(*inputs))
    optimizer, seconds = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True), []
    now = time.process_time if o.processor_time else time.perf_counter
    for _ in range(o.steps + 3):
        begin = now()
        optimizer.zero_grad(set_to_none=True)
        value = loss()
        value.backward()
        optimizer.step()
        value.item()
        seconds.append(now() - begin)
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) * 1024
    print(json.dumps({"best_seconds": min(seconds[3:]), "seconds": statistics.median(seconds[3:]), "peak_bytes": peak}))


def describe(o, name):
    """{loss, shapes, vocabulary}, from the interpreter that has torch."""
    return result_of([o.python, __file__, "--describe", name])


def ours(o, build, told, path):
    return [build, "step", "--model", path, "--loss", told["loss"], "--vocabulary", max(told["below"], told["classes"], 1),
            *[f"--shape={shape}" for shape in told["shapes"]], "--threads", o.threads, "--steps", o.steps, "--", "--train-mode"]


def contenders(o, name, path, told):
    yield "kedge", ours(o, o.kedge, told, path)
    if o.also:
        yield "kedge, also", ours(o, o.also, told, path)
    for mode in filter(None, o.modes.split(",")):
        yield mode, [o.python, __file__, "--pytorch", name, "--mode", mode, "--threads", o.threads, "--steps",
                     o.steps] + ["--processor-time"] * o.processor_time


def result_of(command, optional=False):
    run = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    found = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    if not run.returncode and len(found) == 1:
        return found[0]
    said = f"{' '.join(map(str, command))}: ended with {run.returncode} and {len(found)} results\n{run.stderr[-2000:]}"
    if not optional:
        sys.exit(said)
    print(said, file=sys.stderr)
    return None


def run_one(o, mode, command):
    ours = mode.startswith("kedge")
    result = result_of(command, optional=not ours)
    if o.processor_time and ours:
        one = result_of([1 if before == "--steps" else word for before, word in zip([None, *command], command)])
        difference = result["processor_seconds"] - one["processor_seconds"]  # of the programs alone, not of compiling
        result["seconds"] = result["best_seconds"] = difference / (o.steps - 1)
    return result


def measure(o, name, path):
    """All rounds: {mode: [result]}."""
    results, told, failed = {}, describe(o, name), set()
    for number in range(o.rounds):
        for mode, command in contenders(o, name, path, told):
            result = None if mode in failed else run_one(o, mode, command)
            if not result:
                failed.add(mode)
                continue
            results.setdefault(mode, []).append(result)
            print(f"{name} round {number + 1} {mode:12} {result['best_seconds']:8.4f} s {result['peak_bytes'] / 1e9:6.2f} GB "
                  f"(load {os.getloadavg()[0]:.1f})", flush=True)
    return results


def table(name, results):
    """Prints all contenders; returns the model's line among all models: {column: text}."""
    def best(mode):
        return min(r["best_seconds"] for r in results[mode])

    theirs = min((best(mode) for mode in results if not mode.startswith("kedge")), default=None)
    line = {"model": name, "seconds": f"{best('kedge'):.4f}"}
    print(f"\n| {name} | least seconds | median | peak GB | share of peak | best of PyTorch / this |\n|---|---|---|---|---|---|")
    for mode, rounds in results.items():
        median = statistics.median(r["seconds"] for r in rounds)
        peak = min(r["peak_bytes"] for r in rounds) / 1e9
        share = [r["flops"] / best(mode) / r["fp32_peak_flops_per_second"] for r in rounds if "flops" in r]
        ratio = f"{theirs / best(mode):.2f}" if theirs else ""
        print(f"| {mode} | {best(mode):.4f} | {median:.4f} | {peak:.2f} | {f'{min(share):.0%}' if share else ''} | {ratio} |")
        if mode == "kedge":
            line["share of peak"] = f"{min(share):.0%}"
        else:
            line[f"{mode} / kedge"] = f"{best(mode) / best('kedge'):.2f}"
    print(flush=True)
    return line


def summary(lines):
    columns = list(dict.fromkeys(column for line in lines for column in line))
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for line in lines:
        print("| " + " | ".join(line.get(column, "failed") for column in columns) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(FOURTEEN))
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--kedge", type=pathlib.Path, default=ROOT / "build/release/bin/kedge-bench")
    parser.add_argument("--also", type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--modes", default="eager,compile")
    parser.add_argument("--processor-time", action="store_true")
    for name, value in dict(rounds=3, steps=5, threads=2).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    for hidden in ("pytorch", "mode", "describe"):
        parser.add_argument(f"--{hidden}", help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.processor_time:
        o.threads, o.steps = 1, max(2, o.steps)
    if o.pytorch:
        return pytorch(o)
    if o.describe:
        network = networks().NETWORKS[o.describe]
        shapes = ["=".join((name, "x".join(map(str, (network.batch, *shape))))) for name, shape in network.inputs.items()]
        return print(json.dumps(dict(loss=network.loss, below=network.below, classes=network.classes, shapes=shapes)))
    with tempfile.TemporaryDirectory() as scratch:
        folder = o.folder or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        lines = []
        for name in o.models.split(","):
            path = folder / f"{name}.onnx"
            if not path.exists():
                subprocess.run([o.python, MAKER, name, path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            lines.append(table(name, measure(o, name, path)))
        summary(lines)


if __name__ == "__main__":
    main()
