#!/usr/bin/env python3
"""Trains 40 models from six exports each, as printed, and compares ten losses with PyTorch.

    default_exports.py make DIR [REGEX] [--size N] [--rows N] [--cells REGEX]     exports, data and PyTorch's losses, in fp32 and in fp64
    default_exports.py judge DIR [REGEX]                          compiles and trains them
    default_exports.py both DIR [REGEX]                           a model after the other; its files go when it is judged

Exports: default (dynamo), optimize=False, TorchScript, each after train() and after eval(). Nothing is told to kedge but the loss and the
optimizer; a file of evaluation mode that asks is compiled again with --train-mode=off, which is what it asks for. Prints a row of a
table a model: the largest relative difference of a loss, or the code of the refusal, with its lines where they are more than four. 'like fp64' is
a difference that PyTorch's own losses in fp32 and fp64 have, too; 'told' is one that the warning padding-row announces, which a file
without a record cannot settle. Ends with a count, and with 1 if a cell DIFFERS. --size: pictures of N x N; --rows: the batch. Needs torch, torchvision, timm,
transformers, onnx and onnxscript, and kedge in PATH to judge.
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
import shutil
import subprocess
import sys
import warnings

import numpy as np
import torch
import torch.nn as nn

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
torch.set_num_threads(1)
STEPS, ROWS, RATE = 10, 2, 0.01
FORMS, MODES = ("default", "optimize=False", "script"), {True: "train", False: "eval"}
MODELS = {}
# Nets with BatchNormalization in training mode: with two rows of 1 x 1 pixels, or at a rate at which they diverge, PyTorch's own losses in
# fp32 and fp64 have nothing in common (regnet_y_400mf: 1e15 and 1e184).
CALM_ROWS, CALM_RATE, CALM_SIZE = 8, 0.001, 64
CALM = set()


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


def torch_models(_):
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


def vision_models(size):
    import timm
    import torchvision.models as tv
    image = (3, size or CALM_SIZE, size or CALM_SIZE)
    for name in ("resnet18", "mobilenet_v3_small", "efficientnet_b0", "densenet121", "shufflenet_v2_x0_5", "squeezenet1_1", "regnet_y_400mf",
                 "convnext_tiny", "swin_t", "mnasnet0_5"):
        model(name, *image)(lambda name=name: getattr(tv, name)(num_classes=5))
        CALM.add(name)
    model("vit, small", 3, 32, 32)(lambda: tv.VisionTransformer(32, 8, 2, 2, 32, 64, num_classes=5))
    for name, more in (("mixer_s32_224", dict(img_size=32)), ("vit_tiny_patch16_224", dict(img_size=32)), ("deit_tiny_patch16_224", dict(img_size=32)),
                       ("beit_base_patch16_224", dict(img_size=32, depth=2, embed_dim=48, num_heads=4)), ("resmlp_12_224", dict(img_size=32)),
                       ("gmlp_s16_224", dict(img_size=32))):
        model(f"timm {name}", 3, 32, 32)(
            lambda name=name, more=more: timm.create_model(name, num_classes=5, **more))


def language_models(_):
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


FAMILIES = [torch_models, vision_models, language_models]


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
        mode = torch.onnx.TrainingMode.PRESERVE  # each module's own
        quiet(lambda: torch.onnx.export(module, (example,), str(path), dynamo=False, training=mode, opset_version=17, **names))
    else:
        quiet(lambda: torch.onnx.export(module, (example,), str(path), dynamo=True, optimize=form == "default", external_data=False, **names))


def reference(module, data, labels, rows, rate=RATE):
    module, losses = copy.deepcopy(module), []
    update = torch.optim.SGD(module.parameters(), lr=rate)
    for step in range(STEPS):
        part = slice(step * rows, (step + 1) * rows)
        loss = nn.functional.mse_loss(module(data[part]), labels[part])
        update.zero_grad()
        loss.backward()
        update.step()
        losses.append(loss.item())
    return losses


def in_double(module, data, labels, rows, rate=RATE):
    """None where the model makes tensors of a type of its own."""
    try:
        return reference(module.double(), data.double() if data.is_floating_point() else data, labels.double(), rows, rate)
    except RuntimeError:
        return None


def prepared(make, training):
    torch.manual_seed(1)
    module = make().train(training)
    for part in module.modules():
        if isinstance(part, (nn.Dropout, nn.Dropout2d)):
            part.p = 0.0  # random masks are not compared here
        if isinstance(part, nn.MultiheadAttention):
            part.dropout = 0.0
        if type(part).__name__ in ("StochasticDepth", "DropPath"):
            part.eval()
    return module


def make_model(folder, make, shape, vocabulary, rows, cells, rate=RATE):
    """The six exports of a model, and for each mode its data and what PyTorch computes."""
    for training in (True, False):
        module = prepared(make, training)
        data = torch.randint(1, vocabulary, (STEPS * rows, *shape)) if vocabulary else torch.randn(STEPS * rows, *shape)
        with torch.no_grad():
            labels = torch.randn(STEPS * rows, *copy.deepcopy(module)(data[:rows]).shape[1:])
        for form in filter(lambda form: re.search(cells, f"{form}, {MODES[training]}"), FORMS):
            cell = folder / f"{form}, {MODES[training]}"
            cell.mkdir(parents=True, exist_ok=True)
            try:
                export(copy.deepcopy(module), data[:rows], cell / "m.onnx", form)
            except Exception as error:
                (cell / "refused.txt").write_text(type(error).__name__)
        losses = reference(module, data, labels, rows, rate)
        exact = in_double(prepared(make, training), data, labels, rows, rate) or losses  # evaluation may have kept tensors of the first
        mode = folder / MODES[training]
        np.save(f"{mode}-x.npy", data.numpy())
        np.save(f"{mode}-labels.npy", labels.numpy())
        pathlib.Path(f"{mode}.json").write_text(json.dumps({"losses": losses, "exact": exact, "rate": rate}) + "\n")


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def compiled(path, program, rate=RATE):
    """What compile says; a second time with what a file of evaluation mode asks for."""
    words = ["kedge", "compile", path, "--loss", "mse", "--optimizer", "sgd", "--lr", rate, "-o", program]
    done, how = run(*words), ""
    if done.returncode and "--train-mode=off" in done.stderr and done.stderr.count("error[") == 1:
        done, how = run(*words, "--train-mode=off"), " (asked)"
    return done, how


def refusal(words):
    codes = sorted(set(re.findall(r"error\[([a-z-]+)", words)))
    if not codes:
        return "error: " + words.strip()[-80:].replace("\n", " ")
    lines = sum(bool(line.strip()) for line in words.splitlines())
    return ", ".join(codes) + (f" ({lines} lines)" if lines > 4 * len(codes) + 2 else "")  # and how many findings there are, and the next command


def gap_of(losses, others):
    return max(abs(a - b) / max(abs(b), 1e-3) if a is not None and np.isfinite([a, b]).all() else np.inf for a, b in zip(losses, others, strict=True))


def judged(cell, mode):
    if (cell / "refused.txt").exists():
        return "not exported: " + (cell / "refused.txt").read_text()
    program, log = cell / "p", cell / "log"
    want = json.loads(pathlib.Path(f"{mode}.json").read_text())
    done, how = compiled(cell / "m.onnx", program, want["rate"])
    (cell / "compile.txt").write_text(done.stderr)
    if done.returncode:
        return refusal(done.stderr)
    words = done.stderr
    done = run(program, "--data", f"x={mode}-x.npy", "--data", f"labels={mode}-labels.npy", "--steps", STEPS, "--log", log, "--threads", 1)
    program.unlink()
    if done.returncode:
        torchs = "" if np.isfinite(np.array(want["losses"], "f8")).all() else "PyTorch's are not finite either; "
        return torchs + "run: " + done.stderr.strip()[-80:].replace("\n", " ")
    got = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    gap, exact = gap_of(got, want["losses"]), gap_of(want["losses"], want["exact"])
    if gap <= 1e-5:
        return f"{gap:.0e}{how}"
    if "[padding-row]" in words:
        return f"told {gap:.0e}{how}"
    return f"like fp64 {gap:.0e}, {exact:.0e}{how}" if gap <= 10 * exact else f"DIFFERS {gap:.0e}, {exact:.0e}{how}"


def judge_model(folder):
    cells = [(folder / f"{form}, {mode}", folder / mode) for form in FORMS for mode in MODES.values()]
    return [judged(*cell) if cell[0].exists() else "" for cell in cells]


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("make", "judge", "both"))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("regex", nargs="?", default=".")
    parser.add_argument("--size", type=int)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--cells", default=".", help="only exports that this expression is found in: 'optimize=False, train'")
    return parser.parse_args()


def all_models(options):
    """Name -> what makes it, the shape of a row, and its vocabulary."""
    for family in FAMILIES:
        family(options.size)
    return {name: model for name, model in MODELS.items() if re.search(options.regex, name)}


def made_folders(options):
    for name, (make, shape, vocabulary) in all_models(options).items():
        folder = options.folder / re.sub(r"\W+", "-", name)
        try:
            calm = name in CALM
            make_model(folder, make, shape, vocabulary, max(options.rows, CALM_ROWS) if calm else options.rows, options.cells,
                       CALM_RATE if calm else RATE)
            (folder / "name.txt").write_text(name)
            yield folder
        except Exception as error:
            print(f"| {name} | not made: {type(error).__name__}: {str(error)[:100]} |", flush=True)


def main():
    options = arguments()
    folders = made_folders(options) if options.what != "judge" else sorted(at.parent for at in options.folder.glob("*/name.txt"))
    if options.what != "make":
        print("| model | default, train | default, eval | optimize=False, train | optimize=False, eval | TorchScript, train | TorchScript, eval |")
        print("|---|---|---|---|---|---|---|", flush=True)
    cells = []
    for folder in folders:
        name = (folder / "name.txt").read_text()
        if options.what == "make":
            print("made", name, flush=True)
        elif re.search(options.regex, name):
            row = judge_model(folder)
            cells += row
            print(f"| {name} | " + " | ".join(row) + " |", flush=True)
        if options.what == "both":
            shutil.rmtree(folder)
    wrong = sum("DIFFERS" in cell or cell.startswith("run:") for cell in cells)
    print(f"{sum(map(bool, cells))} exports, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
