#!/usr/bin/env python3
"""Trains 40 models from six exports each, as printed, and compares ten losses with PyTorch: default_exports.py [REGEX] [--work DIR].

Exports: default (dynamo), optimize=False, TorchScript, each after train() and after eval(). Nothing is told to kedge but the loss and the
optimizer; a file of evaluation mode that asks is compiled again with --train-mode=off, which is what it asks for. Prints a row of a
table a model: the largest relative difference of a loss, or the code of the refusal. 'like fp64' is a difference that PyTorch's own losses in
fp32 and fp64 have, too; 'told' is one that the warning padding-row announces, which a file without a record cannot settle. Needs torch, torchvision, timm, transformers,
onnx, onnxscript, and kedge in PATH.
"""
import argparse
import contextlib
import copy
import io
import json
import logging
import os
import pathlib
import re
import subprocess
import tempfile
import warnings

import numpy as np
import torch
import torch.nn as nn

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
torch.set_num_threads(1)
STEPS, ROWS, RATE = 10, 2, 0.01
MODELS = {}


def model(name, *shape, vocabulary=None):
    def add(make):
        MODELS[name] = (make, shape, vocabulary)
        return make
    return add


class First(nn.Module):
    """The first tensor of what a model returns."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        out = self.inner(x)
        while not isinstance(out, torch.Tensor):
            out = next(iter(out.values())) if isinstance(out, dict) else out[0]
        return out


class Mean(nn.Module):
    """A recurrent layer and a Linear over its mean."""

    def __init__(self, layer, width):
        super().__init__()
        self.layer, self.last = layer, nn.Linear(width, 3)

    def forward(self, x):
        return self.last(self.layer(x)[0].mean(1))


def torch_models():
    model("perceptron", 8)(lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)))
    model("norms", 8)(lambda: nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 16), nn.LayerNorm(16), nn.Linear(16, 4)))
    model("batch norm", 8)(lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.BatchNorm1d(16), nn.Dropout(0.1), nn.Linear(16, 4)))
    model("convolutions", 3, 12, 12)(lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3), nn.Flatten(),
                                                           nn.Linear(512, 4)))
    model("conv, norm", 3, 12, 12)(lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(800, 4)))
    model("group norm", 3, 12, 12)(lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8), nn.SiLU(), nn.Flatten(), nn.Linear(800, 4)))
    model("video", 3, 4, 8, 8)(lambda: nn.Sequential(nn.Conv3d(3, 8, 3, bias=False, padding=1), nn.ReLU(), nn.BatchNorm3d(8), nn.Flatten(), nn.Linear(2048, 4)))
    model("lstm", 6, 5)(lambda: Mean(nn.LSTM(5, 7, batch_first=True), 7))
    model("lstm, both ways", 6, 5)(lambda: Mean(nn.LSTM(5, 7, num_layers=2, bidirectional=True, batch_first=True), 14))
    model("gru", 6, 5)(lambda: Mean(nn.GRU(5, 7, num_layers=2, batch_first=True), 7))
    model("rnn", 6, 5)(lambda: Mean(nn.RNN(5, 7, batch_first=True), 7))
    model("encoder", 6, 16)(lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2))
    model("decoder", 6, 16)(lambda: SelfDecoder())
    model("weight norm", 8)(lambda: nn.utils.parametrizations.weight_norm(nn.Linear(8, 4)))
    model("embedding", 6, vocabulary=20)(lambda: nn.Sequential(nn.Embedding(20, 8, padding_idx=0), nn.Flatten(), nn.Linear(48, 3)))


class SelfDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 2, 32, batch_first=True), 1)

    def forward(self, x):
        return self.layers(x, x * 2)


def vision_models():
    import timm
    import torchvision.models as tv
    image = (3, 32, 32)
    for name in ("resnet18", "mobilenet_v3_small", "efficientnet_b0", "densenet121", "shufflenet_v2_x0_5", "squeezenet1_1", "regnet_y_400mf",
                 "convnext_tiny", "swin_t", "mnasnet0_5"):
        model(name, *image)(lambda name=name: getattr(tv, name)(num_classes=5))
    model("vit, small", *image)(lambda: tv.VisionTransformer(32, 8, 2, 2, 32, 64, num_classes=5))
    for name, more in (("mixer_s32_224", dict(img_size=32)), ("vit_tiny_patch16_224", dict(img_size=32)), ("deit_tiny_patch16_224", dict(img_size=32)),
                       ("beit_base_patch16_224", dict(img_size=32, depth=2, embed_dim=48, num_heads=4)), ("resmlp_12_224", dict(img_size=32)),
                       ("levit_128s", dict(img_size=64))):
        model(f"timm {name}", *((3, 64, 64) if more["img_size"] == 64 else image))(
            lambda name=name, more=more: timm.create_model(name, num_classes=5, **more))


def language_models():
    import transformers as t
    small = dict(vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, max_position_embeddings=40)
    plain = {"attn_implementation": "eager"}

    def add(name, config, kind, more):
        model(name, 12, vocabulary=60)(lambda: First(getattr(t, kind)(getattr(t, config)(**more, **plain))))

    add("gpt2", "GPT2Config", "GPT2LMHeadModel", dict(vocab_size=60, n_embd=32, n_layer=2, n_head=2, n_positions=40, use_cache=False))
    add("bert", "BertConfig", "BertForMaskedLM", small)
    add("roberta", "RobertaConfig", "RobertaForMaskedLM", {**small, "max_position_embeddings": 42})
    add("distilbert", "DistilBertConfig", "DistilBertForMaskedLM", dict(vocab_size=60, dim=32, n_layers=2, n_heads=2, hidden_dim=64, max_position_embeddings=40))
    add("llama", "LlamaConfig", "LlamaForCausalLM", {**small, "use_cache": False, "num_key_value_heads": 1})
    add("qwen3", "Qwen3Config", "Qwen3ForCausalLM", {**small, "use_cache": False, "num_key_value_heads": 1, "head_dim": 16})
    add("gemma", "GemmaConfig", "GemmaForCausalLM", {**small, "use_cache": False, "num_key_value_heads": 1, "head_dim": 16})
    add("opt", "OPTConfig", "OPTForCausalLM", dict(vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, ffn_dim=64,
                                                    max_position_embeddings=40, word_embed_proj_dim=32, use_cache=False, dropout=0.0))


def quiet(call):
    """TorchScript prints graphs past Python's streams."""
    kept, nothing = [os.dup(1), os.dup(2)], os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1), os.dup2(nothing, 2)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return call()
    finally:
        os.dup2(kept[0], 1), os.dup2(kept[1], 2)
        for file in (*kept, nothing):
            os.close(file)


