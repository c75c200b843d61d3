#!/usr/bin/env python3
"""Stages of a pipeline with all else that a run does, each a check of its own: stages.py GOLDEN TEMP [CHECK...].

GOLDEN holds the golden models. A check compares a mesh with one rank that has as many rows and micro-batches.
"""
import json
import pathlib
import struct
import subprocess
import sys

from others import LENGTH, check_output, expect_near, tensors
from meshes import near
from tensor import SGD, Model

STEPS = 6


def gpt(golden, temp, rows=4):
    temp.mkdir(exist_ok=True)
    return Model(golden / "gpt", temp, "--shape", f"input_ids={rows}x{LENGTH}", "--loss", "cross-entropy")


def convnet(golden, temp, rows):
    temp.mkdir(exist_ok=True)
    return Model(golden / "convnet", temp, "--shape", f"pixels={rows}x3x10x10", "--loss", "cross-entropy", "--train-mode")


def npy(path):
    raw = path.read_bytes()
    size = struct.unpack("<H", raw[8:10])[0]
    count = (len(raw) - 10 - size) // 4
    return struct.unpack(f"<{count}f", raw[10 + size:])


def goes_on_everywhere(golden, temp):
    """A checkpoint of stages goes on on one rank, on rows of their own and on a cut of tensors, and back."""
    whole, half = gpt(golden, temp), gpt(golden, temp / "half", 2)
    meshes = {"": whole, "pipeline=2": whole, "pipeline=4": whole, "data=2": half, "pipeline=2,data=2": half, "tensor=2": whole}
    options = ["--optimizer", "adamw", "--lr", "0.003", "--accumulate", "2"]
    log, weights = whole.run("", *options)
    for mesh in ("", "pipeline=2", "pipeline=2,data=2"):
        stages = ["--zero", "1"] if "data" in mesh else []
        meshes[mesh].run(mesh, *options, *stages, more=["--checkpoint-dir", temp / f"ck-{mesh}"], steps=3)
        for other in meshes if mesh else ["pipeline=2", "pipeline=4"]:
            stages = ["--zero", "3"] if "data" in other else []
            found, own = meshes[other].run(other, *options, *stages, more=["--resume", temp / f"ck-{mesh}"])
            near(found, log[3:])
            expect_near(own, weights, 1e-3)  # AdamW amplifies what is next to nothing


def exports_from_any_stage(golden, temp):
    """The ONNX file, safetensors and the weights that a run starts from are whole."""
    model = gpt(golden, temp)
    options = [*SGD, "--accumulate", "2"]
    _, weights = model.run("", *options)
    _, own = model.run("pipeline=2", *options, more=["--export-onnx", temp / "cut.onnx"])
    expect_near(own, weights)
    saved = temp / "weights.safetensors"
    saved.rename(temp / "start.safetensors")
    start = ["--weights", temp / "start.safetensors"]
    log, _ = model.run("", *options, more=start)
    near(model.run("pipeline=2", *options, more=start)[0], log)
    check_output("kedge", "compile", temp / "cut.onnx", *model.options, *options, "-o", temp / "again")
    again = Model(golden / "gpt", temp, *model.options)
    again.programs[("", *options)] = temp / "again"
    near(again.run("", *options)[0], log)
    made = ["--init", "weight=normal:0.02", "--seed", "3"]
    near(model.run("pipeline=4", *options, more=made)[0], model.run("", *options, more=made)[0])


