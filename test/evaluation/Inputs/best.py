"""--keep-best and --stop-after against the log of a run without them: best.py MODEL-FOLDER OUT.

A run that is stopped and resumed keeps the same best checkpoint and ends after the same step.
"""
import json
import pathlib
import subprocess
import sys

folder, out = map(pathlib.Path, sys.argv[1:3])
out.mkdir(parents=True, exist_ok=True)
program = out / "program"
subprocess.run(["kedge", "compile", folder / "model.onnx", "--shape", "input=8x10", "--loss", "mse", "--optimizer", "sgd",
                "--momentum", "0.9", "-o", program], check=True)
DATA = [word for name in ("input", "labels") for flag in ("--data", "--eval-data")
        for word in (flag, f"{name}={folder / name}.npy")]


def run(*words, fails=False):
    done = subprocess.run([program, *DATA, "--lr", "0.3", "--eval-every", "1", *map(str, words)], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr


def losses(log):
    return {line["step"] + 1: line["eval_loss"] for line in map(json.loads, (out / log).read_text().splitlines())}


def manifest(place):
    return json.loads((out / place / "manifest.json").read_text())


def expected(values, patience):
    """(best step, last step)"""
    best, since = None, 0
    for step, value in values.items():
        since = 0 if best is None or value < values[best] else since + 1
        best = step if since == 0 else best
        if since == patience:
            return best, step
    return best, max(values)


run("--steps", 30, "--log", out / "all.jsonl")
best, last = expected(losses("all.jsonl"), 3)
assert 2 < best < last < 30, (best, last)
keep = ["--checkpoint-dir", out / "ck", "--keep-best", "loss", "--stop-after", 3]
said = run("--steps", 30, "--log", out / "kept.jsonl", *keep)
assert f"after step {best}: the run ends" in said, said
assert max(losses("kept.jsonl")) == last
kept = manifest("ck/best")
assert kept["step"] == best and kept["best"]["value"] == losses("all.jsonl")[best], kept["best"]
assert manifest(f"ck/step-{last}")["best"] == {**kept["best"], "since": 3}

keep[1] = out / "again"
run("--steps", last - 2, "--log", out / "again.jsonl", *keep)
run("--steps", 30, "--log", out / "again.jsonl", *keep, "--resume")
assert losses("again.jsonl") == losses("kept.jsonl") and manifest("again/best")["best"] == kept["best"]
assert [p.name for p in sorted(out.glob("again/*")) if p.name.startswith(".tmp")] == []

for words, message in ((["--keep-best", "recall", "--checkpoint-dir", out / "no"], "--keep-best"),
                       (["--keep-best", "loss"], "--keep-best needs --checkpoint-dir"),
                       (["--stop-after", 0], "--stop-after")):
    assert message in run("--steps", 2, *words, fails=True), words
print(f"best after step {best}, ended after step {last}")
