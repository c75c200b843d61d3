#!/usr/bin/env python3
"""Writes vision models of published shapes as ONNX models with new weights: what scripts/measure/bench_convnets.py times.

make_convnets.py NAME OUT.onnx [--classes 1000 --size 224]    (unet: 21 classes, of every pixel)
NAME: vit-b-16, vit-small (both 224 x 224 alone), mobilenet-v2, mobilenet-v3, resnet-50, efficientnet (squeeze and excitation,
SiLU), densenet-121, convnext-tiny, swin-tiny (224 x 224 alone), unet

The batch is dynamic ("batch"), images are 3 x SIZE x SIZE. Exported for training: compile with --train-mode, which turns the
exporter's BatchNormalization into the one of training. Needs torch, onnx and onnxscript.
"""
import argparse
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F


def unit(fan_in, fan_out, size, stride=1, groups=1, act=nn.ReLU):
    """Convolution, normalization, activation."""
    layers = [nn.Conv2d(fan_in, fan_out, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(fan_out)]
    return nn.Sequential(*layers, *([act()] if act else []))


class Residual(nn.Module):
    """body(x) + skip(x), then `act`."""

    def __init__(self, body, skip=None, act=None):
        super().__init__()
        self.body, self.skip, self.act = body, skip or nn.Identity(), act or nn.Identity()

    def forward(self, x):
        return self.act(self.body(x) + self.skip(x))


class Excitation(nn.Module):
    """Channels weighted by what their means say."""

    def __init__(self, width, inner, act=F.silu, gate=torch.sigmoid):
        super().__init__()
        self.reduce, self.expand = nn.Conv2d(width, inner, 1), nn.Conv2d(inner, width, 1)
        self.act, self.gate = act, gate

    def forward(self, x):
        return x * self.gate(self.expand(self.act(self.reduce(F.adaptive_avg_pool2d(x, 1)))))


def inverted(fan_in, fan_out, factor, size, stride, act, excitation=False):
    inner = fan_in * factor
    body = [unit(fan_in, inner, 1, act=act)] if factor > 1 else []
    body.append(unit(inner, inner, size, stride, inner, act))
    if excitation:
        body.append(Excitation(inner, max(1, fan_in // 4)))
    body = nn.Sequential(*body, unit(inner, fan_out, 1, act=None))
    return Residual(body) if stride == 1 and fan_in == fan_out else body


def head(width, classes):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))


def inverted_network(stages, first, last, act, classes, excitation):
    """stages: (factor, width, blocks, stride, size)."""
    layers, width = [unit(3, first, 3, 2, act=act)], first
    for factor, wide, blocks, stride, size in stages:
        for i in range(blocks):
            layers.append(inverted(width, wide, factor, size, 1 if i else stride, act, excitation))
            width = wide
    return nn.Sequential(*layers, unit(width, last, 1, act=act), head(last, classes))


def mobilenet_v2(classes):
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    return inverted_network([(*stage, 3) for stage in stages], 32, 1280, nn.ReLU6, classes, False)


def efficientnet(classes):
    stages = ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
              (6, 320, 1, 1, 3))
    return inverted_network(stages, 32, 1280, nn.SiLU, classes, True)


def mobilenet_v3(classes):
    """The large one: (kernel, inner, width, excitation, activation, stride) of its blocks."""
    relu, hard = nn.ReLU, nn.Hardswish
    blocks = ((3, 16, 16, 0, relu, 1), (3, 64, 24, 0, relu, 2), (3, 72, 24, 0, relu, 1), (5, 72, 40, 1, relu, 2),
              (5, 120, 40, 1, relu, 1), (5, 120, 40, 1, relu, 1), (3, 240, 80, 0, hard, 2), (3, 200, 80, 0, hard, 1),
              (3, 184, 80, 0, hard, 1), (3, 184, 80, 0, hard, 1), (3, 480, 112, 1, hard, 1), (3, 672, 112, 1, hard, 1),
              (5, 672, 160, 1, hard, 2), (5, 960, 160, 1, hard, 1), (5, 960, 160, 1, hard, 1))
    layers, last = [unit(3, 16, 3, 2, act=hard)], 16
    for size, inner, width, excites, act, stride in blocks:
        body = [unit(last, inner, 1, act=act)] if inner != last else []
        body.append(unit(inner, inner, size, stride, inner, act))
        body += [Excitation(inner, inner // 4, F.relu, F.hardsigmoid)] * excites
        body = nn.Sequential(*body, unit(inner, width, 1, act=None))
        layers.append(Residual(body) if stride == 1 and last == width else body)
        last = width
    tail = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(960, 1280), hard(), nn.Linear(1280, classes))
    return nn.Sequential(*layers, unit(last, 960, 1, act=hard), *tail)


class Dense(nn.Module):
    """What comes in, and 32 channels more."""

    def __init__(self, fan_in, grown=32):
        super().__init__()
        self.body = nn.Sequential(nn.BatchNorm2d(fan_in), nn.ReLU(), nn.Conv2d(fan_in, 4 * grown, 1, bias=False),
                                  nn.BatchNorm2d(4 * grown), nn.ReLU(), nn.Conv2d(4 * grown, grown, 3, padding=1, bias=False))

    def forward(self, x):
        return torch.cat([x, self.body(x)], 1)


def densenet_121(classes):
    layers, width = [unit(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for stage, blocks in enumerate((6, 12, 24, 16)):
        if stage:
            layers += [nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width // 2, 1, bias=False), nn.AvgPool2d(2)]
            width //= 2
        layers += [Dense(width + 32 * i) for i in range(blocks)]
        width += 32 * blocks
    return nn.Sequential(*layers, nn.BatchNorm2d(width), nn.ReLU(), head(width, classes))


def bottleneck(fan_in, inner, stride):
    body = nn.Sequential(unit(fan_in, inner, 1), unit(inner, inner, 3, stride), unit(inner, 4 * inner, 1, act=None))
    skip = unit(fan_in, 4 * inner, 1, stride, act=None) if stride > 1 or fan_in != 4 * inner else None
    return Residual(body, skip, nn.ReLU())


def resnet_50(classes):
    layers, width = [unit(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for stage, (blocks, inner) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for i in range(blocks):
            layers.append(bottleneck(width, inner, 2 if stage and not i else 1))
            width = 4 * inner
    return nn.Sequential(*layers, head(width, classes))


class ChannelNorm(nn.LayerNorm):
    """LayerNorm over the channels of images."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNeXtBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width,), 1e-2))

    def forward(self, x):
        y = self.norm(self.mix(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.down(F.gelu(self.up(y)))).permute(0, 3, 1, 2)


def convnext_tiny(classes):
    layers, last = [nn.Conv2d(3, 96, 4, 4), ChannelNorm(96)], 96
    for blocks, width in ((3, 96), (3, 192), (9, 384), (3, 768)):
        if width != last:
            layers += [ChannelNorm(last), nn.Conv2d(last, width, 2, 2)]
        layers += [ConvNeXtBlock(width) for _ in range(blocks)]
        last = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(last), nn.Linear(last, classes))


class UNet(nn.Module):
    """Logits of every pixel."""

    def __init__(self, classes, widths=(32, 64, 128, 256, 512)):
        super().__init__()
        double = lambda fan_in, fan_out: nn.Sequential(unit(fan_in, fan_out, 3), unit(fan_out, fan_out, 3))
        self.down = nn.ModuleList(double(a, b) for a, b in zip((3, *widths), widths))
        pairs = list(zip(widths[-2::-1], widths[:0:-1]))
        self.up = nn.ModuleList(nn.ConvTranspose2d(wide, narrow, 2, 2) for narrow, wide in pairs)
        self.join = nn.ModuleList(double(2 * narrow, narrow) for narrow, _ in pairs)
        self.last = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        kept = []
        for i, stage in enumerate(self.down):
            x = stage(F.max_pool2d(x, 2) if i else x)
            kept.append(x)
        kept.pop()
        for up, join in zip(self.up, self.join):
            x = join(torch.cat([kept.pop(), up(x)], 1))
        return self.last(x)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        heads = (t.reshape(batch, length, self.heads, width // self.heads).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        return self.out(F.scaled_dot_product_attention(*heads).transpose(1, 2).reshape(batch, length, width))


class ViTBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention, self.norm2 = nn.LayerNorm(width), Attention(width, heads), nn.LayerNorm(width)
        self.body = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.body(self.norm2(x))


class ViT(nn.Module):
    """ViT-B/16 for images of 224 x 224."""

    def __init__(self, classes, width=768, heads=12, blocks=12, patch=16, size=224):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.first, self.places = (nn.Parameter(torch.randn(1, n, width) * 0.02) for n in (1, (size // patch) ** 2 + 1))
        self.blocks = nn.Sequential(*[ViTBlock(width, heads) for _ in range(blocks)], nn.LayerNorm(width))
        self.last = nn.Linear(width, classes)

    def forward(self, x):
        patches = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), patches], 1) + self.places
        return self.last(self.blocks(x)[:, 0])


class Windows(nn.Module):
    """Attention within windows of 7 x 7 places, moved by `shift`; biases by distance."""

    def __init__(self, width, heads, size, shift, side=7):
        super().__init__()
        self.heads, self.size, self.shift, self.side = heads, size, shift, side
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.biases = nn.Parameter(torch.randn((2 * side - 1) ** 2, heads) * 0.02)
        place = torch.stack(torch.meshgrid(*[torch.arange(side)] * 2, indexing="ij")).flatten(1)
        far = place[:, :, None] - place[:, None] + side - 1
        self.register_buffer("distances", (far[0] * (2 * side - 1) + far[1]).flatten(), persistent=False)
        region = torch.bucketize(torch.arange(size), torch.tensor([size - side, size - shift]), right=True)
        regions = self.windows((region[:, None] * 3 + region)[None, :, :, None]).squeeze(-1)
        apart = (regions[:, :, None] != regions[:, None]).float() * -100
        self.register_buffer("mask", apart[None, :, None] if shift else None, persistent=False)

    def windows(self, x):
        """[images x windows, places, channels]"""
        count = self.size // self.side
        return x.reshape(-1, count, self.side, count, self.side, x.shape[-1]).transpose(2, 3).reshape(
            -1, self.side**2, x.shape[-1])

    def forward(self, x):
        width, places, count = x.shape[-1], self.side**2, self.size // self.side
        x = self.windows(torch.roll(x, (-self.shift, -self.shift), (1, 2)) if self.shift else x)
        q, k, v = self.qkv(x).reshape(-1, places, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        bias = self.biases[self.distances].reshape(places, places, self.heads).permute(2, 0, 1)
        scores = q @ k.transpose(-1, -2) * (width // self.heads) ** -0.5 + bias
        if self.shift:
            scores = (scores.reshape(-1, count**2, self.heads, places, places) + self.mask).reshape(-1, self.heads, places, places)
        x = self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(-1, places, width))
        x = x.reshape(-1, count, count, self.side, self.side, width).transpose(2, 3).reshape(-1, self.size, self.size, width)
        return torch.roll(x, (self.shift, self.shift), (1, 2)) if self.shift else x


class SwinBlock(nn.Module):
    def __init__(self, width, heads, size, shift):
        super().__init__()
        self.norm1, self.attention, self.norm2 = nn.LayerNorm(width), Windows(width, heads, size, shift), nn.LayerNorm(width)
        self.body = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.body(self.norm2(x))


class Merge(nn.Module):
    """Four neighbours become one place of twice the width."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.reduce = nn.LayerNorm(4 * width), nn.Linear(4 * width, 2 * width, bias=False)

    def forward(self, x):
        return self.reduce(self.norm(torch.cat([x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)], -1)))


class Swin(nn.Module):
    """Swin-T for images of 224 x 224."""

    def __init__(self, classes, width=96, depths=(2, 2, 6, 2), heads=3, size=56):
        super().__init__()
        self.patches, self.norm = nn.Conv2d(3, width, 4, 4), nn.LayerNorm(width)
        layers = []
        for stage, depth in enumerate(depths):
            if stage:
                layers.append(Merge(width))
                width, heads, size = 2 * width, 2 * heads, size // 2
            layers += [SwinBlock(width, heads, size, 3 * (i % 2) if size > 7 else 0) for i in range(depth)]
        self.blocks, self.last = nn.Sequential(*layers, nn.LayerNorm(width)), nn.Linear(width, classes)

    def forward(self, x):
        return self.last(self.blocks(self.norm(self.patches(x).permute(0, 2, 3, 1))).mean((1, 2)))


def vit_small(classes):
    return ViT(classes, 384, 6)


MODELS = {"vit-b-16": ViT, "vit-small": vit_small, "mobilenet-v3": mobilenet_v3, "densenet-121": densenet_121,
          "swin-tiny": Swin, "mobilenet-v2": mobilenet_v2, "resnet-50": resnet_50, "efficientnet": efficientnet,
          "convnext-tiny": convnext_tiny, "unet": UNet}


def classes_of(name):
    return 21 if name == "unet" else 1000


def make(name, classes):
    torch.manual_seed(0)
    return MODELS[name](classes).train()


def write(name, path, classes, size):
    warnings.filterwarnings("ignore")
    torch.onnx.export(make(name, classes), (torch.zeros(2, 3, size, size),), path, dynamo=True, optimize=False, verbose=False,
                      opset_version=20, input_names=["pixels"], output_names=["logits"],
                      dynamic_shapes=({0: torch.export.Dim("batch")},))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=MODELS)
    parser.add_argument("out")
    parser.add_argument("--classes", type=int)
    parser.add_argument("--size", type=int, default=224)
    o = parser.parse_args()
    write(o.name, o.out, o.classes or classes_of(o.name), o.size)


if __name__ == "__main__":
    main()
