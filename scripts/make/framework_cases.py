#!/usr/bin/env python3
"""Makes test/exporters/kept: small files that Keras, flax, Paddle and scikit-learn wrote, with the losses of their own training.

    framework_cases.py [FRAMEWORK...]

The makers are those of scripts/sweep/exporters, each run by the Python that has its framework (KEDGE_KERAS_PYTHON, ... or those that
scripts/frameworks.sh makes). What a case expects is what the framework computed; of a file that lacks what trains (a folded norm, biases of zeros) it
is the refusal, or the losses of the model with just these variables held.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "test/exporters/kept"
# framework: its package, models, and which of their two states
CASES = {
    "keras": {"transformer": "trained", "lstm": "trained", "gru": "trained", "layer-norm": "fresh", "separable": "trained",
              "conv-batch-norm": "trained", "embedding": "trained"},
    "flax": {"transformer": "trained", "group-norm": "trained", "attention": "fresh", "stop-gradient": "trained"},
    "paddle": {"group-norm": "fresh", "transformer": "trained", "lstm": "trained"},
    "sklearn": {"mlp-classifier-two": "", "logistic-regression-three": "", "mlp-regressor-deep": ""},
}
REFUSED = {"keras-conv-batch-norm-trained": "fused-batchnorm"}


def python_of(framework):
    home = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    return os.environ.get(f"KEDGE_{framework.upper()}_PYTHON", home / f"kedge/frameworks/{framework}/bin/python")


def expected(name, case):
    if name in REFUSED:
        return {"exit": 1, "stderr": REFUSED[name]}
    held = case.pop("without_zeros", None)
    if held and case["expect"]["loss"] != held:
        return {**case["expect"], "loss": held, "stderr": "biases of zeros"}
    return case["expect"]


def keep(made, name):
    """The case as tests read it, with no more rows than its steps take."""
    target = KEPT / name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(made, target)
    record = target / "case.json"
    case = json.loads(record.read_text())
    case["expect"] = expected(name, case)
    case.pop("without_zeros", None)
    record.write_text(json.dumps(case, indent=1) + "\n")
    print(name, sum(file.stat().st_size for file in target.iterdir()), "bytes", flush=True)


def main():
    for framework in sys.argv[1:] or CASES:
        models = CASES[framework]
        with tempfile.TemporaryDirectory() as made:
            subprocess.run([python_of(framework), ROOT / f"scripts/sweep/exporters/{framework}_models.py", made, *models], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for model, state in models.items():
                name = "-".join(filter(None, (framework, model, state)))
                keep(pathlib.Path(made) / name, name)


if __name__ == "__main__":
    main()
