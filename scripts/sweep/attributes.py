#!/usr/bin/env python3
"""Operators whose attributes multiply out: forward beside ONNX Runtime, gradient beside PyTorch.

    attributes.py OUT [FAMILY...]

All settings of a family are nodes of one model, each with tensors of its own, so that a family is one program. A setting is right
if what it gives is ONNX Runtime's, and if its gradients are PyTorch's where PyTorch has the function, elsewhere, along a random
direction, the central difference of ONNX Runtime's own results. Where ONNX Runtime departs from the reference of ONNX's standard (package
onnx), the reference takes its place, and the setting is listed. Needs numpy, onnx, onnxruntime and, in PATH, kedge; without torch
the comparison with it is left out. What ONNX Runtime refuses is counted apart.
"""
import dataclasses
import itertools
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None

FORWARD, GRADIENT, DIFFERENCE, STEP = 2e-5, 2e-4, 2e-2, 2e-3


@dataclasses.dataclass
class Setting:
    op: str
    attributes: dict
    inputs: list            # arrays; floats among the first `trained` are parameters; None: left out
    trained: int = 1
    beside: object = None   # the same by PyTorch, of tensors
    outputs: int = 1
    still: tuple = ()       # inputs with steps instead of slopes

    def text(self):
        return f"{self.op} {self.attributes} {[None if x is None else list(x.shape) for x in self.inputs]}"


def apart(random, shape):
    """Numbers in any order that a step brings neither past each other nor past 0."""
    count = int(np.prod(shape))
    return random.permutation(np.linspace(-3, 3, count + count % 2)[:count]).reshape(shape).astype("f4")


def grid_sample():
    random = np.random.default_rng(1)
    for spatial, modes in (((5, 4), ("nearest", "linear", "cubic")), ((3, 4, 5), ("nearest", "linear"))):
        points = (3, 4) if len(spatial) == 2 else (2, 3, 2)
        for mode, padding, corners in itertools.product(modes, ("zeros", "border", "reflection"), (0, 1)):
            grid = random.uniform(-1.9, 1.9, (2, *points, len(spatial))).astype("f4")
            grid[0, 0, 0], grid[0, 0, 1], grid[0, 1, 0] = 3.31, -2.63, 0.1  # far outside, and within
            x = random.standard_normal((2, 3, *spatial)).astype("f4")
            named = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
            yield Setting("GridSample", {"mode": mode, "padding_mode": padding, "align_corners": corners}, [x, grid], 2,
                          lambda x, g, named=named, padding=padding, corners=corners: F.grid_sample(x, g, named, padding, bool(corners)),
                          still=(1,) if mode == "nearest" else ())


