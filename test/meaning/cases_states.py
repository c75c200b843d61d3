"""States that no optimizer updates, under 16 bits."""
import torch
from torch import nn

from making import adamw, case, classes, evaluated, export, norms, record, sgd, train


class Normed(nn.Module):
    """Two norms, of which one counts its batches instead of forgetting them."""

    def __init__(self, width=4, classes=3):
        super().__init__()
        self.first, self.norm = nn.Conv2d(2, width, 3, bias=False), nn.BatchNorm2d(width, momentum=0.2)
        self.middle = nn.Identity() if width == 4 else nn.Linear(width, width)
        self.second, self.last = nn.Linear(width, classes), nn.BatchNorm1d(classes, affine=False)

    def forward(self, x):
        return self.last(self.second(self.middle(self.norm(self.first(x)).relu().mean((2, 3)))))


def statistics(folder, precision, options=(), rows=8, wide=0):
    rows, micro = max(rows, wide), 2 if "--accumulate" in options else 1
    model, data = Normed(*((wide, 3) if wide else ())).train(), classes(5, (2, 6, 6), 3, 3 * rows * micro, shift=1)
    export(model, (torch.from_numpy(data["x"][:rows]),), folder)
    losses, trained = train(model, data, rows, 12, "cross-entropy", sgd(0.05), micro=micro)
    names = ["norm.running_mean", "norm.running_var", "last.running_mean", "last.running_var"]
    weights = norms(trained, model, names)
    record(folder, f"running statistics move under {precision} {' '.join(options)}, and evaluation and exports have them",
           {"loss": losses, "relative": 0.05, "weights": weights, "weights_relative": 0.05, "onnx": {k: v[:1] for k, v in weights.items()},
            "eval_loss": evaluated(trained, data)},
           compile=["--loss", "cross-entropy", "--train-mode", "--precision", precision, "--optimizer", "sgd", "--lr", "0.05", *options],
           run=["--steps", "12"], data=data)


@case
def statistics_bf16(folder):
    statistics(folder, "bf16")


@case
def statistics_fp16(folder):
    statistics(folder, "fp16", ["--loss-scale", "1024"])


@case
def statistics_without_masters(folder):
    statistics(folder, "bf16", ["--master-weights", "off"])


@case
def statistics_autocast(folder):
    statistics(folder, "bf16", ["--precision-policy", "autocast"])


@case
def statistics_fp8(folder):
    statistics(folder, "fp8", wide=16)


@case
def statistics_micro_batches(folder):
    statistics(folder, "bf16", ["--accumulate", "2"], rows=4)
