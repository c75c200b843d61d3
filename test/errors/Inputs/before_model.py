"""Words that an option cannot mean are refused before the model is opened: before_model.py FOLDER. Each option that takes a value, by the
command's help, is tried with a wrong one and a model that does not exist: the error names the option, not the model."""
import pathlib
import re
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)

# Any text may be meant: names in the model, files to be written, text.
OPEN = {"--logits", "--labels", "--sample-weights", "--loss-output", "--configuration", "--save-ir", "--arena", "--launches", "--depfile", "--max-batch", "--max-seq",
        "--kernel-cache", "-o",
        "--value"}  # by the type of the input
# A wrong value, where a bracket that nothing closes is not one.
WRONG = {"--only": ["--emit", "ptx", "--only", "step"]}
# What an option needs beside it to mean anything.
BESIDE = {"--class-weights": [], "--pos-weight": ["--loss", "bce-with-logits"], "--muon": ["--optimizer", "muon"], "--algorithms": ["--target", "cuda"],
          "--precision-policy": ["--precision", "bf16"], "--host-memory-budget": ["--offload", "optimizer"], "--link": ["--ranks", "2"],
          "--bucket-bytes": ["--ranks", "2"], "--persist-bytes": ["--ranks", "2", "--zero", "3"], "--shard": ["--mesh", "tensor=2"],
          "--sequence-parallel": ["--mesh", "tensor=2"], "--tensor-overlap": ["--mesh", "tensor=2"], "--expert-capacity": ["--mesh", "expert=2"],
          "--stage": ["--mesh", "pipeline=2"],
          "--pipeline-schedule": ["--mesh", "pipeline=2"], "--rank": ["--mesh", "pipeline=2"], "--max-added-time": ["--max-batch", "x"],
          "--accumulate-dtype": ["--accumulate", "2"], "--batchnorm": ["--accumulate", "2"], "--min-lr": ["--schedule", "cosine"],
          "--decay-steps": ["--schedule", "cosine"], "--warmup-start": ["--warmup", "2"],
          **{f"--lora-{word}": ["--lora", "."] for word in ("rank", "alpha", "dropout", "scaling", "init", "rank-pattern", "alpha-pattern")},
          **{f"--qat-{word}": ["--qat", ".=int8"] for word in ("scales", "activations", "averaging", "observe", "freeze")},
          "--ia3-inputs": ["--ia3", "."], "--qat-block": ["--qat", ".=int8", "--qat-scales", "block"],
          **{f"--loss-scale-{word}": ["--loss-scale", "dynamic"] for word in ("init", "growth", "backoff", "min", "window", "hysteresis")}}


def flags_of(command):
    text = subprocess.run(["kedge", command, "--help"], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^ +(-o|--[a-z0-9-]+) [A-Z]", text, re.M)


failed, tried, seen = 0, 0, set()
for command in ("compile", "plan"):
    flags = flags_of(command)
    assert len(flags) > 50, flags
    for flag in flags:
        if flag in OPEN or flag in seen:
            continue
        words = WRONG.get(flag, [flag, "a=[(,"])
        run = subprocess.run(["kedge", command, folder / "missing.onnx", *BESIDE.get(flag, []), *words, *(["-o", folder / "x"] if command == "compile" else [])],
                             capture_output=True, text=True)
        tried += 1
        if run.returncode != 1 or flag not in run.stderr or "missing.onnx" in run.stderr:
            failed += 1
            print(f"kedge {command} {' '.join(words)}: exit code {run.returncode}, {run.stderr.strip()}; expected an error of {flag}")
    seen |= set(flags)
print(f"{tried} wrong values were refused" if not failed else f"{failed} of {tried} were not refused first")
sys.exit(failed > 0)
