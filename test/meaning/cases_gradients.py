"""Gradients that the operators alone do not tell: stopped ones, operands of norms, kinks, and verdicts that are guesses."""
import torch
import torch.nn.functional as F
from torch import nn

from making import case, classes, export, norms, record, sgd, targets, train

MSE = ["--loss", "mse", "--optimizer", "sgd", "--lr", "0.1"]
IN_GRAPH = ["--loss", "none", "--loss-output", "loss", "--optimizer", "sgd", "--lr", "0.1"]


def learned(folder, about, model, data, compile, loss="mse", names=(), steps=4, rows=8, rate=0.1, **options):
    """A case that trains like PyTorch."""
    model.train()
    output = ["loss"] if loss == "graph" else ["y"]
    export(model, (torch.from_numpy(data["x"][:rows]),), folder, output_names=output, **options)
    losses, trained = train(model, data, rows, steps, loss, sgd(rate))
    expect = {"loss": losses, "relative": 2e-5}
    if names:
        expect.update(weights=norms(trained, model, names), weights_relative=1e-3)
    record(folder, about, expect, compile=compile, run=["--steps", str(steps)], data=data)


class Siamese(nn.Module):
    """SimSiam: each view predicts the other, whose own gradient is stopped."""

    def __init__(self):
        super().__init__()
        self.encoder, self.predictor = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 5)), nn.Linear(5, 5)

    def forward(self, x):
        first, second = self.encoder(x), self.encoder(x * 0.7 + 0.2)
        return -(F.cosine_similarity(self.predictor(first), second.detach()).mean() +
                 F.cosine_similarity(self.predictor(second), first.detach()).mean()) / 2


@case
def detach_siamese(folder):
    learned(folder, "no gradient passes the detach() of SimSiam's targets", Siamese(), {"x": targets(1, (6,), (6,), 16)["x"]}, IN_GRAPH, "graph",
            ["encoder.0.weight", "predictor.weight"])


class StraightThrough(nn.Module):
    """Rounds to quarters and lets the gradient pass."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x):
        z = torch.tanh(self.inner(x)) * 2
        return self.outer(z + (torch.round(z * 4) / 4 - z).detach())


@case
def detach_straight_through(folder):
    learned(folder, "a straight-through estimator: what is rounded has the gradient of what is not", StraightThrough(), targets(2, (6,), (3,), 16), MSE,
            names=["inner.weight"])


@case
def detach_removed(folder):
    model, data = StraightThrough().train(), targets(2, (6,), (3,), 16)
    export(model, (torch.from_numpy(data["x"][:8]),), folder, optimize=True)
    record(folder, "the exporter's optimizer removes the node of a detach(): lint says where", {"lint": r"^error\[lost-detach\] node_add detach", "agree": True},
           compile=MSE, command="lint")


class Batchwise(nn.Module):
    """Norms whose statistics the model computes: the batch's mean and variance, with no running ones."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(2, 4, 3, bias=False), nn.BatchNorm2d(4, track_running_stats=False)
        self.second, self.plain = nn.Linear(4, 3), nn.BatchNorm1d(3, affine=False, track_running_stats=False)

    def forward(self, x):
        return self.plain(self.second(self.norm(self.first(x)).relu().mean((2, 3))))


@case
def norm_operands(folder):
    learned(folder, "the gradient flows through a mean and a variance that the model computes", Batchwise(), classes(3, (2, 6, 6), 3, 16, shift=1),
            ["--loss", "cross-entropy", "--optimizer", "sgd", "--lr", "0.1"], "cross-entropy", ["first.weight", "norm.weight", "second.weight"])


KINKS = {
    "clamp": lambda v: v.clamp(-1, 1), "least": lambda v: v.clamp(min=0), "most": lambda v: v.clamp(max=1),
    "tensors": lambda v: torch.maximum(torch.minimum(v, torch.ones(6)), -torch.ones(6)), "relu6": lambda v: F.relu6(v * 6),
    "hardtanh": F.hardtanh, "hardsigmoid": lambda v: F.hardsigmoid(v * 3), "hardswish": lambda v: F.hardswish(v * 3),
    "leaky": lambda v: F.leaky_relu(v, 0.1), "abs": torch.abs, "softshrink": F.softshrink, "hardshrink": F.hardshrink, "threshold": lambda v: F.threshold(v, 0.5, 0.0),
    "max": lambda v: v.max(1, keepdim=True).values, "min": lambda v: v.min(1)[0][:, None], "amax": lambda v: v.amax(1, keepdim=True),
    "std": lambda v: v.std(1, keepdim=True), "biased": lambda v: v.std(1, keepdim=True, correction=0), "norm": lambda v: v.norm(dim=1, keepdim=True),
    "cube": lambda v: torch.linalg.vector_norm(v, 3, dim=1, keepdim=True), "most-norm": lambda v: torch.linalg.vector_norm(v, float("inf"), dim=1, keepdim=True),
    "distance": lambda v: F.pairwise_distance(v, torch.zeros(1, 6), eps=0.0, keepdim=True), "cosine": lambda v: F.cosine_similarity(v, torch.ones(4, 6), dim=1, eps=0.5)[:, None],
    "remainder": lambda v: torch.fmod(v * 1.5, 0.7) + torch.remainder(v, 0.4),
}


