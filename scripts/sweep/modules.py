"""Hand-written modules: an operator or a habit each."""
import torch
import torch.nn.functional as F
from torch import nn

from .case import Case

CASES = {}


class Function(nn.Module):
    """f(x, parameter or module...)."""

    def __init__(self, f, *parts):
        super().__init__()
        self.f, self.count = f, len(parts)
        for number, part in enumerate(parts):
            setattr(self, f"part{number}", part if isinstance(part, nn.Module) else nn.Parameter(part))

    def forward(self, x):
        return self.f(x, *[getattr(self, f"part{number}") for number in range(self.count)])


def add(name, make, shape, out, loss="mse", inputs=None, **words):
    def build():
        torch.manual_seed(1)
        x = torch.randn(*shape) if inputs is None else inputs
        labels = torch.randn(*out) if loss == "mse" else torch.randint(0, out[-1], out[:-1])
        return Case(make(), {"x": x}, labels, loss, **words)
    CASES[name] = build


def chain(name, make, shape, out, **words):
    add(name, lambda: nn.Sequential(*make()), shape, out, **words)


def of(name, f, make, shape, out, **words):
    add(name, lambda: Function(f, *make()), shape, out, **words)


def linear(inputs=4, outputs=3):
    return lambda: (nn.Linear(inputs, outputs),)


def activations():
    plain = ("Softplus Hardswish Hardsigmoid ELU SELU CELU Mish GELU SiLU LeakyReLU PReLU Softsign Tanh Sigmoid LogSigmoid "
             "Hardtanh ReLU6 Tanhshrink Softshrink Hardshrink").split()
    made = {name: getattr(nn, name) for name in plain}
    made.update(Threshold=lambda: nn.Threshold(0.1, 0.2), GLU=nn.GLU, Softmin=lambda: nn.Softmin(dim=-1),
                LogSoftmax=lambda: nn.LogSoftmax(dim=1))
    for name, act in made.items():
        chain(name, lambda act=act, width=4 if name == "GLU" else 8: (nn.Linear(6, 8), act(), nn.Linear(width, 3)), (5, 6), (5, 3))


def norms():
    image, flat = ((2, 3, 8, 8), (2, 3)), lambda norm: lambda: (nn.Conv2d(3, 8, 3), norm(), nn.Flatten(), nn.Linear(288, 3))
    chain("group-norm", flat(lambda: nn.GroupNorm(4, 8)), *image)
    chain("instance-norm", flat(lambda: nn.InstanceNorm2d(8, affine=True)), *image)
    chain("response-norm", flat(lambda: nn.LocalResponseNorm(3)), *image)
    chain("batch-norm", lambda: (nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3)), (16, 6), (16, 3),
          train_mode=True, optimize=False)
    chain("rms-norm", lambda: (nn.Linear(6, 8), nn.RMSNorm(8), nn.Linear(8, 3)), (5, 6), (5, 3))
    chain("layer-norm-2d", lambda: (nn.Linear(6, 8), nn.LayerNorm([4, 8]), nn.Linear(8, 3)), (5, 4, 6), (5, 4, 3))


def convolutions():
    chain("conv-1d", lambda: (nn.Conv1d(3, 8, 5, stride=2, padding=2, dilation=2), nn.ReLU(), nn.Flatten(), nn.Linear(72, 3)),
          (2, 3, 21), (2, 3))
    chain("conv-3d", lambda: (nn.Conv3d(2, 4, 3, padding=1, groups=2), nn.ReLU(), nn.Flatten(), nn.Linear(240, 3)),
          (2, 2, 3, 4, 5), (2, 3))
    chain("conv-transpose", lambda: (nn.ConvTranspose2d(3, 6, 3, stride=2, padding=1, output_padding=1, groups=3), nn.ReLU(),
                                     nn.Conv2d(6, 2, 1)), (2, 3, 5, 5), (2, 2, 10, 10))
    chain("conv-transpose-1d", lambda: (nn.ConvTranspose1d(3, 6, 4, stride=2, dilation=2), nn.Conv1d(6, 2, 1)), (2, 3, 5), (2, 2, 15))
    chain("depthwise", lambda: (nn.Conv2d(4, 8, 3, groups=4, padding="same"), nn.Hardswish(), nn.Conv2d(8, 2, 1)),
          (2, 4, 6, 6), (2, 2, 6, 6))
    chain("pad-modes", lambda: (nn.Conv2d(2, 4, 3, padding=1, padding_mode="reflect"),
                                nn.Conv2d(4, 4, 3, padding=1, padding_mode="circular"),
                                nn.Conv2d(4, 2, 3, padding=1, padding_mode="replicate")), (2, 2, 6, 6), (2, 2, 6, 6))
    of("unfold", lambda x, c: F.unfold(c(x), 3, padding=1), lambda: (nn.Conv2d(2, 2, 1),), (2, 2, 4, 4), (2, 18, 16))
    chain("segmentation", lambda: (nn.Conv2d(3, 4, 3, padding=1),), (2, 3, 5, 5), (2, 5, 5, 4), loss="ce")


