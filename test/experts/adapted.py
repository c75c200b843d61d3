#!/usr/bin/env python3
"""adapted.py FOLDER [NAME...]: peft's adapters of experts (target_parameters) beside those of linear modules. The folder that peft saves is trained on by kedge;
losses of 20 steps are peft's, and so are the adapters that kedge saves; the merged file computes what peft's model does. Needs peft."""
import importlib.util
import json
import pathlib
import sys

import numpy
import onnxruntime
import safetensors.torch
import torch

spec = importlib.util.spec_from_file_location("exported", pathlib.Path(__file__).parent / "exported.py")
arguments, sys.argv = sys.argv, [sys.argv[0], sys.argv[1], "none"]
exported = importlib.util.module_from_spec(spec)
spec.loader.exec_module(exported)
import peft  # noqa: E402

FOLDER, LENGTH, WORDS, ROWS, STEPS, RATE, run = exported.FOLDER, exported.LENGTH, exported.WORDS, exported.ROWS, exported.STEPS, 0.5, exported.run
TARGETS = {"qwen3-moe": ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"], "gpt-oss": ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"],
           "mixtral": ["experts.down_proj"]}


def check(name):
    model, path = exported.made(name, "batched_mm"), FOLDER / f"{name}.onnx"
    torch.manual_seed(7)
    ids, labels = torch.randint(3, WORDS, (ROWS, LENGTH)), torch.randint(3, WORDS, (ROWS, LENGTH))
    sizes = {"input_ids": {0: torch.export.Dim("rows"), 1: torch.export.Dim("length")}} if name == "gpt-oss" else None
    torch.onnx.export(model, (ids,), path, input_names=["input_ids"], output_names=["logits"], dynamo=True, dynamic_shapes=sizes, verbose=False, external_data=False)
    for what, rows in (("ids", ids), ("labels", labels)):
        numpy.save(FOLDER / f"{what}.npy", rows.numpy())
    adapted = peft.get_peft_model(model.model, peft.LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj"], target_parameters=TARGETS[name]))
    for key, tensor in adapted.named_parameters():
        if "lora_B" in key:
            tensor.data.normal_(std=0.05)
    adapted.save_pretrained(FOLDER / "first")
    optimizer, wanted = torch.optim.SGD([tensor for tensor in adapted.parameters() if tensor.requires_grad], lr=RATE), []
    for _ in range(STEPS):
        loss = torch.nn.functional.cross_entropy(adapted(input_ids=ids, use_cache=False).logits.reshape(-1, WORDS), labels.reshape(-1))
        wanted.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    options = ["--shape", f"input_ids={ROWS}x{LENGTH}", "--loss", "cross-entropy", "--optimizer", "sgd"]
    log, data = FOLDER / "log.jsonl", ["--data", f"input_ids={FOLDER / 'ids.npy'}", f"labels={FOLDER / 'labels.npy'}"]
    run("kedge", "compile", path, *options, "--adapter", FOLDER / "first", "-o", FOLDER / "train")
    run(FOLDER / "train", *data, "--steps", STEPS, "--lr", RATE, "--log", log, "--export-adapter", FOLDER / "last", "--export-onnx", FOLDER / "merged.onnx",
        "--export-onnx-adapters", FOLDER / "apart.onnx")
    found = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    worst = max(abs(one - other) / other for one, other in zip(found, wanted))
    saved = safetensors.torch.load_file(FOLDER / "last" / "adapter_model.safetensors")
    state = peft.get_peft_model_state_dict(adapted)
    assert set(saved) == set(state), set(saved) ^ set(state)
    gap = max(((saved[key] - tensor).abs().max() / tensor.abs().max()).item() for key, tensor in state.items())
    fresh = peft.PeftModel.from_pretrained(exported.made(name, "batched_mm").model, FOLDER / "last")
    logits = fresh(input_ids=ids, use_cache=False).logits.detach().numpy()
    gaps = []
    for file in ("merged", "apart"):
        outputs = onnxruntime.InferenceSession(str(FOLDER / f"{file}.onnx"), providers=["CPUExecutionProvider"]).run(None, {"input_ids": ids.numpy()})[0]
        gaps.append(abs(outputs - logits).max() / abs(logits).max())
    print(f"{name}: {len(state)} tensors; worst loss {worst:.1e} of peft's, adapters {gap:.1e}, merged file {gaps[0]:.1e}, with adapters {gaps[1]:.1e}", flush=True)
    assert worst < 1e-5 and gap < 1e-4 and max(gaps) < 1e-4, (found, wanted)
    by_name = ["--lora", "q_proj|" + "|".join(target.split(".")[-1] for target in TARGETS[name]), "--lora-rank", "4", "--lora-alpha", "8"]
    run("kedge", "compile", path, *options, *by_name, "-o", FOLDER / "named")
    run(FOLDER / "named", *data, "--steps", STEPS, "--lr", RATE, "--log", log, "--export-adapter", FOLDER / "named-last", "--eval-data", f"input_ids={FOLDER / 'ids.npy'}",
        "--predict", f"logits={FOLDER / 'logits.npy'}")
    named = peft.PeftModel.from_pretrained(exported.made(name, "batched_mm"), FOLDER / "named-last")  # of the module that was exported
    gap = abs(numpy.load(FOLDER / "logits.npy") - named(ids).detach().numpy()).max() / abs(logits).max()
    print(f"{name}: a folder of --lora is read by peft; outputs {gap:.1e}", flush=True)
    assert gap < 1e-4


for name in arguments[2:] or TARGETS:
    check(name)
