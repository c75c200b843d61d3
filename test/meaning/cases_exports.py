"""Default exports (optimize=True), and the modes of an export, as printed: no option says anything of them."""
import torch
import torch.nn as nn

from making import case, classes, export, norms, record, sgd, targets, train

MSE = ["--loss", "mse", "--optimizer", "sgd", "--lr", "0.05"]


def plain(folder, about, model, data, weights=(), rows=6, steps=8, options=(), loss="mse", **how):
    """The file trains as the model does, exported by default unless `how` says otherwise."""
    export(model, (torch.from_numpy(data["x"][:rows]),), folder, optimize=True, **how)
    losses, trained = train(model, data, rows, steps, loss, sgd(0.05))
    expect = {"loss": losses, "relative": 2e-5}
    if weights:
        expect.update(weights=norms(trained, model, weights), weights_relative=1e-4)
    record(folder, about, expect, compile=[*MSE, *options], run=["--steps", str(steps)], data=data)


class Recurrent(nn.Module):
    """Fresh biases of zeros in both layers: the exporter stores them once."""

    def __init__(self, kind, zeros, **options):
        super().__init__()
        self.layer, self.last = kind(4, 3, batch_first=True, **options), nn.Linear(6 if options.get("bidirectional") else 3, 2)
        with torch.no_grad():
            for name, value in self.layer.named_parameters():
                if zeros and "bias" in name:
                    value.zero_()

    def forward(self, x):
        return self.last(self.layer(x)[0].mean(1))


@case
def exported_gru(folder):
    plain(folder, "a GRU's gates, reordered and joined at export, are its parameters again", Recurrent(nn.GRU, False, bidirectional=True),
          targets(3, (5, 4), (2,), 18), ["layer.weight_ih_l0", "layer.weight_hh_l0_reverse", "layer.bias_hh_l0"])


@case
def exported_lstm(folder):
    plain(folder, "two layers whose biases are zeros, stored once", Recurrent(nn.LSTM, True, num_layers=2),
          targets(4, (5, 4), (2,), 18), ["layer.weight_ih_l1", "layer.bias_ih_l0", "layer.bias_hh_l1"])


@case
def exported_rnn(folder):
    plain(folder, "a plain recurrent layer has one gate", Recurrent(nn.RNN, False), targets(5, (5, 4), (2,), 18), ["layer.weight_hh_l0"])


class Fused(nn.Module):
    """One product for query, key and value."""

    def __init__(self):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.last = (nn.Linear(6, n) for n in (6, 6, 6, 3))

    def forward(self, x):
        weight = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])
        bias = torch.cat([self.q_proj.bias, self.k_proj.bias, self.v_proj.bias])
        q, k, v = nn.functional.linear(x, weight, bias).chunk(3, -1)
        return self.last((q.tanh() * k).softmax(-1) * v)


@case
def exported_joined(folder):
    plain(folder, "query, key and value, joined at export, are parameters again", Fused(), targets(6, (6,), (3,), 18),
          ["q_proj.weight", "k_proj.weight", "v_proj.weight", "k_proj.bias", "v_proj.bias"])


class Positions(nn.Module):
    """Rows 0 to T - 1 of a table, a class token repeated over the batch, a bias times a recorded number."""

    def __init__(self):
        super().__init__()
        self.places, self.token, self.shift = nn.Embedding(9, 4), nn.Parameter(torch.randn(1, 1, 4)), nn.Parameter(torch.randn(4))
        self.first, self.norm, self.second, self.last = nn.Linear(4, 4), nn.LayerNorm(4), nn.LayerNorm(4), nn.Linear(4, 2)
        nn.init.zeros_(self.first.bias)

    def forward(self, x):
        x = torch.add(self.first(x), self.shift, alpha=2) + self.places(torch.arange(x.shape[1]))
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1)
        return self.last(self.second(self.norm(x).tanh()).mean(1))


@case
def exported_positions(folder):
    plain(folder, "rows of positions, a repeated token, merged norms, a scaled and a dropped bias", Positions(), targets(7, (5, 4), (2,), 18),
          ["token", "shift", "first.bias", "norm.weight", "second.weight"])