def pools():
    pooled = lambda pool: lambda: (nn.Conv2d(2, 4, 3), nn.Softplus(), pool(), nn.Conv2d(4, 2, 1))
    chain("max-pool", pooled(lambda: nn.MaxPool2d(3, 2, 1, ceil_mode=True)), (2, 2, 9, 9), (2, 2, 4, 4))
    chain("average-pool", pooled(lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False)), (2, 2, 9, 9), (2, 2, 4, 4))
    chain("lp-pool", pooled(lambda: nn.LPPool2d(2, 2)), (2, 2, 6, 6), (2, 2, 2, 2))
    chain("adaptive-average", pooled(lambda: nn.AdaptiveAvgPool2d(2)), (2, 2, 8, 8), (2, 2, 2, 2))
    chain("adaptive-max", pooled(lambda: nn.AdaptiveMaxPool2d(1)), (2, 2, 8, 8), (2, 2, 1, 1))
    for mode in ("nearest", "bilinear", "bicubic"):
        chain(f"upsample-{mode}", lambda mode=mode: (nn.Conv2d(2, 3, 1), nn.Upsample(scale_factor=2, mode=mode), nn.Conv2d(3, 2, 1)),
              (2, 2, 5, 4), (2, 2, 10, 8))
    of("upsample-corners", lambda x, c: F.interpolate(c(x), size=(7, 9), mode="bilinear", align_corners=True),
       lambda: (nn.Conv2d(2, 3, 1),), (2, 2, 5, 4), (2, 3, 7, 9))
    chain("pixel-shuffle", lambda: (nn.Conv2d(2, 8, 3, padding=1), nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.Conv2d(8, 2, 1)),
          (2, 2, 4, 4), (2, 2, 4, 4))
    chain("channel-shuffle", lambda: (nn.Conv2d(2, 8, 3, padding=1), nn.ChannelShuffle(4), nn.Conv2d(8, 2, 1, groups=2)),
          (2, 2, 4, 4), (2, 2, 4, 4))


def heads(x, layer):
    return layer(x).view(2, 6, 2, 4).transpose(1, 2)


def attention():
    of("multihead", lambda x, a: a(x, x, x, need_weights=False)[0], lambda: (nn.MultiheadAttention(8, 2, batch_first=True),),
       (2, 5, 8), (2, 5, 8))
    add("encoder", lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True,
                                                                            norm_first=True), 2, enable_nested_tensor=False),
        (2, 5, 8), (2, 5, 8))
    of("causal-sdpa", lambda x, q, k, v: F.scaled_dot_product_attention(heads(x, q), heads(x, k), heads(x, v), is_causal=True)
       .transpose(1, 2).reshape(2, 6, 8), lambda: [nn.Linear(8, 8) for _ in range(3)], (2, 6, 8), (2, 6, 8))
    of("embedding", lambda x, e, l: l(e(x).mean(1)), lambda: (nn.Embedding(11, 6, padding_idx=0), nn.Linear(6, 4)), (), (3, 4),
       loss="ce", inputs=torch.randint(0, 11, (3, 7)))
    for name, cell in (("lstm", nn.LSTM), ("gru", nn.GRU)):
        of(name, lambda x, l: l(x)[0], lambda cell=cell: (cell(4, 5, batch_first=True),), (2, 6, 4), (2, 6, 5), optimize=False)