def resize():
    random = np.random.default_rng(2)
    for mode, where in itertools.product(("nearest", "linear", "cubic"),
                                         ("half_pixel", "half_pixel_symmetric", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_crop_and_resize")):
        variants = [{"nearest_mode": kind} for kind in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")] if mode == "nearest" else \
            [{}, {"antialias": 1}] if mode == "linear" else [{}, {"cubic_coeff_a": -0.5}, {"exclude_outside": 1}, {"antialias": 1}]
        for more, sizes in itertools.product(variants, ((9, 7), (3, 4), (5, 11))):
            x = random.standard_normal((2, 2, 5, 8)).astype("f4")
            if "antialias" in more and where in ("align_corners", "tf_crop_and_resize"):
                continue
            roi = np.array([0, 0, 0.1, 0.2, 1, 1, 0.9, 0.7], "f4") if where == "tf_crop_and_resize" else None
            extra = {"extrapolation_value": 0.3} if roi is not None else {}
            beside = None
            if mode != "nearest" and not more and where in ("half_pixel", "align_corners"):
                beside = lambda x, mode=mode, sizes=sizes, where=where: F.interpolate(x, size=sizes, mode={"linear": "bilinear", "cubic": "bicubic"}[mode],
                                                                                   align_corners=where == "align_corners")
            yield Setting("Resize", {"mode": mode, "coordinate_transformation_mode": where, **more, **extra},
                          [x, roi, None, np.array([2, 2, *sizes], "i8")], 1, beside)
        for scales in ((1.7, 0.6), (0.34, 2.3)):
            yield Setting("Resize", {"mode": mode, "coordinate_transformation_mode": where if where != "tf_crop_and_resize" else "half_pixel"},
                          [random.standard_normal((1, 2, 5, 8)).astype("f4"), None, np.array([1, 1, *scales], "f4"), None])


def pad():
    random = np.random.default_rng(3)
    for mode, pads in itertools.product(("constant", "reflect", "edge", "wrap"),
                                        ([0, 0, 1, 2, 0, 0, 2, 3], [0, 1, 0, 0, 0, 0, 0, 0], [0, 0, -1, 2, 0, 0, 1, -2], [0, 0, 2, 0, 0, 0, 0, 3])):
        if mode != "constant" and min(pads) < 0:
            continue
        named = {"edge": "replicate", "wrap": "circular"}.get(mode, mode)
        torches = [pads[3], pads[7], pads[2], pads[6]]
        beside = (lambda x, torches=torches, named=named: F.pad(x, torches, named)) if not any(pads[:2] + pads[4:6]) else None
        yield Setting("Pad", {"mode": mode}, [random.standard_normal((2, 2, 5, 6)).astype("f4"), np.array(pads, "i8")], 1, beside)


def roi_align():
    random = np.random.default_rng(4)
    rois = np.array([[0.5, 0.5, 5.2, 6.1], [-2, -1, 9, 9], [2, 3, 2.4, 3.2], [6, 6, 12, 11]], "f4")
    # Maxima, and as many samples as a region is large (ratio 0), are refused by name.
    for mode, where, ratio, scale in itertools.product(("avg",), ("half_pixel", "output_half_pixel"), (1, 3), (1.0, 0.5)):
        yield Setting("RoiAlign", {"mode": mode, "coordinate_transformation_mode": where, "sampling_ratio": ratio, "spatial_scale": scale, "output_height": 3,
                                   "output_width": 2}, [apart(random, (2, 2, 8, 9)), rois, np.array([0, 1, 1, 0], "i8")])


def pools():
    random = np.random.default_rng(5)
    for op, rank, ceil in itertools.product(("AveragePool", "MaxPool", "LpPool"), (1, 2, 3), (0, 1)):
        shape = {1: (2, 2, 11), 2: (2, 2, 9, 8), 3: (1, 2, 5, 6, 4)}[rank]
        for window, stride, pads, dilation in ((3, 2, 1, 1), (2, 1, 0, 2), (3, 3, 0, 1), (2, 3, 1, 1)):
            for more in ([{"count_include_pad": 0}, {"count_include_pad": 1}] if op == "AveragePool" else [{"p": 1}, {"p": 3}] if op == "LpPool" else [{}]):
                a = {"kernel_shape": [window] * rank, "strides": [stride] * rank, "pads": [pads] * 2 * rank, "dilations": [dilation] * rank, "ceil_mode": ceil, **more}
                beside = None
                if op == "AveragePool" and dilation == 1:
                    beside = lambda x, a=a, rank=rank: getattr(F, f"avg_pool{rank}d")(x, a["kernel_shape"], a["strides"], a["pads"][:rank], bool(a["ceil_mode"]),
                                                                                      bool(a["count_include_pad"]))
                elif op == "MaxPool":
                    beside = lambda x, a=a, rank=rank: getattr(F, f"max_pool{rank}d")(x, a["kernel_shape"], a["strides"], a["pads"][:rank], a["dilations"],
                                                                                      bool(a["ceil_mode"]))
                yield Setting(op, a, [apart(random, shape)], 1, beside)
        for auto in ("SAME_UPPER", "SAME_LOWER", "VALID"):
            if not ceil:
                yield Setting(op, {"kernel_shape": [3] * rank, "strides": [2] * rank, "auto_pad": auto}, [apart(random, shape)])


def transforms():
    random = np.random.default_rng(6)
    for onesided, windowed in itertools.product((0, 1), (False, True)):
        window = random.uniform(0.2, 1, 8).astype("f4") if windowed else None
        beside = lambda x, onesided=onesided, window=window: torch.view_as_real(torch.stft(
            x[..., 0], 8, 3, 8, torch.from_numpy(window) if window is not None else torch.ones(8), center=False, onesided=bool(onesided), return_complex=True)).transpose(1, 2)
        yield Setting("STFT", {"onesided": onesided}, [random.standard_normal((2, 20, 1)).astype("f4"), np.array(3, "i8"), window, np.array(8, "i8")], 1, beside)
    for axis, inverse, onesided, last in itertools.product((1, 2), (0, 1), (0, 1), (1, 2)):
        if (inverse and onesided) or (onesided and last == 2):
            continue
        yield Setting("DFT", {"inverse": inverse, "onesided": onesided}, [random.standard_normal((2, 5, 6, last)).astype("f4"), None, np.array(axis, "i8")])


def activation(name, alpha, beta):
    return {"Sigmoid": torch.sigmoid, "Tanh": torch.tanh, "Relu": torch.relu, "Softplus": F.softplus, "Softsign": F.softsign,
            "Affine": lambda x: alpha * x + beta, "LeakyRelu": lambda x: F.leaky_relu(x, alpha), "ScaledTanh": lambda x: alpha * torch.tanh(beta * x),
            "HardSigmoid": lambda x: (alpha * x + beta).clamp(0, 1), "ThresholdedRelu": lambda x: torch.where(x > alpha, x, 0.0),
            "Elu": lambda x: F.elu(x, alpha)}[name]


def direction_of(op, a, functions, x, w, r, b):
    """The hidden states of one direction by the formulas of the standard."""
    gates, size, clip = w.shape[0] // a["hidden_size"], a["hidden_size"], a.get("clip")
    f = [lambda value, f=f: f(value.clamp(-clip, clip) if clip else value) for f in functions]
    wb, rb = b[:gates * size], b[gates * size:]
    h = c = torch.zeros(x.shape[1], size)
    for step in x:
        p, q = (step @ w.T + wb).split(size, 1), (h @ r.T + rb).split(size, 1)
        if op == "RNN":
            h = f[0](p[0] + q[0])
        elif op == "GRU":
            z, reset = f[0](p[0] + q[0]), f[0](p[1] + q[1])
            inner = reset * q[2] if a.get("linear_before_reset") else (reset * h) @ r[2 * size:].T + rb[2 * size:]
            h = (1 - z) * f[1](p[2] + inner) + z * h
        else:
            i, o, forget = f[0](p[0] + q[0]), f[0](p[1] + q[1]), f[0](p[2] + q[2])
            c = (1 - i if a.get("input_forget") else forget) * c + i * f[1](p[3] + q[3])
            h = o * functions[2](c)  # the cell is no gate: nothing clips it
        yield h


def by_formula(op, a, alpha):
    def run(x, w, r, b):
        ways, each = [], len(a["activations"]) // w.shape[0]
        for k in range(w.shape[0]):
            functions = [activation(name, *alpha.get(name, (0, 0))) for name in a["activations"][k * each:(k + 1) * each]]
            back = a["direction"] == "reverse" or k == 1
            states = list(direction_of(op, a, functions, x.flip(0) if back else x, w[k], r[k], b[k]))
            ways.append(torch.stack(states[::-1] if back else states))
        return torch.stack(ways, 1)
    return run


def recurrent():
    random = np.random.default_rng(7)
    hidden, size, gates = 3, 4, {"LSTM": 4, "GRU": 3, "RNN": 1}
    usual = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
    others = {"LSTM": [["HardSigmoid", "Softsign", "Affine"], ["Sigmoid", "LeakyRelu", "ScaledTanh"], ["ThresholdedRelu", "Elu", "Softplus"]],
              "GRU": [["HardSigmoid", "Softsign"], ["Sigmoid", "ScaledTanh"]], "RNN": [["Relu"], ["Affine"], ["Elu"], ["Softplus"], ["LeakyRelu"]]}
    alpha = {"Affine": (0.7, 0.1), "LeakyRelu": (0.02, 0), "ScaledTanh": (0.9, 0.6), "HardSigmoid": (0.3, 0.4), "ThresholdedRelu": (0.1, 0), "Elu": (0.8, 0)}
    for op, direction in itertools.product(gates, ("forward", "reverse", "bidirectional")):
        ways = 2 if direction == "bidirectional" else 1
        extras = [{}, {"clip": 0.4}] + ([{"input_forget": 1}] if op == "LSTM" else [{"linear_before_reset": 1}] if op == "GRU" else [])
        for more, names, lengths in [(more, usual[op], None) for more in extras] + [({}, names, None) for names in others[op]] + [({}, usual[op], [5, 3])]:
            g = gates[op]
            inputs = [random.standard_normal((5, 2, size)).astype("f4"), random.standard_normal((ways, g * hidden, size)).astype("f4") * 0.5,
                      random.standard_normal((ways, g * hidden, hidden)).astype("f4") * 0.5, random.standard_normal((ways, 2 * g * hidden)).astype("f4") * 0.3,
                      np.array(lengths, "i4") if lengths else None]
            a = {"hidden_size": hidden, "direction": direction, "activations": names * ways, **more}
            if names != usual[op]:
                a["activation_alpha"] = [alpha[n][0] for n in names * ways if n in alpha]
                a["activation_beta"] = [alpha[n][1] for n in names * ways if n in ("Affine", "ScaledTanh", "HardSigmoid")]
                a = {k: v for k, v in a.items() if v != []}
            yield Setting(op, a, inputs, 4, None if lengths else by_formula(op, a, alpha))


FAMILIES = {f.__name__: f for f in (grid_sample, resize, pad, roi_align, pools, transforms, recurrent)}


def weights(shape, number):
    return np.random.default_rng(1000 + number).uniform(0.5, 1.5, shape).astype("f4")


def model_of(settings, outs):
    """One result for each setting: a weighted sum of all that its node gives. Without `outs`, the plain node outputs."""
    nodes, tensors, results = [], [], []
    for number, setting in enumerate(settings):
        names = []
        for k, value in enumerate(setting.inputs):
            names.append("" if value is None else f"m{number}.i{k}.weight" if k < setting.trained else f"c{number}.{k}")
            if value is not None and k < setting.trained:
                tensors.append(numpy_helper.from_array(value, names[-1]))
            elif value is not None:
                nodes.append(helper.make_node("Constant", [], [names[-1]], value=numpy_helper.from_array(value)))
        nodes.append(helper.make_node(setting.op, names, [f"y{number}"], name=f"n{number}", **setting.attributes))
        if outs is None:
            results.append(f"y{number}")
            continue
        nodes.append(helper.make_node("Constant", [], [f"w{number}"], value=numpy_helper.from_array(weights(outs[number], number))))
        nodes.append(helper.make_node("Mul", [f"y{number}", f"w{number}"], [f"p{number}"]))
        nodes.append(helper.make_node("ReduceSum", [f"p{number}"], [f"s{number}"], keepdims=0))
        nodes.append(helper.make_node("Reshape", [f"s{number}", "row"], [f"r{number}"]))
        results.append(f"r{number}")
    float_ = onnx.TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info("x", float_, [1, 1])]
    if outs is None:
        outputs = [helper.make_tensor_value_info(name, float_, None) for name in results]
    else:
        tensors.append(numpy_helper.from_array(np.array([1, 1], "i8"), "row"))
        nodes += [helper.make_node("Concat", results, ["all"], axis=1), helper.make_node("Add", ["all", "x"], ["each"]),
                  helper.make_node("ReduceSum", ["each"], ["loss"], keepdims=0)]
        outputs = [helper.make_tensor_value_info("loss", float_, []), helper.make_tensor_value_info("each", float_, [1, len(settings)])]
    return helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, tensors), opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def runtime(model, names, x=0.0):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(names, {"x": np.full((1, 1), x, "f4")})


def taken(settings):
    """Those that ONNX Runtime runs, with the shapes of their results."""
    kept, outs = [], []
    for setting in settings:
        try:
            shape = runtime(model_of([setting], None), ["y0"])[0].shape
            runtime(model_of([setting], [shape]), ["each"])  # its inference of shapes agrees with its kernel
            outs.append(shape)
            kept.append(setting)
        except Exception as error:
            print(f"  not in ONNX Runtime: {setting.text()}: {str(error).splitlines()[0][-120:]}")
    return kept, outs


def moved(settings, directions, step):
    return [dataclasses.replace(s, inputs=[x if x is None or k not in d else x + np.float32(step) * d[k] for k, x in enumerate(s.inputs)])
            for s, d in zip(settings, directions)]


def safetensors(path):
    raw = path.read_bytes()
    begin = 8 + int.from_bytes(raw[:8], "little")
    return {name: np.frombuffer(raw[begin + e["data_offsets"][0]:begin + e["data_offsets"][1]], "<f4").reshape(e["shape"])
            for name, e in json.loads(raw[8:begin]).items() if name != "__metadata__"}


def kedge(model, folder):
    """What each setting gives, and the gradients."""
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(folder / "model.onnx"))
    np.save(folder / "x.npy", np.zeros((1, 1), "f4"))
    for words in (["kedge", "compile", folder / "model.onnx", "--loss", "none", "--loss-output", "loss", "--train", ".*", "--optimizer", "sgd", "--lr", "0", "-o",
                   folder / "program"],
                  [folder / "program", "--data", f"x={folder / 'x.npy'}", "--eval-data", f"x={folder / 'x.npy'}", "--steps", 1, "--threads", 1, "--predict",
                   f"each={folder / 'each.npy'}", "--dump-gradients", folder / "gradients", "--dump-step", 0]):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(" ".join(done.stderr.split())[:1500])
    return np.load(folder / "each.npy")[0], safetensors(folder / "gradients")