OF_ROWS = ("max", "min", "amax", "std", "biased", "norm", "cube", "most-norm", "distance", "cosine")


class Kinks(nn.Module):
    """Each function at its kinks, over weights of its own that begin as the values given."""

    def __init__(self, values, functions):
        super().__init__()
        self.functions = functions
        self.at = nn.ParameterDict({name: nn.Parameter(values.clone()) for name in functions})

    def forward(self, x):
        return sum((function(self.at[name]) * x).mean() for name, function in self.functions.items())


def kinks(folder, functions, **options):
    values = torch.tensor([[-1.0, 0, 1, 0.5, -0.5, 1], [0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [1, 0, 1, -1, 0, -1]])
    learned(folder, "gradients where a function has a kink are PyTorch's", Kinks(values, functions), {"x": targets(4, (6,), (2,), 4)["x"]}, IN_GRAPH, "graph",
            [f"at.{name}" for name in functions], steps=1, rows=4, **options)


@case
def kinks_by_metadata(folder):
    kinks(folder, {name: function for name, function in KINKS.items() if name not in OF_ROWS})


@case
def kinks_of_rows(folder):
    kinks(folder, {name: KINKS[name] for name in OF_ROWS})


@case
def kinks_without_metadata(folder):
    """What operators alone tell: no max(dim), which is amax() in such a file, no clamp by tensors, which is one by numbers, and no cosine,
    whose least lengths that exporter takes from their product."""
    kinks(folder, {name: f for name, f in KINKS.items() if name not in ("max", "min", "threshold", "most-norm", "tensors", "cosine")}, script=True)


class Saturated(nn.Module):
    """Rows that are looked up more or less often, and probabilities of exactly 0 and 1."""

    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(5, 3, padding_idx=0, scale_grad_by_freq=True), nn.Linear(6, 2)
        self.head.weight.data.mul_(40)
        self.register_buffer("rows", torch.tensor([[1, 2, 1], [0, 1, 3], [4, 4, 1], [0, 2, 3]]))

    def forward(self, x):
        p = torch.sigmoid(self.head(x) * 3)
        return F.binary_cross_entropy(p, (x[:, :2] > 0).float()) + torch.tanh(self.table(self.rows)).mean()


@case
def gradients_of_functions(folder):
    learned(folder, "binary_cross_entropy has PyTorch's gradient where it is at its bound, and an embedding divides by frequency", Saturated(),
            {"x": targets(6, (6,), (2,), 4)["x"]}, IN_GRAPH, "graph", ["table.weight", "head.weight", "head.bias"], rows=4)


class Guessed(nn.Module):
    """A class token of zeros, a temperature, slopes of ALiBi, and a mask of zeros and ones."""

    def __init__(self):
        super().__init__()
        self.token, self.temperature = nn.Parameter(torch.zeros(1, 1, 6)), nn.Parameter(torch.ones(1))
        self.register_buffer("slopes", 2.0 ** -torch.arange(1.0, 7))
        self.register_buffer("mask", torch.tensor([0.0, 1, 1, 0, 1, 1]))
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        y = torch.cat([self.token.expand(x.shape[0], 1, 6), x[:, None]], 1) * self.mask + self.slopes
        return self.head(torch.tanh(y).mean(1)) * self.temperature


@case
def guesses_made(folder):
    learned(folder, "a token of zeros and a temperature of a file without metadata train; --freeze keeps ALiBi's slopes", Guessed(), classes(5, (6,), 3, 16),
            ["--loss", "cross-entropy", "--optimizer", "sgd", "--lr", "0.1", "--freeze", "slopes"], "cross-entropy", ["token", "temperature"], script=True)


@case
def guesses_refused(folder):
    export(Guessed().train(), (torch.zeros(2, 6),), folder, script=True)
    record(folder, "--strict asks for a choice", {"lint": r"^error\[undecided-verdict\]  slopes ", "lint_not": r"undecided-verdict.* head\.", "agree": True}, compile=["--loss", "cross-entropy", "--strict"], command="lint")


@case
def guesses_settled(folder):
    export(Guessed().train(), (torch.zeros(2, 6),), folder, script=True)
    record(folder, "--train and --freeze answer --strict", {"lint_not": "undecided", "agree": True},
           compile=["--loss", "cross-entropy", "--strict", "--train", "token|temperature", "--freeze", "slopes|mask"], command="compile")


class Towers(nn.Module):
    """A temperature that the exporter's optimizer computes."""

    def __init__(self):
        super().__init__()
        self.one, self.other, self.scale = nn.Linear(6, 4), nn.Linear(6, 4), nn.Parameter(torch.tensor(2.5))

    def forward(self, x):
        return self.one(x) * self.other(x) * self.scale.exp()


@case
def scale_computed(folder):
    export(Towers().train(), (torch.zeros(2, 6),), folder, optimize=True)
    record(folder, "the exponential of a scalar parameter became a constant", {"lint": r"^error\[folded-parameter\].*scale", "agree": True}, compile=MSE, command="lint")


class Ones(nn.Module):
    """A constant whose values a fresh norm's weight has."""

    def __init__(self):
        super().__init__()
        self.f, self.norm = nn.Linear(6, 6), nn.LayerNorm(6)

    def forward(self, x):
        return torch.maximum(self.norm(self.f(x)) * torch.ones(6), x)


@case
def constant_merged(folder):
    export(Ones().train(), (torch.zeros(2, 6),), folder, optimize=True)
    record(folder, "the exporter stored a constant of ones and a norm's weight once", {"lint": r"^error\[merged-parameters\] .* norm.weight .*constant 'ones'", "agree": True},
           compile=MSE, command="lint")


class Chosen(nn.Module):
    """Rows whose number depends on their values."""

    def __init__(self):
        super().__init__()
        self.f = nn.Linear(6, 4)

    def forward(self, x):
        y = self.f(x)
        return y[(y[:, 0] > 0).nonzero()[:, 0]]


@case
def refused_sizes(folder):
    export(Chosen().train(), (torch.randn(8, 6),), folder)
    record(folder, "lint and compile refuse a size that depends on values", {"lint": r"^error\[unsupported-op\] node_NonZero", "agree": True}, compile=MSE, command="lint")


class LearnedClip(nn.Module):
    """Bounds that train, as in learned quantisation."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(6, 8), nn.Linear(8, 3)
        self.low, self.high = nn.Parameter(torch.tensor(-0.2)), nn.Parameter(torch.tensor(0.3))

    def forward(self, x):
        return self.outer(torch.clamp_max(torch.clamp_min(self.inner(x), self.low), self.high))


@case
def learned_bounds(folder):
    learned(folder, "bounds of clamp_min and clamp_max that are parameters get what does not pass", LearnedClip(), targets(9, (6,), (3,), 16), MSE,
            names=["inner.weight", "low", "high"])


class NormOfAll(nn.Module):
    """Norms whose rows are all there is: a gradient of a scale is no sum."""

    def __init__(self):
        super().__init__()
        self.table, self.norm, self.scale = nn.Parameter(torch.randn(3, 6)), nn.LayerNorm([3, 6]), nn.RMSNorm(5)
        self.bias = nn.Parameter(torch.randn(5))

    def forward(self, x):
        return x @ self.norm(self.table).T + self.scale(self.bias)[:3]


@case
def norm_of_all(folder):
    learned(folder, "a layer norm of a whole parameter, an RMS norm of a vector", NormOfAll(), targets(10, (6,), (3,), 16), MSE,
            names=["table", "norm.weight", "norm.bias", "scale.weight", "bias"])


class Masked(nn.Module):
    """Masks that are buffers decide shapes, and are known when compiling; stacks are loops over a sequence in the file."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.rows = nn.Linear(6, 4), nn.Linear(6, 2), nn.Parameter(torch.randn(3, 6))
        self.register_buffer("here", torch.tensor([True, False, True, True, False, False]))

    def forward(self, x):
        y = torch.hstack([torch.tanh(self.a(x)), self.b(x)])
        y = y.masked_scatter(self.here.expand(8, 6), self.rows.repeat(2, 1).reshape(-1)[:24] * y.mean())
        return y[:, self.here]


@case
def masks_of_buffers(folder):
    learned(folder, "masked_scatter and an index by masks that are buffers, hstack", Masked(), targets(11, (6,), (3,), 16), MSE,
            names=["a.weight", "b.weight", "rows"])
