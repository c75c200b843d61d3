#!/usr/bin/env python3
"""Exports GPT-2, BERT, BART and Gemma in four ways, trains each file that lint lets through (with --repair) and compares losses with
PyTorch's: four_exports.py OUT. A file that lint refuses, or warns of, must be told to be exported in a way that has these losses."""
import json
import pathlib
import subprocess
import sys

import numpy
import torch

try:
    import transformers
except ImportError:
    print("not run, without transformers")
    sys.exit()

OUT = pathlib.Path(sys.argv[1])
ROWS, LENGTH, WORDS, STEPS, RATE, DECAY = 4, 8, 40, 10, 1e-2, 0.1
WAYS = {"dynamo": {"dynamo": True, "optimize": False}, "optimized": {"dynamo": True, "optimize": True},
        "script": {"dynamo": False}, "unfolded": {"dynamo": False, "do_constant_folding": False}}
REMEDY = "dynamo=True, optimize=False"  # the way that has all


def models():
    eager = {"vocab_size": WORDS, "attn_implementation": "eager", "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    wide = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 16}
    yield "gpt2", transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_embd=16, n_layer=1, n_head=2, n_positions=16, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, **eager)), ["input_ids"]
    yield "bert", transformers.BertForMaskedLM(transformers.BertConfig(
        hidden_dropout_prob=0, attention_probs_dropout_prob=0, **wide, **eager)), ["input_ids"]
    yield "bart", transformers.BartForConditionalGeneration(transformers.BartConfig(
        d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32,
        decoder_ffn_dim=32, max_position_embeddings=16, dropout=0, **eager)), ["input_ids", "decoder_input_ids"]
    yield "gemma", transformers.GemmaForCausalLM(transformers.GemmaConfig(
        num_key_value_heads=1, head_dim=8, attention_dropout=0, **wide, **eager)), ["input_ids"]


class Logits(torch.nn.Module):
    """Without a mask GPT-2 and Gemma look for packed documents, by an operator that TorchScript's exporter lacks."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, decoder_input_ids=None):
        more = {} if decoder_input_ids is None else {"decoder_input_ids": decoder_input_ids}
        if "use_cache" in self.model.config.to_dict():
            more["use_cache"] = False
        return self.model(input_ids=input_ids, attention_mask=torch.ones_like(input_ids), **more).logits


def reference(module, data, labels):
    optimizer = torch.optim.AdamW(module.parameters(), lr=RATE, weight_decay=DECAY)
    losses = []
    for _ in range(STEPS):
        loss = torch.nn.functional.cross_entropy(module(*data).flatten(0, -2), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    return losses


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=OUT)


def trained(path, names, *options):
    shapes = [f"{name}={ROWS}x{LENGTH}" for name in names]
    done = run("kedge", "compile", path, "--shape", *shapes, "--loss", "cross-entropy", *options, "-o", "program")
    if done.returncode:
        assert "not compiled: lint found" in done.stderr, f"{path}: {done.stderr}"
        return None
    done = run("./program", "--data", *(f"{name}={name}.npy" for name in [*names, "labels"]), "--steps", STEPS, "--lr", RATE,
               "--weight-decay", DECAY, "--log", "log")
    assert done.returncode == 0, f"{path}: {done.stderr}"
    return [json.loads(line)["loss"] for line in (OUT / "log").read_text().splitlines()]


def far(found, wanted):
    return max(abs(a - b) / b for a, b in zip(found, wanted, strict=True))


def check(path, names, wanted, way):
    said = run("kedge", "lint", path, "--json", "--repair")
    report = json.loads(said.stdout)
    losses = trained(path, names)
    if losses is None:
        losses = trained(path, names, "--repair")
    if losses is not None and far(losses, wanted) <= 1e-5:
        return
    told = [f for f in report["findings"] if f["severity"] in ("error", "warning") and REMEDY.replace("dynamo=True, ", "") in f["remedy"]]
    assert way != "dynamo" and told, f"{path}: {losses} in place of {wanted}, and nothing says why: {report['findings']}"
    print(f"{path}: {told[0]['code']}: {told[0]['remedy']}")


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    count = 0
    for name, model, names in models():
        module = Logits(model.train())
        data, labels = [torch.randint(3, WORDS, (ROWS, LENGTH)) for _ in names], torch.randint(3, WORDS, (ROWS, LENGTH))
        for what, values in zip([*names, "labels"], [*data, labels]):
            numpy.save(OUT / f"{what}.npy", values.numpy())
        for way, options in WAYS.items():
            torch.onnx.export(module, tuple(data), OUT / f"{name}-{way}.onnx", input_names=names, output_names=["logits"],
                              opset_version=20 if options["dynamo"] else 17, verbose=False, **options)
        wanted = reference(module, data, labels)
        for way in WAYS:
            check(f"{name}-{way}.onnx", names, wanted, way)
            count += 1
    print(f"{count} exports as in PyTorch or told")


main()
