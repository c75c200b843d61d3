#!/usr/bin/env python3
"""Writes mobius' architectures as ONNX files of tiny sizes with random weights: make.py OUT [NAME...].

OUT/<architecture>-<provider>-<part>.onnx, one for each part of a package, for the providers default and cpu; OUT/made.json says what was made and what
mobius itself refused, with its words. Needs mobius-onnx (PyPI) and numpy. The sizes are set here: mobius' own test configurations are not in its package.
"""
import dataclasses
import json
import math
import pathlib
import sys
import traceback

import mobius
import numpy as np
import onnx_ir as ir
from mobius import _configs as configs
from mobius._config_resolver import _default_task_for_model

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from sizes import sizes_of  # noqa: E402

PROVIDERS = ("default", "cpu")
LARGEST = 16_000_000  # numbers of a file: sizes that cannot be set make some parts large


def config_of(name, registration):
    """The architecture's own class of configuration, with what it has fields for."""
    cls = registration.config_class or getattr(registration.module_class, "config_class", None) or configs.ArchitectureConfig
    sizes = sizes_of(name, cls, _default_task_for_model(name))
    fields = {field.name for field in dataclasses.fields(cls)}
    return cls(**{key: value for key, value in sizes.items() if key in fields})


def fill(model, seed):
    """Random numbers for what has none; scales of norms lie around one."""
    rng = np.random.default_rng(seed)
    for name, value in model.graph.initializers.items():
        if value.const_value is not None:
            continue
        shape = [int(size) for size in value.shape]
        numbers = rng.standard_normal(shape) * 0.1
        if "norm" in name.lower() and name.endswith("weight"):
            numbers = 1 + numbers
        if "var" in name.lower().rsplit(".", 1)[-1]:
            numbers = 1 + np.abs(numbers)
        kind = value.dtype.numpy()
        value.const_value = ir.Tensor((numbers if kind.kind == "f" else np.zeros(shape)).astype(kind), name=name)


def make(name, provider, out):
    registration = mobius.registry.get_registration(name)
    config = config_of(name, registration)
    package = mobius.build_from_module(registration.module_class(config), config, _default_task_for_model(name), execution_provider=provider)
    files = []
    for part, model in package.items():
        elements = sum(math.prod(int(size) for size in value.shape) for value in model.graph.initializers.values())
        if elements > LARGEST:
            raise ValueError(f"{part} has {elements} numbers at these sizes, more than {LARGEST}")
        fill(model, 7)
        files.append(f"{name}-{provider}-{part}.onnx")
        ir.save(model, str(out / files[-1]))
    return files


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    made = {}
    for name in sys.argv[2:] or mobius.registry.architectures():
        for provider in PROVIDERS:
            try:
                made[f"{name}-{provider}"] = {"files": make(name, provider, out)}
            except Exception as error:  # mobius' own, in its words
                at = traceback.extract_tb(error.__traceback__)[-1]
                made[f"{name}-{provider}"] = {"refused": f"{type(error).__name__}: {error}"[:300], "at": f"{pathlib.Path(at.filename).name}:{at.lineno}"}
                print(f"{name}-{provider}:", made[f"{name}-{provider}"]["refused"][:200], made[f"{name}-{provider}"]["at"], flush=True)
    known = json.loads((out / "made.json").read_text()) if (out / "made.json").exists() else {}
    (out / "made.json").write_text(json.dumps({**known, **made}, indent=1, sort_keys=True) + "\n")
    print(sum("files" in entry for entry in made.values()), "of", len(made), "made")


if __name__ == "__main__":
    main()
