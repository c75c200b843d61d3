#!/usr/bin/env python3
"""exported.py FOLDER [NAME...]: language models of transformers with windows and sinks, of random weights, exported by PyTorch in two ways.
Which masks are recognised, and losses of 20 steps beside PyTorch's."""
import json
import pathlib
import re
import subprocess
import sys
import warnings

import numpy
import torch
import transformers

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
FOLDER = pathlib.Path(sys.argv[1])
FOLDER.mkdir(parents=True, exist_ok=True)
LENGTH, WINDOW, WORDS, ROWS, STEPS, RATE = 40, 8, 96, 2, 20, 0.05
SMALL = dict(vocab_size=WORDS, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
             max_position_embeddings=128)
WINDOWS = {"sliding_window": WINDOW}
MIXED = {"layer_types": ["sliding_attention", "full_attention"]}
MODELS = {
    "llama": ("LlamaForCausalLM", "LlamaConfig", SMALL),
    "mistral": ("MistralForCausalLM", "MistralConfig", {**SMALL, **WINDOWS}),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config", {**SMALL, **WINDOWS}),
    "gemma3": ("Gemma3ForCausalLM", "Gemma3TextConfig", {**SMALL, **WINDOWS, **MIXED}),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", {**SMALL, **WINDOWS, "use_sliding_window": True, "max_window_layers": 1}),
    "gpt-oss": ("GptOssForCausalLM", "GptOssConfig", {**SMALL, **WINDOWS, "intermediate_size": 32, "num_local_experts": 2, "num_experts_per_tok": 1}),
    "modernbert": ("ModernBertForMaskedLM", "ModernBertConfig",
                   {**{name: SMALL[name] for name in ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                                                      "max_position_embeddings")},
                    "local_attention": WINDOW, "global_attn_every_n_layers": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
                    "cls_token_id": 1, "sep_token_id": 2}),
}


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.options = {} if "Bert" in type(model).__name__ else {"use_cache": False}

    def forward(self, input_ids):
        return self.model(input_ids=input_ids, **self.options).logits


def made(name, attention):
    model, config, sizes = MODELS[name]
    torch.manual_seed(0)
    options = {"experts_implementation": "batched_mm"} if name == "gpt-oss" else {}
    return Logits(getattr(transformers, model)._from_config(getattr(transformers, config)(**sizes), attn_implementation=attention, **options).eval())


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)
    return done.stderr


def check(name, attention):
    model, path = made(name, attention), FOLDER / f"{name}-{attention}.onnx"
    torch.manual_seed(7)
    ids, labels = torch.randint(3, WORDS, (ROWS, LENGTH)), torch.randint(3, WORDS, (ROWS, LENGTH))
    # Of fixed sizes a sink for each query would be folded into the file.
    sizes = {"input_ids": {0: torch.export.Dim("rows"), 1: torch.export.Dim("length")}} if name == "gpt-oss" else None
    torch.onnx.export(model, (ids,), path, input_names=["input_ids"], output_names=["logits"], dynamo=True, dynamic_shapes=sizes, verbose=False,
                      external_data=False)
    for what, rows in (("ids", ids), ("labels", labels)):
        numpy.save(FOLDER / f"{what}.npy", rows.numpy())
    optimizer, wanted = torch.optim.SGD(model.parameters(), lr=RATE), []
    for _ in range(STEPS):
        loss = torch.nn.functional.cross_entropy(model(ids).reshape(-1, WORDS), labels.reshape(-1))
        wanted.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    compiled = ["kedge", "compile", path, "--shape", f"input_ids={ROWS}x{LENGTH}", "--loss", "cross-entropy", "--optimizer", "sgd"]
    notes = run(*compiled, "-o", FOLDER / "train", "--save-ir", FOLDER / "ir")
    log = FOLDER / "log.jsonl"
    run(FOLDER / "train", "--data", f"input_ids={FOLDER / 'ids.npy'}", f"labels={FOLDER / 'labels.npy'}", "--steps", STEPS, "--lr", RATE, "--log", log)
    found = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    worst = max(abs(one - other) / other for one, other in zip(found, wanted))
    level = next(text for text in (part.read_text() for part in sorted((FOLDER / "ir").glob("*.mlir"))) if "train.attention " in text)
    facts = [re.findall(r"sinks|sees\(.*?\)", line.split("{")[0]) for line in level.splitlines() if "train.attention " in line]
    text, masks = "; ".join(" ".join(fact) or "all" for fact in facts), notes.count("element by element")
    print(f"{name} ({attention}): {text}; {masks} tensors; worst loss {worst:.1e} of PyTorch's")
    assert worst < 1e-5 and len(facts) == 2 and not masks, (found, wanted, notes)


EAGER = ("gemma2", "gpt-oss")  # transformers has no scaled_dot_product_attention for these
for name in sys.argv[2:] or MODELS:
    for attention in ("eager",) if name in EAGER else ("eager", "sdpa"):
        check(name, attention)