def evaluates(golden, temp):
    """The pipeline drains: loss and metrics of rows that are no whole batch, predictions, the best checkpoint."""
    whole, half = gpt(golden, temp), gpt(golden, temp / "half", 2)
    files = {name: file for name, file in whole.data.items()}
    data = [word for name, file in files.items() for word in ("--eval-data", f"{name}={file}")]
    found = {}
    for mesh, model in (("", whole), ("pipeline=2", whole), ("pipeline=4", whole), ("pipeline=2,data=2", half)):
        output = temp / f"logits-{mesh}.npy"
        name = json.loads((golden / "gpt" / "trace.json").read_text()).get("logits", "logits")
        model.run(mesh, *SGD, "--accumulate", "2", more=[*data, "--eval-every", "2", "--metric", "accuracy,perplexity,f1", "--predict",
                                                         f"{name}={output}", "--keep-best", "loss", "--checkpoint-dir", temp / f"ck-{mesh}"])
        lines = [json.loads(line) for line in (model.temp / "log.jsonl").read_text().splitlines()]
        found[mesh] = [{key: value for key, value in line.items() if key.startswith("eval_")} for line in lines], npy(output)
    for mesh, (lines, logits) in found.items():
        for own, one in zip(lines, found[""][0], strict=True):
            assert own.keys() == one.keys(), (mesh, own, one)
            for key, value in one.items():
                assert abs(own[key] - value) <= 1e-4 * abs(value), (mesh, own, one)
        for own, one in zip(logits, found[""][1], strict=True):
            assert abs(own - one) <= 1e-4 * max(1, abs(one)), (mesh, own, one)


def beside_data(golden, temp):
    """Rows of their own along `data`, whose states ZeRO cuts, with clipping by one norm."""
    whole, half = gpt(golden, temp), gpt(golden, temp / "half", 2)
    options = [*SGD, "--clip-norm", "0.3", "--accumulate", "2"]
    log, weights = whole.run("", *options)
    for stage in range(4):
        found, own = half.run("pipeline=2,data=2", *options, "--zero", stage, "--bucket-bytes", "16KiB")
        near(found, log)
        expect_near(own, weights)


def beside_others(golden, temp):
    """Copies along `replica`, cuts along `tensor`, and three axes on eight ranks."""
    whole, half = gpt(golden, temp), gpt(golden, temp / "half", 2)
    options = [*SGD, "--clip-norm", "0.3", "--accumulate", "2"]
    log, weights = whole.run("", *options)
    for mesh, model, stages in (("pipeline=2,tensor=2", whole, []), ("pipeline=2,replica=2", half, []),
                                ("pipeline=2,data=2,tensor=2", half, ["--zero", "3"])):
        found, own = model.run(mesh, *options, *stages)
        near(found, log)
        expect_near(own, weights)


def scales_with_one_flag_15(golden, temp):
    """What overflows on one stage is skipped on all of them (Megatron-Bridge#5591)."""
    whole, half = gpt(golden, temp), gpt(golden, temp / "half", 2)
    options = [*SGD, "--accumulate", "2", "--precision", "fp16", "--loss-scale-init", "4194304", "--loss-scale-window", "2"]
    log, _ = whole.run("", *options)
    assert any(line["skipped"] for line in log) and not all(line["skipped"] for line in log), log
    near(whole.run("pipeline=2", *options)[0], log, 4e-3, 3e-2)
    near(half.run("pipeline=2,data=2", *options, "--zero", "2")[0], log, 4e-3, 3e-2)


def trains_adapters(golden, temp):
    """Low-rank factors and weights in four bits, merged by the export."""
    whole, half = gpt(golden, temp), gpt(golden, temp / "half", 2)
    options = ["--lora", "qkv", "--lora-rank", "2", "--quantize", "up=nf4", "--accumulate", "2"]
    log, weights = whole.run("", *options)
    for mesh, model in (("pipeline=2", whole), ("pipeline=2,data=2", half)):
        found, own = model.run(mesh, *options, more=["--checkpoint-dir", temp / f"ck-{mesh}"])
        near(found, log)
        expect_near(own, weights, 1e-3)


def normalises_micro_batches(golden, temp):
    """BatchNormalization: each micro-batch of a rank has its own statistics, as without stages."""
    model = convnet(golden, temp, 3)
    options = [*SGD, "--accumulate", "2"]
    near(model.run("pipeline=2", *options)[0], model.run("", *options)[0])
    log, weights = model.run("data=2", *options)
    found, own = model.run("pipeline=2,data=2", *options)
    near(found, log)
    expect_near(own, weights)