def export(module, example, path, form):
    names = {"input_names": ["x"], "output_names": ["y"]}
    if form == "script":
        mode = torch.onnx.TrainingMode.TRAINING if module.training else torch.onnx.TrainingMode.EVAL
        quiet(lambda: torch.onnx.export(module, (example,), str(path), dynamo=False, training=mode, opset_version=17, **names))
    else:
        quiet(lambda: torch.onnx.export(module, (example,), str(path), dynamo=True, optimize=form == "default", external_data=False, **names))


def reference(module, data, labels):
    module, losses = copy.deepcopy(module), []
    update = torch.optim.SGD(module.parameters(), lr=RATE)
    for step in range(STEPS):
        part = slice(step * ROWS, (step + 1) * ROWS)
        loss = nn.functional.mse_loss(module(data[part]), labels[part])
        update.zero_grad()
        loss.backward()
        update.step()
        losses.append(loss.item())
    return losses


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def compiled(path, program):
    """What compile says; a second time with what a file of evaluation mode asks for."""
    words = ["kedge", "compile", path, "--loss", "mse", "--optimizer", "sgd", "--lr", RATE, "-o", program]
    done, how = run(*words), ""
    if done.returncode and "--train-mode=off" in done.stderr and done.stderr.count("error[") == 1:
        done, how = run(*words, "--train-mode=off"), " (asked)"
    return done, how


def gap_of(losses, others):
    return max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(losses, others, strict=True))


def outcome(module, data, labels, folder, form):
    path, program, log = folder / "m.onnx", folder / "p", folder / "log"
    try:
        export(copy.deepcopy(module), data[:ROWS], path, form)
    except Exception as error:
        return f"not exported: {type(error).__name__}"
    done, how = compiled(path, program)
    if done.returncode:
        codes = sorted(set(re.findall(r"error\[([a-z-]+)", done.stderr)))
        return ", ".join(codes) if codes else "error: " + done.stderr.strip()[-80:].replace("\n", " ")
    done_words = done.stderr
    np.save(folder / "x.npy", data.numpy())
    np.save(folder / "labels.npy", labels.numpy())
    done = run(program, "--data", f"x={folder / 'x.npy'}", "--data", f"labels={folder / 'labels.npy'}", "--steps", STEPS, "--log", log, "--threads", 1)
    if done.returncode:
        return "run: " + done.stderr.strip()[-80:].replace("\n", " ")
    got = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    want = reference(module, data, labels)
    gap = gap_of(got, want)
    if gap <= 1e-5:
        return f"{gap:.0e}{how}"
    if "[padding-row]" in done_words:
        return f"told {gap:.0e}{how}"
    exact = gap_of(want, reference(module.double(), data.double() if data.is_floating_point() else data, labels.double()))
    return f"like fp64 {gap:.0e}, {exact:.0e}{how}" if gap <= 10 * exact else f"DIFFERS {gap:.0e}{how}"


def row(name, make, shape, vocabulary, folder):
    cells = []
    for form in ("default", "optimize=False", "script"):
        for training in (True, False):
            torch.manual_seed(1)
            module = make().train(training)
            for part in module.modules():
                if isinstance(part, (nn.Dropout, nn.Dropout2d)):
                    part.p = 0.0  # random masks are not compared here
                if isinstance(part, nn.MultiheadAttention):
                    part.dropout = 0.0
            data = torch.randint(1, vocabulary, (STEPS * ROWS, *shape)) if vocabulary else torch.randn(STEPS * ROWS, *shape)
            with torch.no_grad():
                labels = torch.randn(STEPS * ROWS, *copy.deepcopy(module)(data[:ROWS]).shape[1:])
            cells.append(outcome(module, data, labels, folder, form))
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("regex", nargs="?", default=".")
    parser.add_argument("--work", default=None)
    options = parser.parse_args()
    for family in (torch_models, vision_models, language_models):
        family()
    print("| model | default, train | default, eval | optimize=False, train | optimize=False, eval | TorchScript, train | TorchScript, eval |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for name, (make, shape, vocabulary) in MODELS.items():
        if not re.search(options.regex, name):
            continue
        with tempfile.TemporaryDirectory(dir=options.work) as folder:
            try:
                row(name, make, shape, vocabulary, pathlib.Path(folder))
            except Exception as error:
                print(f"| {name} | {type(error).__name__}: {str(error)[:100]} |", flush=True)


if __name__ == "__main__":
    main()
