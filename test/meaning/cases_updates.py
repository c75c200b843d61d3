"""Buffers that forward changes, norms in several modes, float64."""
import torch
import torch.nn.functional as F
from torch import nn

from making import case, classes, evaluated, export, norms, record, sgd, targets, train


class RunningMean(nn.Module):
    """Its buffer follows what a trained layer gives: no gradient goes into it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("running", torch.zeros(5))
        self.first, self.last = nn.Linear(6, 5), nn.Linear(5, 3)

    def forward(self, x):
        hidden = self.first(x).tanh()
        if self.training:
            with torch.no_grad():
                self.running.mul_(0.95).add_(0.05 * hidden.mean(0))
        return self.last(hidden - self.running)


class Ring(nn.Module):
    """The newest rows stand in front of the older ones; what the queue holds afterwards is read, or is an output."""

    def __init__(self, late=False):
        super().__init__()
        self.late, self.alone = late, False
        self.register_buffer("queue", torch.zeros(12, 6))
        self.f = nn.Linear(6, 3)

    def forward(self, x):
        before = self.queue.clone()
        if self.training:
            with torch.no_grad():
                self.queue.copy_(torch.cat([x, before[:-4]]))
        y = self.f(x) + (x @ (before if self.late else self.queue).t()).mean(1, keepdim=True)
        return (y, self.queue) if self.late and not self.alone else y


class Replaced(nn.Module):
    """The queue is the last batch itself: the file no longer computes it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("queue", torch.zeros(4, 6))
        self.f = nn.Linear(6, 3)

    def forward(self, x):
        y = self.f(x) + (x @ self.queue.t()).mean(1, keepdim=True)
        if self.training:
            self.queue.copy_(x.detach())
        return y


class Spectral(nn.Module):
    """Power iteration of a spectral norm: one vector follows from the other."""

    def __init__(self):
        super().__init__()
        self.weight, self.last = nn.Parameter(torch.randn(5, 6)), nn.Linear(5, 3)
        self.register_buffer("u", F.normalize(torch.randn(5), dim=0))

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                v = F.normalize(self.weight.t() @ self.u, dim=0)
                self.u.copy_(F.normalize(self.weight @ v, dim=0))
        v = F.normalize(self.weight.t().detach() @ self.u, dim=0)
        return self.last(x @ (self.weight / (self.u @ self.weight @ v)).t())


def updated(folder, make, buffer, about, options=(), relative=1e-5, weights_relative=1e-4, steps=8, **names):
    model, data = make().train(), targets(3, (6,), (3,), 24, shift=1)
    export(model, (torch.from_numpy(data["x"][:4]),), folder, **names)
    model.alone = True
    losses, trained = train(model, data, 4, steps, "mse", sgd(0.05))
    weights = norms(trained, model, [buffer])
    record(folder, about, {"loss": losses, "relative": relative, "weights": weights, "weights_relative": weights_relative,
                           "eval_loss": evaluated(trained, data, "mse")},
           compile=["--loss", "mse", "--optimizer", "sgd", "--lr", "0.05", *options], run=["--steps", str(steps)], data=data)


@case
def updates_mean(folder):
    updated(folder, RunningMean, "running", "a running mean of a hidden layer moves in training, and evaluation reads it as it is")


@case
def updates_mean_bf16(folder):
    updated(folder, RunningMean, "running", "a running mean moves under 16 bits, too", ["--precision", "bf16"], 0.05, 0.05)


@case
def updates_queue(folder):
    updated(folder, Ring, "queue", "a queue takes the rows of each batch, and evaluation leaves it alone")


@case
def updates_queue_late(folder):
    updated(folder, lambda: Ring(late=True), "queue", "what no output of the model would need is an output of its own", ["--logits", "y"],
            output_names=["y", "after"])


@case
def updates_spectral(folder):
    updated(folder, Spectral, "u", "the vector of a power iteration is a constant for the gradient")


