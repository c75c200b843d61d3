"""What sweep_pytorch.py trains."""
import dataclasses
import typing

import torch


@dataclasses.dataclass
class Case:
    module: torch.nn.Module
    inputs: typing.Dict[str, torch.Tensor]
    labels: torch.Tensor
    loss: str = "mse"          # or "ce"
    train_mode: bool = False   # BatchNormalization by batch
    optimize: bool = True      # torch.onnx's own: folds what is computed of parameters alone
