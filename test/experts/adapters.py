#!/usr/bin/env python3
"""adapters.py FOLDER: adapters of experts. Gradients of A and B are those that the weights' own give; merged files, files with adapters and folders compute what the
program does; frozen experts in nf4 are the file's values in those codes, and the router stays out with --freeze."""
import json
import sys

import numpy as np
import onnxruntime
from mixture import EXPERTS, WEIGHTS, Mixture, apart, save, weights_of

sys.path.insert(0, str(__import__("pathlib").Path(__file__).parents[1] / "precision" / "Inputs"))
from small import close, tensors  # noqa: E402

case, RANK, SCALE = Mixture(sys.argv[1]), 3, 2.0
LORA = ["--lora", "_proj", "--lora-rank", RANK, "--lora-alpha", RANK * SCALE]
steps, folder = ["--steps", 20, "--lr", 0.05], case.folder
program = case.compile("tune", *LORA)
losses = case.run(program, *steps, "--export-adapter", folder / "adapter", "--export-onnx", folder / "merged.onnx", "--export-onnx-adapters", folder / "apart.onnx",
                  "--export-safetensors", folder / "merged.safetensors")
config = json.loads((folder / "adapter" / "adapter_config.json").read_text())
assert config["target_parameters"] == ["experts.down_proj", "experts.gate_up_proj"] and not config["target_modules"], config
given = tensors(folder / "adapter" / "adapter_model.safetensors")
PATHS = {"experts.gate_up_proj": "experts.base_layer", "experts.down_proj": "experts"}
merged = weights_of(folder / "merged.onnx")
parts = {}
for name, path in PATHS.items():
    a, b = (given[f"base_model.model.{path}.lora_{factor}.weight"] for factor in "AB")
    parts[name] = a.reshape(EXPERTS, RANK, -1), b.reshape(b.shape[0], RANK, EXPERTS).transpose(2, 0, 1)
    assert close(merged[name], WEIGHTS[name] + SCALE * parts[name][1] @ parts[name][0], 1e-6), name
assert close(tensors(folder / "merged.safetensors")["experts.down_proj"], merged["experts.down_proj"], 0)

again = case.compile("again", "--adapter", folder / "adapter")
case.run(again, "--steps", 0, "--eval-data", f"ids={folder / 'ids.npy'}", "--predict", f"logits={folder / 'logits.npy'}")
logits = np.load(folder / "logits.npy")
for file in ("merged", "apart"):
    session = onnxruntime.InferenceSession(str(folder / f"{file}.onnx"), providers=["CPUExecutionProvider"])
    assert close(logits, session.run(None, {"ids": case.ids})[0], 1e-5), file
print("merged, with adapters and from a folder: the same outputs")

case.run(again, "--steps", 1, "--dump-gradients", folder / "own.safetensors", "--dump-step", 0)
whole = case.compile("whole", file="merged.onnx")
case.run(whole, "--steps", 1, "--dump-gradients", folder / "whole.safetensors", "--dump-step", 0)
own, dense = tensors(folder / "own.safetensors"), tensors(folder / "whole.safetensors")
for name, (a, b) in parts.items():
    da, db = SCALE * b.transpose(0, 2, 1) @ dense[name], SCALE * dense[name] @ a.transpose(0, 2, 1)
    assert close(own[f"{name}.lora_A.weight"], da.reshape(-1, da.shape[-1]), 1e-5), name
    assert close(own[f"{name}.lora_B.weight"], db.transpose(1, 2, 0).reshape(db.shape[1], -1), 1e-5), name
print("gradients of A and B")

CODES = np.array([-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
                  0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0], "f4")


def rounded(weight):
    blocks = weight.reshape(-1, 64)
    most = abs(blocks).max(1, keepdims=True)
    return (CODES[abs((blocks / most)[..., None] - CODES).argmin(-1)] * most).reshape(weight.shape)


save(folder / "rounded.onnx", {name: rounded(value) if name in PATHS else value for name, value in WEIGHTS.items()})
few = ["--quantize", "_proj$=nf4"]
assert apart(case.run(case.compile("few", *LORA, *few), *steps), case.run(case.compile("rounded", *LORA, file="rounded.onnx"), *steps)) < 1e-6
held = [case.plan("model.onnx", *LORA, *options)["state_bytes"]["parameters"] for options in ([], few)]
elements = sum(WEIGHTS[name].size for name in PATHS)
assert held[0] - held[1] == elements * 4 - elements // 2 - elements // 64 * 4, held
frozen = case.compile("frozen", "--freeze", "router")
case.run(frozen, "--steps", 3, "--export-onnx", folder / "frozen.onnx")
after = weights_of(folder / "frozen.onnx")
assert (after["router.weight"] == WEIGHTS["router.weight"]).all() and (after["experts.down_proj"] != WEIGHTS["experts.down_proj"]).any()
print("nf4, and a frozen router")