def products():
    of("einsum-matrix", lambda x, w: torch.einsum("bij,jk->bik", x, w), lambda: (torch.randn(4, 5),), (2, 3, 4), (2, 3, 5))
    of("einsum-three", lambda x, w: torch.einsum("bihd,bjhd,hk->bhij", x * w, x, torch.ones(3, 3)), lambda: (torch.randn(3, 4),),
       (2, 5, 3, 4), (2, 3, 5, 5))
    of("einsum-channels", lambda x, w: torch.einsum("nchw,cd->ndhw", x, w), lambda: (torch.randn(3, 4),), (2, 3, 4, 5), (2, 4, 4, 5))
    of("batched-product", lambda x, w: (x @ w).mT @ x, lambda: (torch.randn(3, 4, 5),), (2, 3, 6, 4), (2, 3, 5, 4))
    of("bilinear", lambda x, b: b(x, x.flip(0)), lambda: (nn.Bilinear(4, 4, 3),), (5, 4), (5, 3), optimize=False)
    add("weight-norm", lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), (5, 4), (5, 3), optimize=False)


def indices():
    of("where-clamp", lambda x, l: torch.where(x > 0, l(x), x * 2).clamp(-1, 1), linear(4, 4), (5, 4), (5, 4))
    of("cumsum", lambda x, l: torch.cumsum(l(x), 1), linear(), (5, 4), (5, 3))
    of("top-k", lambda x, l: torch.topk(l(x), 2, dim=-1)[0], linear(4, 6), (5, 4), (5, 2))
    of("gather", lambda x, l: torch.gather(l(x), 1, torch.tensor([[0, 2], [1, 1], [3, 0], [2, 2], [5, 4]])), linear(4, 6), (5, 4), (5, 2))
    of("index", lambda x, l: l(x)[:, [0, 3, 3, 1]], linear(4, 6), (5, 4), (5, 4))
    of("roll-flip", lambda x, l: torch.roll(l(x), 1, -1) + torch.flip(l(x), [1]), linear(), (5, 4), (5, 3))
    of("split-stack", lambda x, l: torch.cat(torch.chunk(l(x), 3, -1)[::-1], -1) + torch.stack(torch.unbind(l(x), -1), -1),
       linear(4, 6), (5, 4), (5, 6))
    of("expand-repeat", lambda x, w, l: (l(x).unsqueeze(1) + w.expand(5, 2, 3)).sum(1) + l(x).repeat(1, 2)[:, 3:],
       lambda: (torch.randn(2, 3), nn.Linear(4, 3)), (5, 4), (5, 3))
    of("triangles", lambda x, l: torch.tril(l(x)) + torch.triu(l(x), 1) * 2, linear(4, 5), (5, 4), (5, 5))
    of("scatter-add", lambda x, l: torch.zeros(5, 6).scatter_add(1, torch.tensor([[0, 2, 2]] * 5), l(x)), linear(), (5, 4), (5, 6))
    of("grid-sample", lambda x, c: F.grid_sample(c(x), torch.linspace(-.9, .9, 36).view(2, 3, 3, 2), align_corners=False),
       lambda: (nn.Conv2d(2, 2, 1),), (2, 2, 4, 4), (2, 2, 3, 3))


def formulas():
    of("norms-of-rows", lambda x, l: F.normalize(l(x), dim=-1) * torch.logsumexp(l(x), -1, keepdim=True)
       + l(x).norm(p=1, dim=-1, keepdim=True), linear(4, 6), (5, 4), (5, 6))
    of("variance", lambda x, l: (l(x) - l(x).mean(-1, keepdim=True)) / (l(x).var(-1, keepdim=True) + 1e-3).sqrt()
       + l(x).std(0, keepdim=True), linear(4, 6), (5, 4), (5, 6))
    of("product-extremes", lambda x, l: l(x).prod(-1, keepdim=True) + l(x).amax(-1, keepdim=True) - l(x).amin(0, keepdim=True),
       linear(), (5, 4), (5, 3))
    of("trigonometry", lambda x, l: torch.sin(l(x)) + torch.cos(l(x)) * torch.atan(l(x)) + torch.sinh(l(x) * .1)
       + torch.cosh(l(x) * .1) + torch.asinh(l(x)), linear(), (5, 4), (5, 3))
    of("exponentials", lambda x, l: torch.log1p(torch.exp(l(x))) + torch.expm1(l(x) * .1) + torch.erf(l(x))
       + torch.sqrt(l(x).abs() + 1) + torch.rsqrt(l(x) ** 2 + 1) + l(x).pow(3) * .1, linear(), (5, 4), (5, 3))
    of("maximum", lambda x, l, m: torch.maximum(l(x), m(x)) * torch.minimum(l(x), m(x)) + torch.fmod(x[:, :3], 1.0),
       lambda: (nn.Linear(4, 3), nn.Linear(4, 3)), (5, 4), (5, 3))


for group in (activations, norms, convolutions, pools, attention, products, indices, formulas):
    group()
