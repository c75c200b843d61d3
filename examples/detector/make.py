#!/usr/bin/env python3
"""Exports detector.onnx and detector-loss.onnx: a network that finds squares and circles, untrained, without its loss and together with
it. Needs torch and onnxscript.
"""
import pathlib
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from exporting import export  # noqa: E402

CELLS = 8


class Detector(nn.Module):
    """For each of 8 by 8 cells: whether a shape has its middle there, its box, and what it is."""

    def __init__(self):
        super().__init__()
        parts, channels = [], 1
        for wide, stride in ((8, 2), (16, 2), (32, 1), (32, 1)):
            parts += [nn.Conv2d(channels, wide, 3, stride, 1), nn.GroupNorm(4, wide), nn.SiLU()]
            channels = wide
        self.body, self.head = nn.Sequential(*parts), nn.Conv2d(channels, 7, 1)
        steps = (torch.arange(CELLS) + 0.5) / CELLS
        self.register_buffer("middles", torch.stack(torch.meshgrid(steps, steps, indexing="xy"), -1).reshape(CELLS * CELLS, 2))

    def forward(self, pixels):
        found = self.head(self.body(pixels)).flatten(2).transpose(1, 2)  # rows, cells, 7
        middle = self.middles + torch.tanh(found[..., 1:3]) / CELLS
        return torch.cat([found[..., :1], middle, torch.sigmoid(found[..., 3:5]), found[..., 5:]], -1)


class WithLoss(nn.Module):
    """A box belongs to the cell of its middle. Rows of class -1 fill the list of boxes, and count nothing."""

    def __init__(self, detector):
        super().__init__()
        self.detector = detector

    def forward(self, pixels, boxes):
        found = self.detector(pixels)
        place = (boxes[..., 1:3] * CELLS).floor().clamp(0, CELLS - 1)
        cell = (place[..., 1] * CELLS + place[..., 0]).unsqueeze(-1)
        there = (cell == torch.arange(CELLS * CELLS)).float() * (boxes[..., :1] >= 0).float()  # rows, boxes, cells
        count = there.sum()
        objects = F.binary_cross_entropy_with_logits(found[..., 0], there.amax(1), reduction="sum")
        apart = (F.smooth_l1_loss(found[:, None, :, 1:5], boxes[:, :, None, 1:], reduction="none", beta=0.05).sum(-1) * there).sum()
        kinds = found[:, None, :, 5:].log_softmax(-1)
        wrong = -(torch.where(boxes[:, :, None, 0] == 1, kinds[..., 1], kinds[..., 0]) * there).sum()
        return (objects + 5 * apart + wrong) / count


torch.manual_seed(0)
model = Detector()
pixels, boxes = torch.randn(2, 1, 32, 32), torch.rand(2, 3, 5)
export(model, (pixels,), HERE / "detector.onnx", ["pixels"], "found", ({0: "batch"},))
export(WithLoss(model), (pixels, boxes), HERE / "detector-loss.onnx", ["pixels", "boxes"], "loss", ({0: "batch"}, {0: "batch"}))