class Types(nn.Module):
    """As in BERT: the number of the type is looked up in a buffer of zeros, at the positions."""

    def __init__(self):
        super().__init__()
        self.places, self.types, self.first, self.last = nn.Embedding(9, 4), nn.Embedding(2, 4), nn.Linear(4, 4), nn.Linear(4, 2)
        self.register_buffer("position_ids", torch.arange(9)[None])
        self.register_buffer("token_type_ids", torch.zeros(1, 9, dtype=torch.long))

    def forward(self, x):
        ids = self.position_ids[:, :x.shape[1]]
        kinds = torch.gather(self.token_type_ids.expand(ids.shape[0], -1), 1, ids).expand(x.shape[0], x.shape[1])
        return self.last((self.first(x) + self.types(kinds) + self.places(ids)).tanh().mean(1))


@case
def exported_types(folder):
    plain(folder, "row 0 of a table of types, whose numbers are zeros that are looked up", Types(), targets(8, (5, 4), (2,), 18), ["first.bias", "last.weight"])


class GemmaRMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * (1.0 + self.weight)


class Scales(nn.Module):
    """Fresh: the results of 1 + weight are equal, and the exporter keeps one."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.three = (GemmaRMSNorm(6) for _ in range(3))
        self.first, self.last = nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x):
        return self.last(self.three(self.two(self.first(self.one(x))).tanh()))


@case
def exported_scales(folder):
    plain(folder, "1 + weight of three fresh norms, which the exporter stored once", Scales(), targets(9, (6,), (3,), 18), ["one.weight", "two.weight", "three.weight"])


class ChannelNorm(nn.Module):
    """As ConvNeXt's: what is left of fresh weights and biases is one tensor of another shape for each."""

    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        z = x - x.mean(1, keepdim=True)
        return self.weight[:, None, None] * (z / torch.sqrt(z.pow(2).mean(1, keepdim=True) + 1e-6)) + self.bias[:, None, None]


