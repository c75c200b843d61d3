#!/usr/bin/env python3
"""Stages of a pipeline train as one rank does: pipeline.py GOLDEN TEMP. Losses and norms equal one rank's with the same
micro-batches: the same sums in the same order."""
import json
import pathlib
import subprocess
import sys

GOLDEN, TEMP = (pathlib.Path(argument) for argument in sys.argv[1:3])


def run(command, code=0):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == code, (command, done.returncode, done.stdout, done.stderr)
    return done.stderr


def trained(model, name, ranks, options):
    """The steps of a golden model as its trace was made: by its flags."""
    folder = GOLDEN / model
    trace = json.loads((folder / "trace.json").read_text())
    run(["kedge", "compile", folder / "model.onnx", *trace["compile"], *options, "-o", TEMP / name])
    data = [word for key, file in trace["data"].items() for word in ("--data", f"{key}={folder / file}")]
    launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", ranks] if ranks > 1 else []
    log = TEMP / f"{name}.jsonl"
    log.unlink(missing_ok=True)
    run([*launcher, TEMP / name, *data, *trace["run"], "--threads", "1", "--log", log])
    return [json.loads(line) for line in log.read_text().splitlines()]


def check(name, model, stages, micro, options=(), more=()):
    common = ["--accumulate", micro, *options]
    one = trained(model, "one", 1, common)
    cut = trained(model, "cut", stages, [*common, "--mesh", f"pipeline={stages}", *more])
    assert len(one) == len(cut) >= 30
    for a, b in zip(one, cut):
        assert abs(a["loss"] - b["loss"]) <= 1e-5 * abs(a["loss"]), (name, a, b)
        assert abs(a["grad_norm"] - b["grad_norm"]) <= 1e-4 * a["grad_norm"], (name, a, b)
    print(f"{name}: as one rank")


def refused(name, words, *expected):
    text = run(["kedge", "compile", GOLDEN / "gpt" / "model.onnx", "--loss", "cross-entropy",
                "--shape", "input_ids=4x24",
                *words, "-o", TEMP / "refused"], code=1)
    for word in expected:
        assert word in text, (name, word, text)
    print(f"{name}: refused")


TEMP.mkdir(parents=True, exist_ok=True)
check("tied_weights_train_as_one_6", "gpt", 2, 4)
check("clips_by_one_norm_1", "gpt", 2, 2)
check("divides_once_2", "perceptron", 2, 4)
check("counts_items_once_3", "gpt", 2, 3, more=["--pipeline-schedule", "gpipe"])
check("steps_set_up_once_5", "convnet", 2, 2)
check("fewer_micro_batches_than_stages", "gpt", 4, 2)
check("one_micro_batch", "gpt", 2, 1)
check("sixteen_bits", "gpt", 2, 2, ["--precision", "bf16"])
refused("schedule", ["--mesh", "pipeline=2", "--pipeline-schedule", "wave"], "unknown", "1f1b")
# A batch of 8 in 3 micro-batches (pytorch#126600); 4 rows in 8 parts.
(TEMP / "batch.json").write_text('{"train_batch_size": 8, "gradient_accumulation_steps": 3}')
refused("batch_that_does_not_divide", ["--mesh", "pipeline=2", "--deepspeed-config", TEMP / "batch.json"],
        "'train_batch_size' is 8, expected a multiple of 3 (accumulation 3 x 1 ranks)")
refused("parts_that_do_not_divide", ["--mesh", "pipeline=2", "--same-bits", "8"], "4 rows of 'input_ids' do not share among 8 parts")
refused("without_stages", ["--stage", "h.0=0"], "--mesh pipeline=N")
