#!/usr/bin/env python3
"""Weights of schedule-free AdamW: schedule_free.py GOLDEN TEMP RANKS [OPTION...]

Trains the golden model gpt. Evaluations and exports are of the averaged weights: the last evaluation is the loss of a program that starts from the
exported ones. Evaluating changes no step; a run that is resumed half-way has the bits of one that never stopped; a checkpoint exports the same average.
"""
import json
import os
import shutil
import subprocess
import sys

STEPS = 6


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def main():
    golden, temp, ranks, *options = sys.argv[1:]
    shutil.rmtree(temp, ignore_errors=True)
    os.makedirs(temp)
    program = f"{temp}/program"
    compile_ = ["kedge", "compile", f"{golden}/model.onnx", "--loss", "cross-entropy", "--shape", f"input_ids={4 // int(ranks)}x24", "--ranks",
                ranks, "-o", program, *options]
    launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", ranks] if ranks != "1" else []
    both = [f"input_ids={golden}/input_ids.npy", f"labels={golden}/labels.npy"]
    data = [word for pair in both for word in ("--data", pair)] + ["--lr", "1e-2", "--warmup", "2", "--threads", "1"]
    evaluated = [word for pair in both for word in ("--eval-data", pair)]
    run(*compile_, "--optimizer", "schedule-free-adamw")

    def train(name, folder, steps, *more):
        run(*launcher, program, *data, "--steps", str(steps), "--checkpoint-dir", f"{temp}/{folder}", "--export-safetensors",
            f"{temp}/{name}.safetensors", "--log", f"{temp}/{name}.jsonl", *more)
        return [json.loads(line) for line in open(f"{temp}/{name}.jsonl")]

    whole = train("whole", "whole", STEPS, *evaluated, "--eval-every", "1")
    plain = train("plain", "plain", STEPS)
    assert [line["loss"] for line in whole] == [line["loss"] for line in plain], "evaluating changes what is trained"
    train("half", "halves", STEPS // 2)
    rest = train("rest", "halves", STEPS, "--resume")
    assert [line["loss"] for line in rest] == [line["loss"] for line in whole[STEPS // 2:]], "resumed: other losses"
    train("again", "whole", STEPS, "--resume")
    found = [open(f"{temp}/{name}.safetensors", "rb").read() for name in ("whole", "plain", "rest", "again")]
    assert len(set(found)) == 1, "other averages"

    run(*compile_)
    said = run(*launcher, program, *evaluated, "--weights", f"{temp}/whole.safetensors", "--steps", "0", "--threads", "1")
    loss = float(next(line for line in said.splitlines() if line.startswith("eval loss")).split()[-1])
    assert loss == whole[-1]["eval_loss"], (loss, whole[-1]["eval_loss"])
    assert whole[-1]["eval_loss"] < whole[0]["eval_loss"]
    print("schedule-free weights evaluated, exported, resumed")


main()
