"""Samples of torchvision's differentiable operators and layers, in the form of PyTorch's OpInfo, for operators.py --of torchvision."""
import dataclasses
import typing

import torch
import torchvision.ops as ops
from torch import nn


@dataclasses.dataclass
class Sample:
    input: typing.Any
    args: tuple = ()
    kwargs: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Operator:
    name: str
    op: typing.Callable
    samples: list
    variant_test_name: str = ""
    supports_autograd: bool = True
    dtypes: tuple = (torch.float32,)

    def sample_inputs(self, device, dtype, requires_grad):
        return [make() for make in self.samples]


def random(*shape):
    return torch.randn(*shape).requires_grad_()


def boxes(count, size=7.0):
    """x1, y1, x2, y2 that no two rules of ties decide: corners are apart."""
    corner, extent = torch.rand(count, 2) * size / 2, torch.rand(count, 2) * size / 3 + 0.7
    return torch.cat([corner, corner + extent], 1)


def learned_boxes(count):
    return boxes(count).requires_grad_()


def regions(count, images=2):
    """Rows of an image's number and a box."""
    return torch.cat([torch.arange(count).remainder(images).reshape(-1, 1).float(), boxes(count)], 1)


def layer(make):
    """A layer's parameters, and its inputs, as operands of a function."""
    def samples(*shape):
        def one():
            module = make().train()
            values = [p.detach().clone().requires_grad_() for p in module.parameters()]
            return Sample(random(*shape), tuple(values), {"names": [n for n, _ in module.named_parameters()], "module": module})
        return one

    def run(x, *values, names, module):
        return torch.func.functional_call(module, dict(zip(names, values)), (x,))
    return run, samples


def layers():
    for name, make, shape in (
            ("SqueezeExcitation", lambda: ops.SqueezeExcitation(4, 2), (2, 4, 5, 5)),
            ("Conv2dNormActivation", lambda: ops.Conv2dNormActivation(3, 4, norm_layer=lambda c: nn.GroupNorm(2, c), inplace=False), (2, 3, 6, 6)),
            ("Conv3dNormActivation", lambda: ops.Conv3dNormActivation(2, 4, norm_layer=lambda c: nn.GroupNorm(2, c), inplace=False), (1, 2, 4, 5, 5)),
            ("MLP", lambda: ops.MLP(6, [8, 3], norm_layer=nn.LayerNorm, inplace=False), (4, 6)),
            ("Permute", lambda: nn.Sequential(nn.Linear(4, 3), ops.Permute([0, 2, 1])), (2, 5, 4)),
            ("FrozenBatchNorm2d", lambda: nn.Sequential(nn.Conv2d(2, 3, 3), ops.FrozenBatchNorm2d(3)), (2, 2, 5, 5)),
            ("DeformConv2d", lambda: Deformed(), (1, 2, 6, 6))):
        run, samples = layer(make)
        yield Operator(name, run, [samples(*shape)])


class Deformed(nn.Module):
    def __init__(self):
        super().__init__()
        self.offset, self.convolution = nn.Conv2d(2, 18, 3), ops.DeformConv2d(2, 3, 3)

    def forward(self, x):
        return self.convolution(x, self.offset(x))


def pyramid(first, second, *values, module, names):
    return list(torch.func.functional_call(module, dict(zip(names, values)), ({"a": first, "b": second},)).values())


def pyramid_sample():
    module = ops.FeaturePyramidNetwork([3, 4], 5)
    values = [p.detach().clone().requires_grad_() for p in module.parameters()]
    return Sample(random(1, 3, 8, 8), (random(1, 4, 4, 4), *values), {"module": module, "names": [n for n, _ in module.named_parameters()]})


def poolings():
    for name, aligned in (("roi_align", False), ("roi_align aligned", True)):
        yield Operator(name, ops.roi_align, [lambda a=aligned: Sample(random(2, 3, 8, 8), (regions(4), 3), {"sampling_ratio": 2, "aligned": a}),
                                             lambda a=aligned: Sample(random(2, 3, 8, 8), (regions(4), (2, 3), 0.5), {"aligned": a})])
    yield Operator("roi_pool", ops.roi_pool, [lambda: Sample(random(2, 3, 8, 8), (regions(3), 2))])
    yield Operator("ps_roi_align", ops.ps_roi_align, [lambda: Sample(random(2, 8, 8, 8), (regions(3), 2), {"sampling_ratio": 2})])
    yield Operator("ps_roi_pool", ops.ps_roi_pool, [lambda: Sample(random(2, 8, 8, 8), (regions(3), 2))])
    yield Operator("deform_conv2d", ops.deform_conv2d, [lambda: Sample(random(1, 2, 6, 6), (random(1, 18, 4, 4), random(3, 2, 3, 3), random(3))),
                                                        lambda: Sample(random(1, 2, 6, 6), (random(1, 18, 4, 4), random(3, 2, 3, 3)), {"mask": random(1, 9, 4, 4)})])


def of_boxes():
    for name in ("box_iou", "generalized_box_iou", "distance_box_iou", "complete_box_iou"):
        yield Operator(name, getattr(ops, name), [lambda: Sample(learned_boxes(4), (learned_boxes(3),))])
    for name in ("generalized_box_iou_loss", "distance_box_iou_loss", "complete_box_iou_loss"):
        yield Operator(name, getattr(ops, name), [lambda: Sample(learned_boxes(4), (learned_boxes(4),), {"reduction": "mean"}),
                                                  lambda: Sample(learned_boxes(4), (learned_boxes(4),), {"reduction": "none"})])
    yield Operator("box_area", ops.box_area, [lambda: Sample(learned_boxes(5))])
    yield Operator("clip_boxes_to_image", ops.clip_boxes_to_image, [lambda: Sample(learned_boxes(5), ((4, 5),))])
    for target in (("xyxy", "cxcywh"), ("cxcywh", "xyxy"), ("xyxy", "xywh"), ("xywh", "xyxy")):
        yield Operator(f"box_convert {target[0]} {target[1]}", ops.box_convert, [lambda t=target: Sample(learned_boxes(5), t)])
    yield Operator("sigmoid_focal_loss", ops.sigmoid_focal_loss, [
        lambda: Sample(random(4, 3), ((torch.rand(4, 3) > 0.6).float(),), {"reduction": "mean"}),
        lambda: Sample(random(4, 3), ((torch.rand(4, 3) > 0.6).float(),), {"alpha": -1, "gamma": 1.5, "reduction": "sum"})])
    yield Operator("stochastic_depth", ops.stochastic_depth, [lambda: Sample(random(4, 3), (0.2, "row"), {"training": False})])


op_db = [*poolings(), *of_boxes(), *layers(), Operator("FeaturePyramidNetwork", pyramid, [pyramid_sample])]