def torches(setting, number, out):
    tensors = [torch.tensor(x, requires_grad=k < setting.trained) for k, x in enumerate(setting.inputs) if k < setting.trained]
    (setting.beside(*tensors) * torch.from_numpy(weights(out, number))).sum().backward()
    return [t.grad.numpy() for t in tensors]


def reference(settings, number, out):
    """What the standard's reference makes of one setting."""
    from onnx.reference import ReferenceEvaluator
    y = ReferenceEvaluator(model_of([settings[number]], None)).run(["y0"], {"x": np.zeros((1, 1), "f4")})[0]
    return float((y.astype("f8") * weights(out, number)).sum())


def near(a, b):
    return abs(a - b) <= FORWARD * max(1, abs(b))


def far(a, b):
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-2))


def check(name, out):
    settings, outs = taken(list(FAMILIES[name]()))
    random = np.random.default_rng(9)
    directions = [{k: random.standard_normal(x.shape).astype("f4") for k, x in enumerate(s.inputs) if x is not None and k < s.trained and k not in s.still}
                  for s in settings]
    model = model_of(settings, outs)
    each, gradients = kedge(model, out / name)
    wanted = runtime(model, ["each"])[0][0]
    up, down = (runtime(model_of(moved(settings, directions, sign * STEP), outs), ["each"])[0][0].astype("f8") for sign in (1, -1))
    wrong, beside, departures = 0, 0, []
    for number, setting in enumerate(settings):
        own = [gradients.get(f"m{number}.i{k}.weight") for k in range(setting.trained)]
        size = sum(float(np.abs(x).sum()) for x in own if x is not None) + 1
        said = []
        ends = up[number], down[number]
        if not near(each[number], wanted[number]):
            standard = reference(settings, number, outs[number])
            if near(each[number], standard):
                departures.append(setting.text())
                ends = [reference(moved(settings, directions, sign * STEP), number, outs[number]) for sign in (1, -1)]
            else:
                said.append(f"forward {each[number]} instead of {wanted[number]}, and {standard} by the standard's reference")
        checked = 0
        along = sum(float((own[k].astype("f8") * d).sum()) for k, d in directions[number].items() if own[k] is not None)
        difference = (ends[0] - ends[1]) / (2 * STEP)
        if torch is not None and setting.beside is not None:
            beside, checked = beside + 1, 1
            for k, want in enumerate(torches(setting, number, outs[number])):
                if own[k] is None or far(own[k], want) > GRADIENT:
                    said.append(f"gradient of input {k} {far(own[k], want) if own[k] is not None else 'missing'} off PyTorch's")
        # A step over a kink of an interpolation is no slope: PyTorch decides where it has the function.
        if not checked and not abs(along - difference) <= DIFFERENCE * max(1.0, abs(difference), size / 10):
            said.append(f"slope {along} instead of {difference}")
        wrong += bool(said)
        if said:
            print(f"  WRONG {setting.text()}: {'; '.join(said)}", flush=True)
    print(f"{name}: {len(settings)} settings, {beside} of them beside PyTorch, {wrong} wrong; in {len(departures)} ONNX Runtime departs from the standard",
          *departures, sep="\n  ", flush=True)
    return wrong


def main():
    out = pathlib.Path(sys.argv[1])
    sys.exit(sum([check(name, out) for name in sys.argv[2:] or FAMILIES]) != 0)


if __name__ == "__main__":
    main()
