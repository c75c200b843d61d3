#!/usr/bin/env python3
"""The guide's recipe for Hugging Face on a bf16 checkpoint, beside PyTorch with fp32 masters: recipe_bf16.py OUT [STEPS].

Needs torch and transformers; no test runs it. A small Llama of random weights is saved in bf16, loaded again as the guide does,
exported, and trained with AdamW by both.
"""
import json
import pathlib
import subprocess
import sys

import numpy as np
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

ROWS, LENGTH, RATE = 4, 32, 1e-3
out, steps = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100
out.mkdir(parents=True, exist_ok=True)


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids=input_ids, use_cache=False).logits


torch.manual_seed(0)
config = LlamaConfig(vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                     max_position_embeddings=64, tie_word_embeddings=False)
LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(out / "checkpoint")
model = AutoModelForCausalLM.from_pretrained(out / "checkpoint", attn_implementation="eager")
assert model.dtype == torch.bfloat16, model.dtype
logits = Logits(model).train()
torch.onnx.export(logits, (torch.zeros(ROWS, LENGTH, dtype=torch.int64),), str(out / "model.onnx"), dynamo=True, optimize=False, opset_version=20,
                  verbose=False, input_names=["input_ids"], output_names=["logits"])
random = np.random.default_rng(1)
text = np.cumsum(random.integers(0, 3, (ROWS * steps, LENGTH + 1)), 1) % 256
inputs, labels = text[:, :-1].copy(), text[:, 1:].copy()
np.save(out / "input_ids.npy", inputs)
np.save(out / "labels.npy", labels)

masters = {name: value.detach().float() for name, value in model.named_parameters()}
update, wanted = torch.optim.AdamW([value.requires_grad_() for value in masters.values()], lr=RATE, weight_decay=0.01), []
for step in range(steps):
    rows = slice(step * ROWS, step * ROWS + ROWS)
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.copy_(masters[name])
    model.zero_grad(set_to_none=True)
    loss = torch.nn.functional.cross_entropy(logits(torch.from_numpy(inputs[rows])).float().flatten(0, 1), torch.from_numpy(labels[rows]).flatten())
    loss.backward()
    for name, value in model.named_parameters():
        masters[name].grad = value.grad.float()
    update.step()
    wanted.append(loss.item())

for precision in ("fp32", "bf16"):
    program = out / f"train-{precision}"
    subprocess.run(["kedge", "compile", out / "model.onnx", "--loss", "cross-entropy", "--precision", precision, "--lr", str(RATE), "-o", program], check=True)
    subprocess.run([program, "--data", f"input_ids={out / 'input_ids.npy'}", "--data", f"labels={out / 'labels.npy'}", "--steps", str(steps),
                    "--log", out / "log.jsonl"], check=True, stdout=subprocess.DEVNULL)
    found = [json.loads(line)["loss"] for line in (out / "log.jsonl").read_text().splitlines()]
    gaps = [abs(a - b) / b for a, b in zip(found, wanted, strict=True)]
    print(f"{precision}: losses {found[0]:.4f} to {found[-1]:.4f}, PyTorch's {wanted[0]:.4f} to {wanted[-1]:.4f}; "
          f"largest difference {max(gaps):.1e} of the loss, at step {int(np.argmax(gaps))}")
