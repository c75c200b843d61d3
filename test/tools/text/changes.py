"""changes.py FOLDER MODEL OPTION...: kedge-opt --kedge-readable --mlir-print-ir-after-change prints for people what the passes change that
set precisions, cut states over ranks and compute again."""
import pathlib
import re
import subprocess
import sys

from readable import check

HEADLINES = {"01-model": ["kedge-assign-precision", "kedge-partition-states"], "03-schedule": ["kedge-choose-recompute", "kedge-insert-recompute"]}
PHASES = {"01-model": "step", "03-schedule": "rematerialize"}

folder, *compiled = sys.argv[1:]
folder = pathlib.Path(folder)
folder.mkdir(parents=True, exist_ok=True)
command = ["kedge", "compile", *compiled]
subprocess.run([*command, "--save-ir", folder, "--emit", "schedule", "-o", folder / "emitted"], check=True)
listed = subprocess.run([*command, "--print-pipeline"], check=True, capture_output=True, text=True).stdout
pipelines = dict(line.split(" ", 1) for line in listed.splitlines())
for name, passes in HEADLINES.items():
    done = subprocess.run(["kedge-opt", folder / f"{name}.mlir", f"--pass-pipeline={pipelines[PHASES[name]]}", "--kedge-readable",
                           "--mlir-print-ir-after-change", "-o", folder / "opt.mlir"], check=True, capture_output=True, text=True)
    texts = dict(re.findall(r"// ----- after (\S+)\n(.*?)(?=// ----- after |\Z)", done.stderr, re.S))
    for one in passes:
        check(one, texts[one])
        print(f"{one}: {len(texts[one].splitlines())} lines")
    if "kedge-verify-step" in texts or "kedge-verify-schedule" in texts:
        sys.exit("a pass that changes nothing is printed")
