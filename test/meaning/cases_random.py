"""Random numbers that are no Dropout node's: drawn in training, off in evaluation, predictions and exported files."""
import copy

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from making import case, classes, export, record


class Around(nn.Module):
    """Noise between two layers, beside a residual."""

    def __init__(self, noise, images=False):
        super().__init__()
        self.first = nn.Conv2d(2, 4, 3, padding=1) if images else nn.Linear(6, 6)
        self.noise, self.head, self.images = noise, nn.Linear(4 if images else 6, 3), images

    def forward(self, x):
        z = torch.tanh(self.first(x)) * 2
        z = z + self.noise(z)
        return self.head(z.mean((2, 3)) if self.images else z)


class Path(nn.Module):
    """Rows are dropped, in one of three notations; `scaled` rows keep their mean."""

    def __init__(self, keep, notation, scaled=True):
        super().__init__()
        self.keep, self.notation, self.scaled = keep, notation, scaled

    def forward(self, x):
        if not self.training:
            return x
        shape = (x.shape[0],) + (1,) * (x.dim() - 1)
        if self.notation == "floor":
            return x.div(self.keep) * (self.keep + torch.rand(shape)).floor()
        if self.notation == "where":
            return torch.where(torch.rand(shape) > 1 - self.keep, x, torch.zeros(())) / self.keep
        mask = x.new_empty(shape).bernoulli_(self.keep)
        return x * (mask / self.keep if self.scaled else mask)


class DropPath(Path):
    """By its name alone: rows are dropped, and the others are not scaled."""


class Attended(nn.Module):
    """Attention whose dropout the exporters of torch lose; its call still names the probability."""

    def __init__(self, mask=None):
        super().__init__()
        self.mask = mask

    def forward(self, x):
        tokens = x.view(x.shape[0], 1, 3, 2)
        drop = 0.5 if self.training else 0.0
        return F.scaled_dot_product_attention(tokens, tokens.flip(2), 3 * tokens, attn_mask=self.mask, dropout_p=drop).reshape(x.shape)


def off(folder, noise, about, images=False, rows=4, options=(), script=False, optimize=False):
    """Predictions, exported files and evaluation of eval(); losses of training at rate 0 that vary about train()'s mean."""
    model, data = Around(noise, images).train(), classes(2, (2, 5, 5) if images else (6,), 3, 16, shift=0.4)
    export(model, (torch.from_numpy(data["x"][:rows]),), folder, script=script,
           **({} if script else {"optimize": optimize}))
    still = copy.deepcopy(model).eval()
    x, labels = torch.from_numpy(data["x"]), torch.from_numpy(data["labels"])
    with torch.no_grad():
        y = still(x)
        losses = np.array([F.cross_entropy(model(x[:rows]), labels[:rows]).item() for _ in range(4000)])
    np.save(folder / "y.npy", y.numpy())
    data = {"x": data["x"], "labels": data["labels"]}
    # The same rows each step, so that the losses vary by the noise alone.
    steps, spread = 600, losses.std()
    assert spread > 1e-3
    losses = [[float(F.cross_entropy(model(x[at:at + rows]), labels[at:at + rows])) for at in range(0, 16, rows)] for _ in range(3000)]
    losses = np.array(losses)
    record(folder, about, {"predict": {"y": "y.npy"}, "onnx_output": {"y": "y.npy"}, "relative": 1e-4,
                           "eval_loss": F.cross_entropy(y, labels).item(),
                           "loss_mean": [losses.mean(), 5 * losses.std() / steps ** 0.5], "loss_spread": [losses.std(), 0.15 * losses.std()]},
           compile=["--loss", "cross-entropy", "--optimizer", "sgd", *options], run=["--steps", str(steps), "--lr", "0"], data=data, command="predict")


@case
def drop_attention(folder):
    off(folder, Attended(), "attention's dropout, written turned off")


@case
def drop_attention_default(folder):
    off(folder, Attended(), "attention's dropout, left out by the optimizer", optimize=True)


@case
def drop_attention_script(folder):
    off(folder, Attended(), "attention's dropout without a mode", script=True)


@case
def drop_attention_masked(folder):
    mask = torch.tensor([[True, True, False]] * 3)
    off(folder, Attended(mask), "attention's dropout without a mode, behind what gives zeros to rows that see nothing", script=True)


class Bernoulli(nn.Module):
    def forward(self, x):
        return x * torch.bernoulli(torch.full_like(x, 0.5)) * 2 if self.training else x


@case
def drop_constant(folder):
    model, data = Around(Bernoulli()).train(), classes(2, (6,), 3, 16)
    export(model, (torch.from_numpy(data["x"][:4]),), folder, optimize=True)
    record(folder, "numbers of torch.bernoulli() that the optimizer drew at export are refused",
           {"exit": 1, "stderr": "constant-random", "lint": r"^error\[constant-random\] node_mul_1 bernoulli"},
           compile=["--loss", "cross-entropy"], run=["--steps", "1"], data=data)


@case
def drop_rows(folder):
    off(folder, Path(0.6, "bernoulli"), "a mask of rows, divided by its probability")


@case
def drop_rows_floor(folder):
    off(folder, Path(0.7, "floor"), "the floor of a uniform number and a probability, after a division by it")


@case
def drop_rows_where(folder):
    off(folder, Path(0.7, "where"), "a comparison that chooses between rows and zero")


@case
def drop_rows_bf16(folder):
    off(folder, Path(0.6, "bernoulli"), "a mask of rows under bf16", options=["--precision", "bf16"])
    text = (folder / "case.json").read_text()
    (folder / "case.json").write_text(text.replace('"relative": 0.0001', '"relative": 0.03'))


@case
def drop_rows_unscaled(folder):
    off(folder, DropPath(0.5, "bernoulli", scaled=False), "a mask of rows that only the name of its class tells to be off in eval()")


@case
def drop_rows_script(folder):
    off(folder, Path(0.6, "bernoulli"), "a mask of rows in a file of the older exporter", script=True)


@case
def drop_channels(folder):
    off(folder, nn.Dropout2d(0.4), "Dropout2d", images=True)


@case
def drop_alpha(folder):
    off(folder, nn.AlphaDropout(0.3), "AlphaDropout, which is neither scaled nor centred outside of training")


class Noisy(nn.Module):
    def forward(self, x):
        return 0.1 * torch.randn_like(x)


@case
def noise_unknown(folder):
    model, data = Around(Noisy()).train(), classes(2, (6,), 3, 16)
    export(model, (torch.from_numpy(data["x"][:4]),), folder)
    record(folder, "noise of which nothing tells whether eval() has it: evaluation is refused, and lint names it",
           {"exit": 1, "stderr": "evaluation.*node_randn_like.*--allow random-evaluation", "lint": r"^warning\[random-evaluation\] node_randn_like"},
           compile=["--loss", "cross-entropy"], run=["--steps", "1", "--eval-data", "x=CASE/x.npy", "--eval-data", "labels=CASE/labels.npy"], data=data)