@case
def updates_lost(folder):
    model, data = Replaced().train(), targets(3, (6,), (3,), 8)
    export(model, (torch.from_numpy(data["x"][:4]),), folder)
    record(folder, "the file no longer computes what forward leaves in the queue", {"exit": 1, "stderr": "lost-update.*queue",
                                                                                     "lint": r"^error\[lost-update\] .*queue"},
           compile=["--loss", "mse"], data=data, command="compile")


class Norms(nn.Module):
    """`still` is in eval() while the others train; `plain` has no scale."""

    def __init__(self):
        super().__init__()
        self.first, self.still, self.live = nn.Linear(6, 5), nn.BatchNorm1d(5), nn.BatchNorm1d(5)
        self.plain, self.last = nn.BatchNorm1d(5, affine=False), nn.Linear(5, 3)
        with torch.no_grad():
            for norm in (self.still, self.live, self.plain):
                norm.running_mean.uniform_(-1, 1)
                norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        return self.last(self.plain(self.live(self.still(self.first(x)).relu())))


def modes(folder, training, about, flag, script=False, expect=None):
    """`training`: the modules that PyTorch trains in train()."""
    model, data = Norms().train(), classes(4, (6,), 3, 24, shift=1)
    model.still.eval()
    options = {"training": torch.onnx.TrainingMode.PRESERVE} if script else {}
    export_as(model, torch.from_numpy(data["x"][:6]), folder, script, options)
    for name in ("still", "live", "plain"):
        getattr(model, name).train(name in training)
    losses, trained = train(model, data, 6, 6, "cross-entropy", sgd(0.05))
    names = [f"{name}.running_{what}" for name in ("still", "live", "plain") for what in ("mean", "var") if name in training]
    record(folder, about, {"loss": losses, "relative": 1e-5, "weights": norms(trained, model, names), "weights_relative": 1e-4},
           compile=["--loss", "cross-entropy", *flag, "--optimizer", "sgd", "--lr", "0.05"], run=["--steps", "6"], data=data)


def export_as(model, example, folder, script, options):
    if not script:
        export(model, (example,), folder)
        return
    torch.onnx.export(model, (example,), str(folder / "model.onnx"), dynamo=False, do_constant_folding=False, opset_version=17,
                      input_names=["x"], output_names=["y"], **options)


@case
def modes_of_the_file(folder):
    modes(folder, ("live", "plain"), "a norm that was in eval() beside others in train() stays so", ["--train-mode"])


@case
def modes_by_name(folder):
    modes(folder, ("still", "plain"), "--train-mode=REGEX names the modules, whatever mode the file notes",
          ["--train-mode=^(still|plain)"])


@case
def modes_script(folder):
    modes(folder, ("live", "plain"), "TrainingMode.PRESERVE keeps the modes in the nodes: nothing is to be said", [], script=True)


@case
def modes_plain(folder):
    model = Norms().eval()
    export(model, (torch.zeros(4, 6),), folder)
    record(folder, "a norm without a scale is frozen, too", {"lint": r"^error\[frozen-batchnorm\] .*plain.*parameters before it train"},
           compile=["--loss", "cross-entropy"], command="lint")


@case
def double_classes(folder):
    model, data = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)).double(), classes(4, (6,), 3, 24)
    data["x"] = data["x"].astype("f8")
    export(model, (torch.from_numpy(data["x"][:6]),), folder)
    trained = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
    update, losses = torch.optim.SGD(model.parameters(), lr=0.5), []
    for step in range(6):
        rows = slice(step * 6 % 24, step * 6 % 24 + 6)
        loss = trained(model(torch.from_numpy(data["x"][rows])), torch.from_numpy(data["labels"][rows]))
        update.zero_grad()
        loss.backward()
        update.step()
        losses.append(loss.item())
    record(folder, "cross-entropy of float64 logits", {"loss": losses, "relative": 1e-6},
           compile=["--loss", "cross-entropy", "--label-smoothing", "0.1", "--optimizer", "sgd", "--lr", "0.5"], run=["--steps", "6"], data=data)
