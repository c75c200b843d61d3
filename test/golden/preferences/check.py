#!/usr/bin/env python3
"""Losses over rows of tokens on the golden model gpt: check.py OUT [sweep].

Quick: a reference by --predict, a few steps of dpo as in PyTorch (traces.json), and adapters, whose reference is the model with them
off: as one that is stored, to the bit, in the memory that was planned. `sweep`: all losses over all steps, on two ranks, in
micro-batches, in bf16, with beta given at run time, with logits in chunks. Needs numpy and onnx.
"""
import json
import pathlib
import subprocess
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent
GPT = HERE.parent / "gpt"
TRACES = json.loads((HERE / "traces.json").read_text())
LORA = ["--lora", "qkv|proj", "--lora-rank", "4"]

out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)


def done(*words, expect=0):
    finished = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert finished.returncode == expect, (words, finished.stdout, finished.stderr)
    return finished


def compiled(loss, *options, name="program"):
    done("kedge", "compile", GPT / "model.onnx", *TRACES["compile"], "--loss", loss, *options, "-o", out / name)
    return out / name


def write_inputs():
    """The files of all inputs but what a reference says."""
    stored = numpy.load(HERE / "inputs.npz")
    for name in stored.files:
        numpy.save(out / f"{name}.npy", stored[name])
    numpy.save(out / "input_ids.npy", numpy.load(GPT / "input_ids.npy"))


def given(names, flag="--data"):
    return [word for name in ("input_ids", "labels", "loss_mask", *names) for word in (flag, f"{name}={out / name}.npy")]


def predict(program, *outputs):
    files = [word for name in outputs for word in ("--predict", f"{name}={out / name}.npy")]
    done(program, "--steps", "0", *given([], "--eval-data"), *files)
    return [numpy.load(out / f"{name}.npy") for name in outputs]


def steps(program, inputs, count, *options, ranks=1):
    """The lines of the log."""
    log = out / "log.jsonl"
    launcher = [] if ranks == 1 else ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks)]
    done(*launcher, program, *given(inputs), *TRACES["run"], "--steps", count, "--log", log, *options)
    return [json.loads(line) for line in log.read_text().splitlines()]


def far(lines, wanted, relative):
    """The first number that is not as wanted; beside 0 as beside 1."""
    for step, (line, said) in enumerate(zip(lines, wanted, strict=True)):
        for key, value in said.items():
            if not abs(line[key] - value) <= relative * max(1, abs(value)) * (10 if key == "grad_norm" else 1):
                return f"step {step}: {key} {line[key]}, expected {value}"
    return None


def check(name, lines, wanted, relative=2e-5):
    wrong = far(lines, wanted, relative)
    assert not wrong, (name, wrong)


def stored_reference(program):
    """Files of what the model says at first, as PyTorch."""
    rows, tokens = predict(program, "logps", "token_logps")
    assert numpy.max(numpy.abs(rows - TRACES["logps"])) <= 2e-5 * numpy.max(numpy.abs(rows)), "logps"
    assert numpy.allclose(tokens.sum(1), rows, rtol=1e-6)
    numpy.save(out / "ref_logps.npy", rows)
    return rows, tokens


def measured(program, inputs, name):
    report = out / f"{name}.json"
    steps(program, inputs, 2, "--memory-report", report)
    return json.loads(report.read_text())


def planned(loss, *options):
    return json.loads(done("kedge", "plan", GPT / "model.onnx", *TRACES["compile"], "--loss", loss, *options, "--json").stdout)


def both_references(*options):
    """The log where the reference is the model with adapters off is that of a stored one."""
    computed, stored = compiled("dpo", *LORA, *options, name="computed"), compiled("dpo:stored=1", *LORA, *options, name="stored")
    numpy.save(out / "ref_logps.npy", predict(stored, "logps")[0])
    keys = ("loss", "grad_norm", "margin", "accuracy")
    logs = [[[line[key] for key in keys] for line in steps(*which, 6)] for which in ((computed, []), (stored, ["ref_logps"]))]
    assert logs[0] == logs[1], logs
    assert logs[0][0][2] == 0 and logs[0][-1][0] != logs[0][0][0], logs[0]
    return computed


def quick():
    write_inputs()
    program = compiled("dpo")
    stored_reference(program)
    check("dpo", steps(program, ["ref_logps"], 4), TRACES["runs"]["dpo"]["steps"][:4])
    print("dpo: 4 steps as in PyTorch, from a reference by --predict")
    computed = both_references()
    plan = planned("dpo", *LORA)
    report = measured(computed, [], "memory")
    same = [key for key in ("arena_bytes", "state_bytes", "peak_breakdown") if plan[key] == report[key]]
    assert len(same) == 3, (plan, report)
    alone = planned("cross-entropy", *LORA)["state_bytes"]
    assert plan["state_bytes"] == alone, (plan["state_bytes"], alone)
    print("adapters: a reference with them off is one that is stored, to the bit; weights once, bytes as planned")


def sweep():
    write_inputs()
    rows, tokens = stored_reference(compiled("dpo"))
    numpy.save(out / "old_logps.npy", tokens + numpy.load(out / "noise.npy"))
    for options in (["--precision", "bf16"], ["--precision", "fp16"], ["--quantize", "qkv=nf4"], ["--quantize", "qkv=nf4", "--precision", "bf16"]):
        both_references(*options)
        print("adapters:", *options, "a reference with them off is one that is stored, to the bit")
    for loss, run in TRACES["runs"].items():
        byRow = "ref_logps" in run["inputs"] and "old_logps" not in run["inputs"]
        numpy.save(out / "ref_logps.npy", rows if byRow else tokens)
        variants(loss, run)


def variants(loss, run):
    kind, inputs, wanted = loss.split(":")[0], run["inputs"], run["steps"]
    few = wanted[:6]
    check(loss, steps(compiled(loss), inputs, len(wanted)), wanted)
    print(f"{kind}: {len(wanted)} steps as in PyTorch")
    half = ["--shape", "input_ids=2x24"]
    if kind != "kto":  # a batch of two rows has no mismatched one
        check(loss, steps(compiled(loss, *half, "--ranks", "2"), inputs, 6, ranks=2), few)
        print("  on two ranks")
    if kind not in ("kto", "orpo"):
        check(loss, steps(compiled(loss, *half, "--accumulate", "2"), inputs, 6), few)
        print("  in two micro-batches")
    if kind == "orpo":  # each micro-batch has means of its own: the first step's is another one
        lines = steps(compiled(loss, *half, "--accumulate", "2"), inputs, 6)
        assert lines[-1]["loss"] < lines[0]["loss"], lines
    check(loss, steps(compiled(loss, "--logits-chunk", "4096"), inputs, 6), few)
    narrow = [{"loss": step["loss"]} for step in few]
    check(loss, steps(compiled(loss, "--precision", "bf16"), inputs, 6), narrow, 3e-2)
    print("  with logits in chunks, and in bf16")
    if kind in ("dpo", "ipo", "kto"):
        lines = steps(compiled(f"{kind}:beta=0.7"), inputs, 6, "--dpo-beta", "0.1")
        check(loss, lines, few)
        print("  with its beta given at run time")


if sys.argv[2:] == ["sweep"]:
    sweep()
else:
    quick()
