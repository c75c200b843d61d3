#!/usr/bin/env python3
"""Every fp32 (or 16-bit) run of a golden model beside the repository, judged by its own checker:
check.py SHARED MODEL OUT PYTHON [RUN[:STEPS] | -RUN | 16-bit] [-- OPTION...].

Compiles, trains, compares log and exported parameters with PyTorch's trace (check_trace.py --onnx, run by PYTHON, which
has the package onnx), and the dumped gradients of step 0 with gradients.safetensors. Runs with dropout take 8 seeds. RUN: only
this run, or its first STEPS; -RUN: all but this one; 16-bit: all with --precision. Exported parameters are compared for fp32 alone. OPTIONs are more
of compile; --accumulate N among them cuts the rows of the first input into N micro-batches.
"""
import json
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import machine
from gradients import gradients_differ


def with_options(words, options):
    words = list(words)
    if "--accumulate" in options:
        at = words.index("--shape") + 1
        name, sizes = words[at].split("=")
        rows, *rest = sizes.split("x")
        words[at] = f"{name}={'x'.join([str(int(rows) // int(options[options.index('--accumulate') + 1])), *rest])}"
    return words + options


def shorten(run, steps):
    """Leaves the first steps, whose losses are judged as before."""
    for key in ("loss", "lr", "grad_norm", "loss_scale"):
        if key in run:
            run[key] = run[key][:steps]
    for key in ("parameter_norms", "buffer_norms"):
        run.pop(key, None)
    run["run"][run["run"].index("--steps") + 1] = str(steps)
    run["skipped"] = [step for step in run.get("skipped", []) if step < steps]
    run["tolerance"].pop("last_20_mean_relative", None)


def run_one(shared, model, name, trace, out, python, options):
    run, folder = trace["runs"][name], shared / "models" / model
    program = out / f"{name}-program"
    subprocess.run(["kedge", "compile", folder / run.get("model", "model.onnx"), *with_options(run["compile"], options), *machine.COMPILE, "-o", program],
                   check=True, stdout=subprocess.DEVNULL)
    data = [word for key, file in trace["data"].items() for word in ("--data", f"{key}={folder / file}")]
    dumps = (trace.get("gradients") or {}).get("run") == name
    dropout = "loss_std" in run
    logs, onnx = [], out / f"{name}.onnx"
    for seed in range(8) if dropout else [None]:
        log = out / f"{name}-{seed}.jsonl"
        command = [*machine.LAUNCHER, program, *data, *run["run"], "--log", log, "--export-onnx", onnx]
        command += ["--seed", str(seed)] if dropout else []
        command += ["--dump-gradients", out / "gradients.safetensors", "--dump-step", "0"] if dumps else []
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        logs.append(log)
    (out / "trace.json").write_text(json.dumps(trace))
    checker = [python, shared / "tools/check_trace.py", out / "trace.json", name, *logs]
    values = [] if dropout or "--precision" in run["compile"] else ["--onnx", onnx]
    wrong = subprocess.run(checker + values).returncode
    differences = list(gradients_differ(folder / "gradients.safetensors", out / "gradients.safetensors",
                                        trace["parameters_not_in_file_under_their_name"])) if dumps else []
    print("\n".join(differences), end="\n" if differences else "")
    print(f"{model} {name}: {'outside' if wrong or differences else 'within'} PyTorch's tolerance", flush=True)
    return bool(wrong or differences)


def main():
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = sys.argv[at + 1:]
    del sys.argv[at:]
    shared, model, out, python = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4]
    out.mkdir(parents=True, exist_ok=True)
    trace = json.loads((shared / "models" / model / "trace.json").read_text())
    chosen, _, steps = (sys.argv[5] if len(sys.argv) > 5 else "").partition(":")
    runs = [name for name, run in trace["runs"].items() if ("--precision" in run["compile"]) == (chosen == "16-bit")]
    if chosen in trace["runs"]:
        runs = [chosen]
        if steps:
            shorten(trace["runs"][chosen], int(steps))
    elif chosen not in ("", "16-bit"):
        assert chosen[0] == "-" and chosen[1:] in runs, f"{model} has no run {chosen}, found {list(trace['runs'])}"
        runs.remove(chosen[1:])
    failed = [name for name in runs if run_one(shared, model, name, trace, out, python, options)]
    print(f"{model}: {len(runs) - len(failed)} of {len(runs)} runs as in PyTorch")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
