#!/usr/bin/env python3
"""Exports digits.onnx: a small convolutional classifier of pictures of 16 by 16 points, untrained. Needs torch and onnxscript."""
import pathlib
import sys

import torch
import torch.nn as nn

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from exporting import export  # noqa: E402

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(),
                      nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 10))
export(model, (torch.randn(2, 1, 16, 16),), HERE / "digits.onnx", ["pixels"], "logits", ({0: "batch"},))
