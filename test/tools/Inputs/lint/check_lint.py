#!/usr/bin/env python3
"""Runs `kedge lint --json` on golden models and compares with their trace.json: check_lint.py MODELS_FOLDER.

Every listed error code and no other; every parameter that the file keeps under its name or a transposed copy of it is
a parameter; after --repair and --train-mode nothing is left, and gpt2-fresh has exactly PyTorch's parameters.
"""
import json
import pathlib
import subprocess
import sys


def lint(model, *options):
    run = subprocess.run(["kedge", "lint", str(model), "--json", *options], capture_output=True, text=True)
    if run.returncode not in (0, 2):
        sys.exit(f"{model}: {run.stderr}")
    report = json.loads(run.stdout)
    errors = {f["code"] for f in report["findings"] if f["severity"] == "error"}
    if bool(errors) != (run.returncode == 2):
        sys.exit(f"{model}: exit code {run.returncode} with errors {sorted(errors)}")
    return report, errors


failures = 0
for trace_file in sorted(pathlib.Path(sys.argv[1]).glob("*/trace.json")):
    trace = json.loads(trace_file.read_text())
    for model in sorted(trace_file.parent.glob("*.onnx")):
        wanted = set(trace.get("lint", []))
        report, errors = lint(model)
        trained = {i["original"] for i in report["initializers"] if i["verdict"] == "parameter"}
        lost = {"merged-parameters", "dropped-bias", "folded-parameter"} & wanted
        problems = []
        if errors != wanted:
            problems.append(f"errors {sorted(errors)}, expected {sorted(wanted)}")
        if not lost and trained != set(trace["parameters"]):
            problems.append(f"parameters differ: {sorted(trained ^ set(trace['parameters']))}")
        report, errors = lint(model, "--repair", "--train-mode")
        trained = {i["name"] for i in report["initializers"] if i["verdict"] == "parameter"}
        if errors:
            problems.append(f"not mended: {sorted(errors)}")
        if trained != set(trace["parameters"]):
            problems.append(f"parameters after repair differ: {sorted(trained ^ set(trace['parameters']))}")
        failures += bool(problems)
        print(f"{model.parent.name}/{model.name}: {'; '.join(problems) or 'as expected'}")
print(f"{failures} failures")
sys.exit(bool(failures))
