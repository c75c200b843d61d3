"""Experts whose weights are one tensor each, as default exports leave them."""
import torch
import torch.nn as nn

from cases_exports import plain
from making import case, targets

EXPERTS, CHOSEN, WIDTH = 4, 2, 6


class Experts(nn.Module):
    """Each row through two of four matrices, the better fitting ones."""

    def __init__(self):
        super().__init__()
        self.router, self.experts, self.last = nn.Linear(WIDTH, EXPERTS, bias=False), Matrices(), nn.Linear(WIDTH, 2)

    def routed(self, x):
        shares, chosen = self.router(x).softmax(-1).topk(CHOSEN, -1)
        return shares / shares.sum(-1, keepdim=True), chosen


class Matrices(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Parameter(torch.randn(EXPERTS, 5, WIDTH) / 2)
        self.up_bias = nn.Parameter(torch.randn(EXPERTS, 5) / 2)
        self.down = nn.Parameter(torch.randn(EXPERTS, WIDTH, 5) / 2)


class Unrolled(Experts):
    """A loop over all experts: the export has a constant for each slice of each weight."""

    def forward(self, x):
        shares, chosen = self.routed(x)
        y = torch.zeros_like(x)
        for number in range(EXPERTS):
            inner = torch.relu(x @ self.experts.up[number].T + self.experts.up_bias[number])
            y = y + inner @ self.experts.down[number].T * ((chosen == number) * shares).sum(-1, keepdim=True)
        return self.last(y)


class Indexed(Experts):
    """A matrix for each row and expert: the export has the weights under names of its own."""

    def forward(self, x):
        shares, chosen = self.routed(x)
        rows, places = x.repeat_interleave(CHOSEN, 0), chosen.reshape(-1)
        inner = torch.relu(torch.bmm(self.experts.up[places], rows[:, :, None])[:, :, 0] + self.experts.up_bias[places])
        each = torch.bmm(self.experts.down[places], inner[:, :, None])[:, :, 0] * shares.reshape(-1, 1)
        return self.last(each.view(x.shape[0], CHOSEN, WIDTH).sum(1))


NAMES = ["experts.up", "experts.up_bias", "experts.down", "router.weight"]


@case
def exported_loop_over_experts(folder):
    plain(folder, "the slices of experts' weights in an unrolled loop are the weights again", Unrolled(), targets(12, (WIDTH,), (2,), 18), NAMES)


@case
def exported_indexed_experts(folder):
    plain(folder, "weights of experts that an index chooses keep their names", Indexed(), targets(12, (WIDTH,), (2,), 18), NAMES)