def weighs_tokens_3(golden, temp):
    """Micro-batches and ranks have different numbers of tokens that count (torchtitan#2972, #2206)."""
    whole, half = gpt(golden, temp), gpt(golden, temp / "half", 2)
    raw = (golden / "gpt" / "labels.npy").read_bytes()
    start = 10 + struct.unpack("<H", raw[8:10])[0]
    labels = list(struct.unpack(f"<{(len(raw) - start) // 8}q", raw[start:]))
    for row in range(len(labels) // LENGTH):
        for column in range((row * 5) % LENGTH):
            labels[row * LENGTH + column] = -100
    masked = temp / "labels.npy"
    masked.write_bytes(raw[:start] + struct.pack(f"<{len(labels)}q", *labels))
    for model in (whole, half):
        model.data["labels"] = masked
    options = [*SGD, "--clip-norm", "0.3", "--accumulate", "4"]
    log, weights = whole.run("", *options)
    for mesh, model in (("pipeline=2", whole), ("pipeline=4", whole), ("pipeline=2,data=2", half)):
        found, own = model.run(mesh, *options)
        near(found, log)
        expect_near(own, weights)


def cuts_in_front_of_heads(golden, temp):
    """More stages than blocks, logits in chunks: the rows that the chunks read cross from one stage to the next."""
    model = gpt(golden, temp)
    options = [*SGD, "--accumulate", "2", "--logits-chunk", "2KiB"]
    log, weights = model.run("", *options)
    for mesh in ("pipeline=4", "pipeline=6"):
        found, own = model.run(mesh, *options)
        near(found, log)
        expect_near(own, weights)


def fits_budgets(golden, temp):
    """A budget that one rank cannot keep: each stage computes again what it asks for, and every rank holds no more."""
    model = gpt(golden, temp)
    options = ["--optimizer", "adamw", "--lr", "0.003", "--accumulate", "4"]
    least = subprocess.run(["kedge", "plan", golden / "gpt" / "model.onnx", *model.options, *options, "--memory-budget", "4096", "--json"],
                           capture_output=True, text=True)
    budget = json.loads(least.stdout)["smallest_feasible_bytes"] * 24 // 25  # other machines' kernels have other workspaces
    one = subprocess.run(["kedge", "compile", golden / "gpt" / "model.onnx", *model.options, *options, "--memory-budget", str(budget),
                          "-o", temp / "one"], capture_output=True, text=True)
    assert one.returncode == 2 and "smallest feasible budget" in one.stderr, one.stderr
    log, weights = model.run("", *options)
    for more in (["--recompute", "full"], ["--memory-budget", str(budget)], ["--offload", "optimizer"]):
        report = temp / "memory.json"
        found, own = model.run("pipeline=4", *options, *more, more=["--memory-report", report])
        near(found, log)
        expect_near(own, weights, 1e-3)  # AdamW amplifies what is next to nothing
        for rank in range(4):
            measured = json.loads((report if rank == 0 else report.with_name(f"memory.rank-{rank}.json")).read_text())
            assert "--memory-budget" not in more or measured["arena_bytes"] <= budget, measured["arena_bytes"]


def holds_what_was_planned(golden, temp):
    """Every rank's arena is that of its row in the plan."""
    model = gpt(golden, temp)
    options = ["--optimizer", "adamw", "--accumulate", "4"]
    plan = json.loads(check_output("kedge", "plan", golden / "gpt" / "model.onnx", *model.options, *options, "--mesh", "pipeline=4", "--json"))
    report = temp / "memory.json"
    model.run("pipeline=4", *options, more=["--memory-report", report], steps=3)
    assert [row["rank"] for row in plan["ranks"]] == [0, 1, 2, 3], plan["ranks"]
    for row in plan["ranks"]:
        name = report if row["rank"] == 0 else report.with_name(f"memory.rank-{row['rank']}.json")
        assert json.loads(name.read_text())["arena_bytes"] == row["arena_bytes"], row


def same_bits(golden, temp):
    """Logs and weights of stages, of rows of their own beside them, of every order and of several micro-batches a part, to the bit."""
    models = {rows: gpt(golden, temp / f"rows-{rows}", rows) for rows in (2, 4)}
    clip = ["--same-bits", "4", "--clip-norm", "0.7", *SGD]
    for options in ([], ["--precision", "fp16", "--loss-scale-init", "4194304"], ["--accumulate", "3"]):
        wanted = models[4].run("", *clip, *options)
        for mesh, rows, more in (("pipeline=2", 4, ["--pipeline-schedule", "interleaved=2"]),
                                 ("pipeline=2,data=2", 2, ["--zero", "2", "--pipeline-schedule", "zero-bubble"])):
            assert models[rows].run(mesh, *clip, *options, *more) == wanted, (mesh, options)


def dumps_gradients(golden, temp):
    """Of the parameters of all stages, whole, unscaled and per item, whatever ZeRO cuts."""
    whole, half = gpt(golden, temp), gpt(golden, temp / "half", 2)
    file = temp / "gradients.safetensors"
    more = ["--dump-gradients", file, "--dump-step", "1"]
    for options in ([], ["--precision", "fp16"]):
        options = [*SGD, "--accumulate", "2", *options]
        whole.run("", *options, more=more, steps=2)
        wanted = tensors(file)
        for mesh, model, zero in (("pipeline=2", whole, []), ("pipeline=2,data=2", half, ["--zero", "0"]), ("pipeline=2,data=2", half, ["--zero", "2"])):
            file.unlink()
            model.run(mesh, *options, *zero, more=more, steps=2)
            expect_near(tensors(file), wanted, 3e-3 if "fp16" in options else 1e-5)


def leaves_steps_out_together(golden, temp):
    """A gradient that is not finite on one stage: all stages leave the step out, or all end before it changes anything."""
    whole, half = gpt(golden, temp), gpt(golden, temp / "half", 2)
    options = [*SGD, "--accumulate", "2"]
    skips = ["--inject-gradient", "2=nan", "--on-nan", "continue"]
    log, weights = whole.run("", *options, more=skips)
    assert [line["skipped"] for line in log] == [step == 2 for step in range(STEPS)], log
    for mesh, model, more in (("pipeline=2", whole, []), ("pipeline=2,data=2", half, ["--zero", "3"]),
                              ("pipeline=4", whole, ["--pipeline-schedule", "gpipe"])):
        found, own = model.run(mesh, *options, *more, more=skips)
        near([line for line in found if not line["skipped"]], [line for line in log if not line["skipped"]])
        assert [line["skipped"] for line in found] == [line["skipped"] for line in log], found
        expect_near(own, weights)
    data = [word for name, file in whole.data.items() for word in ("--data", f"{name}={file}")]
    done = subprocess.run([*map(str, ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", 2, whole.compile("pipeline=2", *options), *data, "--steps",
                                      STEPS, "--threads", 1, "--inject-gradient", "2=nan"])], capture_output=True, text=True)
    said = "the gradients of step 2 are not finite (grad_norm nan): stages do not run again to find the first such value"
    assert done.returncode == 1 and done.stderr.count("kedge: error") == 1 and said in done.stderr, done.stderr


CHECKS = [goes_on_everywhere, exports_from_any_stage, evaluates, beside_data, beside_others, scales_with_one_flag_15, trains_adapters,
          normalises_micro_batches, weighs_tokens_3, fits_budgets, holds_what_was_planned, cuts_in_front_of_heads, same_bits, dumps_gradients, leaves_steps_out_together]


def main():
    golden, temp = map(pathlib.Path, sys.argv[1:3])
    wanted = sys.argv[3:] or [check.__name__ for check in CHECKS]
    for check in CHECKS:
        if check.__name__ in wanted:
            work = temp / check.__name__
            subprocess.run(["rm", "-rf", work], check=True)
            work.mkdir(parents=True)
            check(golden, work)
            print(f"{check.__name__}: as one rank", flush=True)


if __name__ == "__main__":
    main()
