"""A small GPT from its export to a fine-tuned export: gpt.py EXPORT FOLDER, where EXPORT has model.onnx and its data."""
import json
import pathlib
import shutil
import sys

from journey import Journey

export, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
shutil.copy(export / "model.onnx", folder / "gpt.onnx")
journey = Journey(folder)
data = [f"--data={name}={export / name}.npy" for name in ("input_ids", "labels")]
held_out = [f"--eval-data={name}={export / name}.npy" for name in ("input_ids", "labels")]

HEAD = r"{}: opset 20, by pytorch [0-9.+a-z]+; [0-9]+ nodes, {} trained tensors with {} elements"
CLEAN = r"clean: no damage found in {} tensors with {} elements \(0 errors, 0 warnings, 0 notes\)"
UNSHOWN = r"  the file cannot show frozen parameters or a custom backward"
UNKNOWN = r"not known: whether the model has Dropout: an export in inference mode leaves it out"
STOPS = [r"not known: no_grad\(\): the file marks detach\(\), and nothing that ran under no_grad\(\): there the", r"  gradient would pass"]
STEP = r"step [0-9]+/{}  loss [0-9.]+  lr {}  [0-9]+ tokens/s  [0-9.]+ [GM]B"
EVAL = STEP + r"  eval loss [0-9.]+"
LOSS = (r"kedge: note: no --loss was given: cross-entropy over the 64 classes of 'logits' \[4x24x64\] along axis 2, the integer labels "
        r"are a new input 'labels'")

# What is in the file, what it will take, and the program.
journey.walk(["kedge", "lint", "gpt.onnx"], HEAD.format("gpt.onnx", 28, "28,288"), "", CLEAN.format(28, "28,288"), UNSHOWN, UNKNOWN, *STOPS,
             "next: kedge compile gpt.onnx")
journey.walk(["kedge", "compile", "gpt.onnx", "--loss", "cross-entropy", "-o", "train"],
             r"kedge: error: gpt.onnx: dimension 0 of input 'input_ids' \(.*\) has no size \('.*'\); give it with --shape input_ids=NxN", code=1)
shape = ["--shape", "input_ids=4x24"]
journey.walk(["kedge", "compile", "gpt.onnx", *shape, "--weight-decay-exclude", "bais", "-o", "train"],
             r"kedge: error: gpt.onnx: --weight-decay-exclude 'bais' matches no parameter; near misses: '.*bias', '.*bias', '.*bias'", code=1)
journey.walk(["kedge", "compile", "gpt.onnx", *shape, "--weight-decay-exclude", "bias", "--clip-norm", "1", "-o", "train"], LOSS)

# Training, stopped on the way and resumed.
run = ["./train", *data, "--checkpoint-dir", "checkpoints", "--log", "log.jsonl"]
journey.walk(["./train", *data], r"kedge: error: --steps N is missing: how many optimizer steps to train in all \(or --epochs N: how often all rows are used\)", code=1)
journey.walk([*run, "--steps", "1000000", "--export-onnx", "stopped.onnx"], (STEP.format(1000000, "0.001"), 1, 2),
             r"kedge: note: stopped by SIGINT after step [0-9]+ of 1000000: 'checkpoints/step-[0-9]+' holds it; exporting now, unless a "
             r"second signal comes", r"kedge: note: exported after step [0-9]+ of 1000000: 'stopped.onnx'", code=130, stop_after=1)
stopped = len((folder / "log.jsonl").read_text().splitlines())
steps = stopped + 4
journey.walk([*run, "--steps", steps], r"kedge: error: --checkpoint-dir 'checkpoints' holds checkpoints already: give --resume to go on from "
             r"the newest, or another folder", code=1)
journey.walk([*run, "--steps", steps, "--resume", *held_out, "--export-onnx", "trained.onnx", "--export-safetensors", "trained.safetensors"],
             (STEP.format(steps, "0.001"), 0, 3), EVAL.format(steps, "0.001"))
assert [json.loads(line)["step"] for line in (folder / "log.jsonl").read_text().splitlines()] == list(range(steps))

# Fine-tuning the head from the weights alone, in the model as it was first exported.
names = r"'.*', '.*', '.*'"
journey.walk(["kedge", "compile", "gpt.onnx", *shape, "--loss", "cross-entropy", "--freeze", "blocks", "-o", "tune"])
journey.walk(["./tune", *data, "--steps", "2", "--weights", "trained.safetensor"],
             r"kedge: error: trained.safetensor: expected a file that ends in .onnx, .safetensors or .safetensors.index.json, or a folder of them",
             code=1)
journey.walk(["./tune", *data, *held_out, "--steps", "3", "--lr", "1e-4", "--weights", "trained.safetensors", "--export-onnx", "tuned.onnx"],
             (STEP.format(3, "0.0001"), 2, 2), EVAL.format(3, "0.0001"))

# What comes out goes in again.
journey.walk(["kedge", "lint", "tuned.onnx"], HEAD.format("tuned.onnx", 28, "28,288"), "", CLEAN.format(28, "28,288"), UNSHOWN, UNKNOWN, *STOPS,
             "next: kedge compile tuned.onnx")
journey.walk(["kedge", "compile", "tuned.onnx", *shape, "-o", "again"], LOSS)
journey.walk(["./again", "--steps", "0", "--export-onnx", "again.onnx"])
print(f"{journey.steps} commands said what they should")
