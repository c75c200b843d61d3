"""Arguments of PyTorch's calls that the exporter's translation drops, and operators whose meaning the standard leaves open."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from making import case, classes, export, norms, record, sgd, targets, train

MSE = ["--loss", "mse", "--optimizer", "sgd", "--lr", "0.1"]
IN_GRAPH = ["--loss", "none", "--loss-output", "loss", "--optimizer", "sgd", "--lr", "0.1"]


class Pooled(nn.Module):
    """A convolution, `pool`, and a head on the mean and the corner of what that gives."""

    def __init__(self, pool):
        super().__init__()
        self.conv, self.head, self.pool = nn.Conv2d(2, 3, 3, padding=1), nn.Linear(6, 2), pool

    def forward(self, x):
        y = self.pool(torch.tanh(self.conv(x)))
        return self.head(torch.cat([y.mean((2, 3)), y[:, :, 0, 0]], 1))


class Loss(nn.Module):
    def __init__(self, **words):
        super().__init__()
        self.a, self.words = nn.Linear(6, 5), words

    def forward(self, x, t):
        return F.cross_entropy(self.a(x), t, **self.words)


class Rows(nn.Module):
    """Rows of a table that `scatter` changes at fixed places."""

    def __init__(self, scatter, at=(0, 2, 2, 4)):
        super().__init__()
        self.table, self.rows, self.head, self.scatter = nn.Parameter(torch.randn(5, 4) * 0.3), nn.Linear(3, 4), nn.Linear(4, 2), scatter
        self.register_buffer("at", torch.tensor(at))

    def forward(self, x):
        return self.head(torch.tanh(torch.stack([self.scatter(self.table, self.at, self.rows(one)) for one in x.unbind()])))


def lost(folder, about, module, expected, **words):
    """Lint and compile refuse the file, and name the argument."""
    export(module.train(), (torch.randn(4, 2, 6, 6),), folder)
    record(folder, about, {"lint": rf"^error\[lost-argument\] .*{expected}", "agree": True, "stderr": expected}, compile=MSE, command="lint", **words)


def learned(folder, about, module, data, names, **options):
    export(module.train(), (torch.from_numpy(data["x"][:4]),), folder, **options)
    losses, trained = train(module, data, 4, 4, "mse", sgd(0.1))
    record(folder, about, {"loss": losses, "relative": 2e-5, "weights": norms(trained, module, names), "weights_relative": 1e-3, "lint_not": "^error"},
           compile=MSE, run=["--steps", "4"], data=data)


@case
def argument_divisor(folder):
    lost(folder, "avg_pool2d(divisor_override=5)", Pooled(lambda y: F.avg_pool2d(y, 3, 2, 1, divisor_override=5)), "divisor_override = 5 of avg_pool2d")


@case
def argument_factor(folder):
    lost(folder, "interpolate(scale_factor=0.6, antialias=True) of 6 by 6",
         Pooled(lambda y: F.interpolate(y, scale_factor=0.6, mode="bilinear", antialias=True)), "scales_h = 0.6 of _upsample_bilinear2d_aa")


@case
def argument_corners(folder):
    lost(folder, "interpolate(align_corners=True, antialias=True)",
         Pooled(lambda y: F.interpolate(y, size=(4, 3), mode="bilinear", antialias=True, align_corners=True)), "align_corners = True")


@case
def argument_harmless(folder):
    data = targets(5, (2, 6, 6), (2,), 16)
    pool = lambda y: F.interpolate(F.avg_pool2d(y, 2, divisor_override=None), scale_factor=2.0, mode="bilinear", antialias=True)
    learned(folder, "values that lose nothing: a factor that gives the size", Pooled(pool), data, ["conv.weight", "head.weight"])


@case
def argument_scales(folder):
    """Corners of whole sizes (9.6 by 3.6 are 9 by 3), element 3 / 0.6 is 5, and 0.7 of 10 is 7."""
    corners = lambda y: F.interpolate(y, scale_factor=(1.6, 0.6), mode="bilinear", align_corners=True)
    nearest = lambda y: F.interpolate(F.pad(y, (0, 4, 0, 1)), scale_factor=(0.6, 0.7), mode="nearest")
    learned(folder, "factors of sizes that are no products of whole numbers", Pooled(lambda y: nearest(y) + corners(y)[:, :, :1, :1]),
            targets(11, (2, 6, 6), (2,), 16), ["conv.weight", "head.weight"])


@case
def argument_scales_script(folder):
    corners = lambda y: F.interpolate(y, scale_factor=(1.6, 0.6), mode="bilinear", align_corners=True)
    learned(folder, "the same by TorchScript's exporter", Pooled(corners), targets(12, (2, 6, 6), (2,), 16), ["conv.weight", "head.weight"], script=True)


class Projected(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.LSTM(4, 5, proj_size=3, batch_first=True), nn.Linear(3, 2)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


@case
def argument_projection(folder):
    export(Projected().train(), (torch.randn(2, 6, 4),), folder)
    record(folder, "LSTM(proj_size=3)", {"lint": r"^error\[lost-argument\] .*proj_size of lstm", "agree": True, "stderr": "proj_size of lstm"}, compile=MSE,
           command="lint")


@case
def argument_probabilities(folder):
    export(Loss().train(), (torch.randn(4, 6), torch.rand(4, 5).softmax(1)), folder, input_names=["x", "t"], output_names=["loss"])
    record(folder, "cross_entropy of probabilities", {"exit": 1, "stderr": "Probabilities are no labels"}, compile=IN_GRAPH, command="compile")


@case
def argument_smoothing(folder):
    export(Loss(label_smoothing=0.1).train(), (torch.randn(4, 6), torch.randint(0, 5, (4,))), folder, input_names=["x", "t"], output_names=["loss"])
    record(folder, "cross_entropy(label_smoothing=0.1) in the graph", {"lint": r"^error\[lost-argument\] .*label_smoothing = 0.1", "agree": True}, compile=IN_GRAPH,
           command="lint")


@case
def argument_mean(folder):
    scatter = lambda table, at, rows: table.scatter_reduce(0, at[:, None].expand(-1, 4), rows, "mean", include_self=False)
    export(Rows(scatter).train(), (torch.randn(4, 4, 3),), folder)
    record(folder, "scatter_reduce(mean)", {"lint": r"^error\[lost-argument\] .*reduce = mean", "agree": True}, compile=MSE, command="lint")


def reduced(folder, kind, include):
    scatter = lambda table, at, rows: table.scatter_reduce(0, at[:, None].expand(-1, 4), rows, kind, include_self=include)
    learned(folder, f"scatter_reduce({kind}, include_self={include})", Rows(scatter), targets(6, (4, 3), (5, 2), 16), ["table", "rows.weight"])


@case
def scatter_amax(folder):
    reduced(folder, "amax", True)


@case
def scatter_amin_alone(folder):
    reduced(folder, "amin", False)


@case
def scatter_product(folder):
    reduced(folder, "prod", True)


@case
def scatter_repeats(folder):
    put = lambda table, at, rows: table.index_put((at,), rows, accumulate=True)
    export(Rows(put).train(), (torch.randn(4, 4, 3),), folder, script=True)
    record(folder, "index_put(accumulate=True) at repeated places, by TorchScript's exporter", {"exit": 1, "stderr": "constant indices repeat"}, compile=MSE,
           command="compile")


@case
def scatter_once(folder):
    put = lambda table, at, rows: table.index_put((at,), rows, accumulate=True)
    learned(folder, "the same at places that do not repeat", Rows(put, (3, 0, 4, 1)), targets(7, (4, 3), (5, 2), 16), ["table", "rows.weight"], script=True)


class Grid(nn.Module):
    def __init__(self, **words):
        super().__init__()
        self.conv, self.head, self.words = nn.Conv2d(2, 3, 3, padding=1), nn.Linear(3, 2), words
        at = torch.linspace(-1.6, 1.6, 9)
        self.register_buffer("grid", torch.stack(torch.meshgrid(at, at, indexing="xy"), -1)[None])

    def forward(self, x):
        return self.head(F.grid_sample(torch.tanh(self.conv(x)), self.grid.expand(len(x), -1, -1, -1), **self.words).mean((2, 3)))


@case
def grid_cubic_border(folder):
    learned(folder, "grid_sample(bicubic, border): the kernel reaches beyond a border", Grid(mode="bicubic", padding_mode="border", align_corners=True),
            targets(8, (2, 4, 5), (2,), 16), ["conv.weight", "head.weight"])


class OwnLoss(nn.Module):
    """A loss of plain operators."""

    def __init__(self):
        super().__init__()
        self.l = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))

    def forward(self, x, y):
        return ((self.l(x) - y) ** 2).mean()


@case
def loss_in_graph_bf16(folder):
    """PyTorch's products in bf16, and all from the last one on in fp32."""
    module, data = OwnLoss(), {**targets(9, (8,), (8,), 16)}
    data = {"x": data["x"], "y": data["labels"]}
    export(module.train(), (torch.from_numpy(data["x"][:4]), torch.from_numpy(data["y"][:4])), folder, input_names=["x", "y"], output_names=["loss"])
    losses = []
    for step in range(4):
        x, y = (torch.from_numpy(data[name][4 * step:4 * step + 4]) for name in "xy")
        with torch.no_grad():
            low = module.l.bfloat16()(x.bfloat16()).float()
            losses.append(((low - y) ** 2).mean().item())
    record(folder, "a loss that the graph makes is not rounded to 16 bits", {"loss": losses, "relative": 1e-5},
           compile=[*IN_GRAPH[:-1], "0", "--precision", "bf16"], run=["--steps", "4"], data=data)
