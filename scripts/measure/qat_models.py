#!/usr/bin/env python3
"""Five models trained for integers, and their files in ONNX Runtime: qat_models.py [--models mlp,resnet,mobilenet,vit,bert] [--folder DIR]

Needs a Python with torch, torchvision, transformers, onnx and onnxruntime; kedge in PATH. Digits of examples/digits (bert: sentences of
examples/sentences): trained in fp32, then by `--qat .*=int8`, exported by --export-quantized, and run as the file is written and with
products in integers, one row of a table a model: accuracy over the test rows in fp32, rounded by the program, and in ONNX Runtime in integers;
the furthest output, and the share of outputs further than a step (1/255 of the outputs' range), in both forms; and how many of the products with
weights ONNX Runtime computes in integers.
"""
import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnxruntime
import torch
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[2]
BATCH = 20
INTEGERS = ("QLinearConv", "MatMulIntegerToFloat", "QLinearMatMul", "QGemm", "ConvInteger", "MatMulInteger", "DynamicQuantizeMatMul")


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def resnet():
    from torchvision.models.resnet import BasicBlock, ResNet

    model = ResNet(BasicBlock, [2, 2, 2, 2], num_classes=10)
    model.conv1 = nn.Conv2d(1, 64, 3, padding=1, bias=False)
    model.maxpool = nn.Identity()
    return model


def mobilenet():
    from torchvision.models import mobilenet_v2

    stages = [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 2, 2], [6, 64, 2, 2]]
    model = mobilenet_v2(num_classes=10, inverted_residual_setting=stages, dropout=0.0)
    model.features[0][0] = nn.Conv2d(1, 32, 3, padding=1, bias=False)
    return model


def vit():
    from torchvision.models import VisionTransformer

    model = VisionTransformer(image_size=16, patch_size=4, num_layers=4, num_heads=4, hidden_dim=64, mlp_dim=128, num_classes=10)
    model.conv_proj = nn.Conv2d(1, 64, 4, stride=4)
    nn.init.trunc_normal_(model.heads.head.weight, std=0.1)
    return model


def bert():
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(vocab_size=40, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, max_position_embeddings=16,
                        num_labels=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = BertForSequenceClassification(config)

    class Logits(nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = model

        def forward(self, input_ids, attention_mask):
            return self.bert(input_ids=input_ids, attention_mask=attention_mask).logits

    return Logits()


def run(folder, *words):
    done = subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{words}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout


class Case:
    def __init__(self, name, folder):
        self.name, self.folder = name, folder / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.inputs = {"input_ids": "ids", "attention_mask": "mask"} if name == "bert" else {"pixels": "pixels"}
        data = "sentences" if name == "bert" else "digits"
        run(folder, sys.executable, ROOT / f"examples/{data}/data.py", data)
        self.part = lambda part: {tensor: folder / data / f"{part}-{short}.npy" for tensor, short in [*self.inputs.items(), ("labels", "labels")]}
        self.data = lambda part: [f"{tensor}={path}" for tensor, path in self.part(part).items()]

    def export(self):
        torch.manual_seed(0)
        example = tuple(torch.from_numpy(np.load(self.part("train")[name])[:BATCH]) for name in self.inputs)
        model = globals()[self.name]().train()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(model, example, self.folder / "fresh.onnx", input_names=list(self.inputs), output_names=["logits"], dynamo=True,
                              optimize=False, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, verbose=False, opset_version=21,
                              dynamic_shapes=tuple({0: torch.export.Dim("rows")} for _ in example), external_data=False)
        self.shape = [f"{name}={'x'.join(map(str, (BATCH, *value.shape[1:])))}" for name, value in zip(self.inputs, example)]

    def train(self, file, program, epochs, rate, *options):
        run(self.folder, "kedge", "compile", file, "--shape", *self.shape, "--loss", "cross-entropy", *options, "-o", program)
        run(self.folder, f"./{program}", "--data", *self.data("train"), "--epochs", epochs, "--shuffle", 0, "--lr", rate, "--schedule", "cosine",
            "--eval-data", *self.data("test"), "--predict", f"logits={program}.npy", "--export-onnx", f"{program}.onnx", "--checkpoint-dir", program + "-states")
        return np.load(self.folder / f"{program}.npy")

    def logits(self, form):
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.x64quantprecision", "1")
        options.optimized_model_filepath = str(self.folder / f"{form}.opt.onnx")
        options.log_severity_level = 3
        if form == "written":
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(str(self.folder / "integers.onnx"), options, providers=["CPUExecutionProvider"])
        return session.run(["logits"], {name: np.load(self.part("test")[name]) for name in self.inputs})[0]

    def row(self, epochs):
        self.export()
        labels = np.load(self.part("test")["labels"])
        accuracy = lambda logits: f"{(logits.argmax(1) == labels).mean():.3f}"
        plain = self.train("fresh.onnx", "plain", epochs, 2e-3)
        rounded = self.train("plain.onnx", "rounded", 3, 3e-4, "--qat", ".*=int8", "--qat-observe", 10,
                             *(["--qat-sums"] if self.name in ("resnet", "mobilenet") else []))
        run(self.folder, "./rounded", "--steps", 0, "--resume", "rounded-states", "--export-onnx", "integers.onnx", "--export-quantized")
        step, cells = np.ptp(rounded) / 255, []
        for form in ("written", "integers"):
            theirs = self.logits(form)
            away = np.abs(theirs - rounded) / step
            cells.append(f"{away.max():.2g}, {(away > 1).mean() * 100:.2g}%")
        kinds = collections.Counter(node.op_type for node in onnx.load(self.folder / "integers.opt.onnx").graph.node)
        print(f"| {self.name} | {accuracy(plain)} | {accuracy(rounded)} | {accuracy(theirs)} | {cells[0]} | {cells[1]} | "
              f"{sum(kinds[kind] for kind in INTEGERS)} of {self.products()} |", flush=True)

    def products(self):
        """With a weight in integers."""
        graph = onnx.load(self.folder / "integers.onnx").graph
        stored = {tensor.name for tensor in graph.initializer}
        weights = {node.output[0] for node in graph.node if node.op_type == "DequantizeLinear" and node.input[0] in stored}
        weights |= {node.output[0] for node in graph.node if node.op_type == "Transpose" and node.input[0] in weights}
        return sum(node.op_type in ("MatMul", "Gemm", "Conv") and node.input[1] in weights for node in graph.node)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="mlp,resnet,mobilenet,vit,bert")
    parser.add_argument("--folder", type=pathlib.Path)
    o = parser.parse_args()
    folder = (o.folder or pathlib.Path(tempfile.mkdtemp())).resolve()
    epochs = {"mlp": 15, "resnet": 6, "mobilenet": 20, "vit": 40, "bert": 8}
    print("| model | fp32 | rounded | ONNX Runtime, integers | as written: furthest, further than a step | in integers | products in integers |")
    print("|---|---|---|---|---|---|---|")
    for name in o.models.split(","):
        Case(name, folder).row(epochs[name])


main()