class ChannelNorms(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = ChannelNorm(4), ChannelNorm(4)
        self.first, self.last = nn.Conv2d(4, 4, 3), nn.Linear(4, 3)

    def forward(self, x):
        return self.last(self.two(self.first(self.one(x)).tanh()).mean((2, 3)))


@case
def exported_channels(folder):
    plain(folder, "fresh weights and biases that were given axes, of which the exporter stored one each", ChannelNorms(), targets(9, (4, 6, 6), (3,), 18),
          ["one.weight", "two.weight", "one.bias", "two.bias"])


class Token(nn.Module):
    """A token of zeros in front: what is left of two is one constant, and nothing tells which parameter it is where."""

    def __init__(self):
        super().__init__()
        self.token, self.mix = nn.Parameter(torch.zeros(1, 1, 6)), nn.Linear(6, 6)

    def forward(self, x):
        tokens = torch.cat([self.token.expand(x.shape[0], -1, -1), x.view(-1, 2, 3).repeat(1, 1, 2)], 1)
        return self.mix(tokens).tanh().mean(1)


@case
def exported_tokens(folder):
    data = targets(9, (6,), (3,), 18)
    export(nn.Sequential(Token(), Token(), nn.Linear(6, 3)), (torch.from_numpy(data["x"][:6]),), folder, optimize=True)
    record(folder, "equal parts of parameters of two modules are refused", {"exit": 1, "stderr": "'0.token', '1.token', which would not train"},
           compile=MSE, run=["--steps", "1"], data=data)


class Affine(nn.Module):
    """As timm's, fresh: the factors times the value of addcmul, 1, are equal, and the exporter keeps one."""

    def __init__(self, width):
        super().__init__()
        self.alpha, self.beta = nn.Parameter(torch.ones(1, width)), nn.Parameter(torch.zeros(1, width))

    def forward(self, x):
        return torch.addcmul(self.beta, self.alpha, x)


class Affines(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = Affine(6), Affine(6)
        self.first, self.last = nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x):
        return self.last(self.two(self.first(self.one(x)).tanh()))


@case
def exported_factors(folder):
    plain(folder, "tensors of addcmul of two fresh modules, which the exporter stored once", Affines(), targets(9, (6,), (3,), 18),
          ["one.alpha", "two.alpha", "one.beta", "two.beta"])


class Modes(nn.Module):
    """Beside a norm in eval() a Dropout of almost nothing, whose masks change no loss."""

    def __init__(self):
        super().__init__()
        self.first, self.still, self.live, self.last = nn.Linear(6, 5), nn.BatchNorm1d(5), nn.BatchNorm1d(5), nn.Linear(5, 3)
        with torch.no_grad():
            for norm in (self.still, self.live):
                norm.running_mean.uniform_(-1, 1)
                norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        return self.last(self.live(self.still(self.first(x)).tanh()))


def moded(folder, about, training, later, options, expect=None):
    """Exported with the modules of `training` in training mode, trained by PyTorch with those of `later`."""
    model, data = Modes(), classes(8, (6,), 3, 18, shift=1)
    for name, module in model.named_children():
        module.train(name in training)
    example = torch.from_numpy(data["x"][:6])
    export(model, (example,), folder)
    for name, module in model.named_children():
        module.train(name in later)
    losses, trained = train(model, data, 6, 6, "cross-entropy", sgd(0.05))
    expect = expect or {"loss": losses, "relative": 1e-5, "weights": norms(trained, model, ["first.weight"]), "weights_relative": 1e-4}
    record(folder, about, expect, compile=["--loss", "cross-entropy", *options, "--optimizer", "sgd", "--lr", "0.05"],
           run=["--steps", "6"], data=data)


@case
def recorded_modes(folder):
    moded(folder, "each module trains in the mode of its export", ("live",), ("live",), [])


@case
def recorded_off(folder):
    moded(folder, "--train-mode=off trains the file as it is", (), (), ["--train-mode=off"])


@case
def recorded_asked(folder):
    moded(folder, "a file exported in evaluation mode asks, in three lines", (), (), [],
          {"exit": 1, "stderr": r"error\[frozen-batchnorm\] 2 modules are in evaluation mode: still, live\n"
                                r".*--train-mode to train.*\n.*--train-mode=off"})


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.last = nn.Embedding(7, 4, padding_idx=0), nn.Linear(4, 2)

    def forward(self, x):
        return self.last(self.words(x).mean(1))


@case
def padding_row(folder):
    model, data = Table(), targets(9, (5,), (2,), 18)
    data["x"] = (torch.arange(90).reshape(18, 5) * 5 % 7).numpy().astype("i8")
    export(model, (torch.from_numpy(data["x"][:6]),), folder, script=True)
    losses, trained = train(model, data, 6, 8, "mse", sgd(0.5))
    record(folder, "--padding-row keeps row 0 as padding_idx does",
           {"loss": losses, "relative": 1e-5, "weights": norms(trained, model, ["words.weight"]), "weights_relative": 1e-4},
           compile=["--loss", "mse", "--padding-row", "words=0", "--optimizer", "sgd", "--lr", "0.5"], run=["--steps", "8"], data=data)


class Twice(nn.Module):
    """A norm's second call reads the statistics that its first one made."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 2)

    def forward(self, x):
        y = self.first(x)
        return self.last(self.norm(torch.relu(y)) + self.norm(torch.sigmoid(y)))


@case
def exported_norm_called_twice(folder):
    plain(folder, "fresh statistics that were stored with scale and shift are the norm's at each of its calls", Twice(), targets(6, (4,), (2,), 18),
          ["norm.weight", "norm.running_var"])


@case
def transposed_output_padding(folder):
    plain(folder, "a transposed convolution whose output_padding is its stride, within the dilation",
          nn.Sequential(nn.ConvTranspose2d(2, 3, 2, padding=3, dilation=2, output_padding=1), nn.Flatten(), nn.Linear(48, 2)), targets(7, (2, 7, 7), (2,), 18),
          ["0.weight", "0.bias"])
