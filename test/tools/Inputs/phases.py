"""Pipelines by phase make what kedge compile makes: phases.py FOLDER MODEL.onnx OPTIONS... Each file of --save-ir, through the pipeline
of the next phase with the same options, is the next file."""
import pathlib
import re
import subprocess
import sys

folder, model, given = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
SAVED = re.compile(r'kedge\.saved = \{(?:"(?:[^"\\]|\\.)*"|[^"}])*\}(?:, )?')
OF_THE_FILE = ("--shape", "--train-mode")


def read(words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def opt(path, *words):
    """Without locations and without what --save-ir notes for compile."""
    return SAVED.sub("", read(["kedge-opt", path, *words]))


subprocess.run(["kedge", "compile", model, *given, "--save-ir", folder, "-o", folder.parent / f"{folder.name}.program"], check=True,
               stderr=subprocess.DEVNULL)
options, skipped = [], False
for word, value in zip(given, given[1:] + ["--"]):
    if word.startswith("--") and word not in OF_THE_FILE:
        options.append(word[2:] + ("" if value.startswith("--") else f"={value}"))
files = sorted(folder.glob("*.mlir"))
compared = []
for before, after in zip(files, files[1:]):
    phase = after.stem.split("-")[1]
    name = {"model": "raise", "exec": "lower"}.get(phase, phase)
    made = opt(before, f"--kedge-{name}-pipeline={' '.join(options)}")
    wanted = opt(after)
    if made != wanted:
        lines = [(a, b) for a, b in zip(made.splitlines(), wanted.splitlines()) if a != b]
        sys.exit(f"{before.name} through --kedge-{name}-pipeline='{' '.join(options)}' is not {after.name}: {lines[:1]}")
    compared.append(name)
print(f"{pathlib.Path(model).parent.name}: {', '.join(compared)}")
