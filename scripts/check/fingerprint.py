#!/usr/bin/env python3
"""Hashes of what golden models compile to: shows that a change of the compiler's code changes no program and no plan.

    scripts/check/fingerprint.py BUILD -o before.json [--shared ../shared] [--only mlp]
    scripts/check/fingerprint.py --compare before.json after.json

A row a run, target (CPU, CUDA) and memory (no budget, half of the activations): the plan as JSON and the object with
kernels, launch table and plan that a program is linked from. The runtime is not in it. By default the first run of each
model with a budget; --all: every fp32 run, without a budget too, and the level-4 IR. Rows that only `before` has do not count.
"""
import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEMORY = {"free": [], "half": ["--memory-budget", "activations=50%"]}
TARGETS = {"cpu": ["--target", "cpu"], "cuda": ["--target", "cuda:sm_90"]}


def golden_models(shared, every_run):
    """(row, model file, compile options, memory options to try) of the golden models' fp32 runs."""
    own = sorted((ROOT / "test/golden").glob("*/trace.json"))
    beside = sorted((shared / "models").glob("*/trace.json")) if shared else []
    for path in own + beside:
        trace = json.loads(path.read_text())
        runs = trace.get("runs", {"run": trace})
        fp32 = [(name, run) for name, run in runs.items() if "--precision" not in run["compile"]]
        for name, run in fp32:
            memory = ["free"] if name != fp32[0][0] else list(MEMORY) if every_run else ["half"]
            if name != fp32[0][0] and not every_run:
                break
            yield f"{path.parent.name}/{name}", path.parent / run.get("model", "model.onnx"), run["compile"], memory


def sha(data):
    return hashlib.sha256(data).hexdigest()[:16]


def outcome(command, output=None):
    """Hash of what a command writes, or its exit code and last line: what fails has to fail alike."""
    done = subprocess.run(list(map(str, command)), capture_output=True, cwd=ROOT)
    if done.returncode != 0 and (output or done.returncode != 2):  # 2: a plan that does not fit
        return f"exit {done.returncode}: {done.stderr.decode(errors='replace').strip().splitlines()[-1:]}"
    return sha(output.read_bytes() if output else done.stdout + done.stderr)


def fingerprint(kedge, model, options, target, memory, with_ir):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        common = [model, *options, *TARGETS[target], *MEMORY[memory]]
        saved = ["--save-ir", folder, "--emit", "exec", "-o", out]
        ir = {"exec": outcome([kedge, "compile", *common, *saved], out.with_name("05-exec.mlir"))} if with_ir else {}
        return {"plan": outcome([kedge, "plan", *common, "--json"]),
                "object": outcome([kedge, "compile", *common, "--emit", "obj", "-o", out], out)} | ir


def compare(before, after):
    before, after = (json.loads(pathlib.Path(f).read_text()) for f in (before, after))
    differences = [f"{row} {part}: {before.get(row, {}).get(part)} -> {after[row][part]}"
                   for row in sorted(after) for part in after[row] if before.get(row, {}).get(part) != after[row][part]]
    print("\n".join(differences) or f"{len(after)} rows, all the same")
    return bool(differences) or not after


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", help="build folder, like build/release")
    parser.add_argument("-o", dest="output", default="/dev/stdout")
    parser.add_argument("--shared", type=pathlib.Path, default=ROOT.parent / "shared")
    parser.add_argument("--only", help="this model alone")
    parser.add_argument("--all", action="store_true", help="every fp32 run, with and without a budget, and level-4 IR")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--compare", nargs=2, metavar="JSON")
    args = parser.parse_args()
    if args.compare:
        sys.exit(compare(*args.compare))
    kedge = pathlib.Path(args.build).resolve() / "bin/kedge"
    jobs = {}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, model, options, memories in golden_models(args.shared if args.shared.is_dir() else None, args.all):
            if args.only is None or name.startswith(args.only):
                for target in TARGETS:
                    for memory in memories:
                        jobs[f"{name} {target} {memory}"] = pool.submit(fingerprint, kedge, model, options, target, memory,
                                                                                args.all)
        rows = {row: job.result() for row, job in jobs.items()}
    pathlib.Path(args.output).write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
