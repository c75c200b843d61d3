#!/usr/bin/env python3
"""Public reports of exports that compute or train something else than their model, as small models: reports.py make|judge|both DIR [REGEX].

Each name begins with the report that the model was written after, from the part of it that a search shows: the same operator or habit, not always
the same case. What trains is a Linear or Conv in front of what the report is about. The exports, the comparison and the table are those of
default_exports.py beside this file.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

import default_exports
from default_exports import model


class Function(nn.Module):
    """f(x, parts...): parts are modules, parameters, or what is to be a buffer."""

    def __init__(self, f, *parts):
        super().__init__()
        self.f, self.count = f, len(parts)
        for number, part in enumerate(parts):
            if isinstance(part, torch.Tensor) and not isinstance(part, nn.Parameter):
                self.register_buffer(f"part{number}", part)
            else:
                setattr(self, f"part{number}", part)

    def forward(self, x):
        return self.f(x, *[getattr(self, f"part{number}") for number in range(self.count)])


class Frozen(nn.BatchNorm2d):
    """A norm whose statistics stay, while its module trains."""

    def train(self, mode=True):
        return super().train(False)


def of(name, shape, f, *makers, vocabulary=None):
    model(name, *shape, vocabulary=vocabulary)(lambda: Function(f, *(make() for make in makers)))


def linear(a, b):
    return lambda: nn.Linear(a, b)


def constant(*values):
    return lambda: torch.tensor(values)


def scatters(_):
    of("pytorch#111159 index_add at places that repeat", (6,), lambda x, l, at: torch.zeros(x.shape[0], 3).index_add(1, at, l(x)), linear(6, 5), constant(0, 2, 2, 1, 0))
    of("pytorch#125835 scatter_add", (6,), lambda x, l, at: torch.ones(x.shape[0], 3).scatter_add(1, at.expand(x.shape[0], -1), l(x)), linear(6, 5),
       constant(1, 1, 2, 0, 1))
    of("pytorch#91357 unsorted_segment_sum", (5, 6),
       lambda x, l, at: torch.zeros(x.shape[0], 3, 4).scatter_add(1, at.reshape(1, 5, 1).expand(x.shape[0], -1, 4), l(x)), linear(6, 4), constant(0, 0, 2, 1, 2))
    of("pytorch#29647 a loop that writes into elements", (6,), written_in_a_loop, linear(6, 4))


def written_in_a_loop(x, layer):
    y = layer(x)
    out = torch.zeros_like(y)
    for k in range(y.shape[1]):
        out[:, k] = y[:, y.shape[1] - 1 - k] * (k + 1)
    return out


def indices(_):
    of("pytorch#139455 right shift of negative integers as an index", (6,), lambda x, table: table(((x - 10) >> 1) + 6), lambda: nn.Embedding(12, 4), vocabulary=20)
    of("pytorch#85127 an element of a tensor as an index", (3, 6), lambda x, l, at: l(x)[:, :, at[0, 0]], linear(6, 4), lambda: torch.tensor([[2, 0, 1]]))
    of("pytorch#60179 padding by a remainder of a negative size", (7, 4), stacked, linear(8, 3))
    of("pytorch#16497 the last element", (5, 6), lambda x, l: l(x)[:, :, -1], linear(6, 4))
    of("pytorch#139594 index_fill along the first axis of one", (6,), lambda x, l, at: l(x).index_fill(1, at, -1.0), linear(6, 4), constant(1, 3))


def stacked(x, layer):
    x = F.pad(x, [0, 0, 0, (-x.shape[1]) % 2])
    return layer(x.reshape(x.shape[0], x.shape[1] // 2, x.shape[2] * 2))


def convolutions(_):
    of("pytorch#86690 circular padding of two axes", (2, 5, 6), lambda x, c: c(F.pad(x, (1, 1, 2, 2), "circular")), lambda: nn.Conv2d(2, 3, 3))
    of("pytorch#100160 circular padding, same, kernel of 6", (2, 8, 8), lambda x, c: c(x), lambda: nn.Conv2d(2, 3, 6, padding="same", padding_mode="circular"))
    of("onnxruntime#14208 ConvTranspose, output_padding within the dilation", (2, 9, 9), lambda x, c: c(x),
       lambda: nn.ConvTranspose2d(2, 3, 2, padding=3, dilation=2, output_padding=1))
    of("pytorch#104206 ConvTranspose with output_padding", (2, 5, 5), lambda x, c: c(x), lambda: nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1, output_padding=1))
    of("pytorch#166797 a convolution without bias before a norm", (3, 8, 8), lambda x, c, n: n(c(x)), lambda: nn.Conv2d(3, 4, 3, bias=False), lambda: nn.BatchNorm2d(4))


def norms(_):
    of("pytorch#75252 BatchNorm2d(track_running_stats=False)", (2, 6, 6), lambda x, c, n: n(torch.relu(c(x))), lambda: nn.Conv2d(2, 3, 3),
       lambda: nn.BatchNorm2d(3, track_running_stats=False))
    of("pytorch#49229 a frozen norm in a module that trains", (2, 6, 6), lambda x, c, n: n(torch.relu(c(x))), lambda: nn.Conv2d(2, 3, 3), lambda: Frozen(3))
    of("pytorch#41231 BatchNorm3d behind a convolution of time", (3, 2, 8, 8), lambda x, c, n: n(torch.relu(c(x))),
       lambda: nn.Conv3d(3, 4, (1, 5, 5), stride=(1, 2, 2), padding=(0, 2, 2), bias=False), lambda: nn.BatchNorm3d(4))
    of("pytorch#116574 LayerNorm(bias=False)", (6,), lambda x, l, n: n(l(x)), linear(6, 8), lambda: nn.LayerNorm(8, bias=False))
    of("onnxruntime#26584 one norm called twice", (2, 6, 6), lambda x, c, n: n(torch.relu(c(x))) + n(torch.sigmoid(c(x))), lambda: nn.Conv2d(2, 3, 3),
       lambda: nn.BatchNorm2d(3))


def sequences(_):
    of("pytorch#110557 TransformerEncoder over an Embedding", (5,), lambda x, e, t: t(e(x)), lambda: nn.Embedding(15, 16),
       lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 16, dropout=0.0, batch_first=True), 2), vocabulary=15)
    of("pytorch#109532 TransformerEncoder with time first", (5, 16), lambda x, t: t(x.transpose(0, 1)).transpose(0, 1),
       lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0), 1))
    of("pytorch#125158 attention with a scale", (5, 8), lambda x, l: F.scaled_dot_product_attention(*l(x).chunk(3, -1), scale=0.03125), linear(8, 24))
    of("onnxruntime#1607 a bidirectional RNN of relu with an initial state", (4, 3), lambda x, r, h: r(x, h.expand(-1, x.shape[0], -1).contiguous())[0],
       lambda: nn.RNN(3, 2, nonlinearity="relu", bidirectional=True, batch_first=True), lambda: nn.Parameter(torch.randn(2, 1, 2)))
    of("pytorch#72399 two bidirectional LSTMs in a row", (5, 8), lambda x, a, l, b: b(l(a(x)[0]))[0], lambda: nn.LSTM(8, 6, bidirectional=True, batch_first=True),
       linear(12, 8), lambda: nn.LSTM(8, 6, bidirectional=True, batch_first=True))
    of("pytorch#91526 lengths sorted before an LSTM", (5, 4), sorted_by_length, lambda: nn.LSTM(4, 6, batch_first=True), constant(3, 5))
    of("pytorch#88072 one activation twice, over a mean", (3, 4, 6, 6), clipped_twice, lambda: nn.Conv3d(3, 4, (1, 3, 3), stride=(2, 1, 2)))


def clipped_twice(x, convolution):
    y = convolution(x)
    y = y / (2 + torch.mean(y))
    return torch.cat([torch.relu(y), F.relu6(y), F.relu6(y)], 1)


def sorted_by_length(x, layer, lengths):
    order = torch.argsort(lengths, descending=True)
    return layer(x[order])[0][torch.argsort(order)]


if __name__ == "__main__":
    default_exports.FAMILIES[:] = [scatters, indices, convolutions, norms, sequences]
    default_exports.main()
