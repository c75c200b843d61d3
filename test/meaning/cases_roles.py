"""Files without a record: what a tensor is, by its name and by what it does in the graph. PyTorch trains the same function."""
import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from making import case, export, norms, record, sgd, targets, train

MSE = ["--loss", "mse", "--optimizer", "sgd", "--lr", "0.05"]


def write(folder, nodes, tensors, shape, out, producer="", opset=17):
    """A file of plain operators; a node is (operator, inputs, output, attributes) in words."""
    made = [helper.make_node(op, inputs.split(), [output], name=f"{output}_node", **attributes)
            for op, inputs, output, attributes in (node if len(node) == 4 else (*node, {}) for node in nodes)]
    graph = helper.make_graph(made, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, out)],
                              [numpy_helper.from_array(np.asarray(value, "f4") if value.dtype != np.int64 else value, name) for name, value in tensors.items()])
    file = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], producer_name=producer, ir_version=8)
    onnx.checker.check_model(file)
    onnx.save(file, folder / "model.onnx")


def values(module, *names):
    state = module.state_dict()
    return [state[name].detach().numpy() for name in names]


def learned(folder, about, model, data, rows, compile=MSE, steps=4, relative=3e-5, **more):
    losses, _ = train(model, data, rows, steps, "mse", sgd(float(compile[compile.index("--lr") + 1])))
    record(folder, about, {"loss": losses, "relative": relative, **more}, compile, ["--steps", str(steps)], data)


class Block(nn.Module):
    """Positions, attention under a mask, a norm, GELU, PReLU and a head of one output: fresh where the names say nothing."""

    def __init__(self):
        super().__init__()
        self.enter, self.positions = nn.Linear(3, 6, bias=False), nn.Parameter(torch.zeros(1, 4, 6))
        self.q, self.k, self.v = (nn.Linear(6, 6) for _ in range(3))
        self.norm, self.slope, self.head = nn.LayerNorm(6, eps=1e-3), nn.PReLU(), nn.Linear(6, 1)
        for part in (self.q, self.k, self.v, self.head):
            nn.init.zeros_(part.bias)
        self.register_buffer("mask", torch.full((4, 4), float("-inf")).triu(1))

    def forward(self, x):
        x = self.enter(x) + self.positions
        scores = self.q(x) @ self.k(x).transpose(1, 2) * 0.5 + self.mask
        x = self.norm(x + F.softmax(scores, -1) @ self.v(x))
        return self.head(self.slope(F.gelu(x)))


@case
def roles_of_a_block(folder):
    model = Block()
    with torch.no_grad():
        model.norm.weight.mul_(1)
    names = [f"{part}.{leaf}" for part in ("q", "k", "v", "head") for leaf in ("weight", "bias")]
    tensors = {"t_enter": values(model, "enter.weight")[0].T.copy()}
    for name, value in zip(names, values(model, *names)):
        tensors["t_" + name.replace(".", "_")] = value.T.copy() if name.endswith("weight") else value
    tensors.update(t_pos=values(model, "positions")[0], t_mask=values(model, "mask")[0], t_g=values(model, "norm.weight")[0], t_b=values(model, "norm.bias")[0],
                   t_slope=values(model, "slope.weight")[0], two=np.float32(2), eps=np.float32(1e-3), half=np.float32(0.5), one=np.ones(1), root=np.float32(2 ** 0.5))
    nodes = [("MatMul", "x t_enter", "x0"), ("Add", "x0 t_pos", "x1")]
    for part in "qkv":
        nodes += [("MatMul", f"x1 t_{part}_weight", f"{part}0"), ("Add", f"t_{part}_bias {part}0", part)]
    nodes += [("Transpose", "k", "kt", {"perm": [0, 2, 1]}), ("MatMul", "q kt", "s0"), ("Mul", "s0 half", "s1"), ("Add", "s1 t_mask", "s2"), ("Softmax", "s2", "a"),
              ("MatMul", "a v", "c"), ("Add", "x1 c", "r"),
              ("ReduceMean", "r", "m", {"axes": [-1]}), ("Sub", "r m", "d"), ("Pow", "d two", "d2"), ("ReduceMean", "d2", "var", {"axes": [-1]}), ("Add", "var eps", "ve"),
              ("Sqrt", "ve", "sd"), ("Div", "d sd", "n0"), ("Mul", "n0 t_g", "n1"), ("Add", "n1 t_b", "n"),
              ("Div", "n root", "g0"), ("Erf", "g0", "g1"), ("Add", "g1 one", "g2"), ("Mul", "n g2", "g3"), ("Mul", "g3 half", "g"),
              ("PRelu", "g t_slope", "p"), ("MatMul", "p t_head_weight", "h"), ("Add", "h t_head_bias", "y")]
    write(folder, nodes, tensors, [4, 4, 3], [4, 4, 1])
    learned(folder, "by their role: positions, biases of zeros, a bias of one element, scale and shift, a slope train; a mask, exponents, epsilons and factors do not",
            model, targets(1, (4, 3), (4, 1), 12), 4)


class Orders(nn.Module):
    """A weight on the left, and one of Einsum with two axes of its own."""

    def __init__(self):
        super().__init__()
        self.left, self.column = nn.Parameter(torch.randn(5, 3) / 2), nn.Parameter(torch.zeros(5, 1))
        self.heads, self.bias = nn.Parameter(torch.randn(4, 2, 3) / 2), nn.Parameter(torch.zeros(2, 3))

    def forward(self, x):
        return torch.einsum("bck,khd->bchd", torch.tanh(self.left @ x + self.column), self.heads) + self.bias


@case
def roles_of_operands(folder):
    model = Orders()
    w, c, h, b = values(model, "left", "column", "heads", "bias")
    nodes = [("MatMul", "w x", "m"), ("Add", "m c", "a"), ("Tanh", "a", "t"), ("Einsum", "t h", "e", {"equation": "bck,khd->bchd"}), ("Add", "e b", "y")]
    write(folder, nodes, {"w": w, "c": c, "h": h, "b": b}, [4, 3, 4], [4, 5, 2, 3])
    learned(folder, "both operands of a product are weights, and a bias may have several axes", model, targets(2, (3, 4), (5, 2, 3), 12), 4)


class Ends(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 5), nn.Linear(5, 2)
        for name, value in (("mean", [0.1, 0.2, -0.3]), ("std", [1.5, 0.8, 2.0]), ("scale", [2.0, 3.0]), ("shift", [0.5, -0.5])):
            self.register_buffer(name, torch.tensor(value))

    def forward(self, x):
        return self.last(torch.relu(self.first((x - self.mean) / self.std))) * self.scale + self.shift


@case
def roles_at_the_ends(folder):
    model = Ends()
    w0, b0, w1, b1, mean, std, scale, shift = values(model, "first.weight", "first.bias", "last.weight", "last.bias", "mean", "std", "scale", "shift")
    nodes = [("Sub", "x mean", "c"), ("Div", "c std", "n"), ("Gemm", "n w0 b0", "h", {"transB": 1}), ("Relu", "h", "r"), ("MatMul", "r w1", "m"), ("Add", "m b1", "z"),
             ("Mul", "z scale_out", "s"), ("Add", "s shift_out", "y")]
    write(folder, nodes, {"mean": mean, "std": std, "w0": w0, "b0": b0, "w1": w1.T.copy(), "b1": b1, "scale_out": scale, "shift_out": shift}, [4, 3], [4, 2])
    learned(folder, "what normalizes an input before the first parameter, or an output after the last one, is a constant", model, targets(3, (3,), (2,), 12), 4)


class Keras(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.head = nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 2)
        nn.init.zeros_(self.layer.bias_hh_l0)
        self.layer.bias_hh_l0.requires_grad_(False)

    def forward(self, x):
        return self.head(self.layer(x)[0][:, -1])


def onnx_gates(w):
    i, f, g, o = np.split(w, 4)
    return np.concatenate([i, o, f, g])


@case
def roles_of_recurrent_halves(folder):
    model = Keras()
    w, r, b, head, bias = values(model, "layer.weight_ih_l0", "layer.weight_hh_l0", "layer.bias_ih_l0", "head.weight", "head.bias")
    tensors = {"W0__11": onnx_gates(w)[None], "R0__12": onnx_gates(r)[None], "B0__13": np.concatenate([onnx_gates(b), np.zeros(16)])[None],
               "f/zeros/Const:0": np.float32(0), "shape": np.array([1, 4, 4]), "last": np.array(-1), "first": np.array([1]),
               "f/dense/Cast/ReadVariableOp:0": head.T.copy(), "f/dense/BiasAdd/ReadVariableOp:0": bias}
    nodes = [("Transpose", "x", "xt", {"perm": [1, 0, 2]}), ("Expand", "f/zeros/Const:0 shape", "state")]
    made = [helper.make_node("LSTM", ["xt", "W0__11", "R0__12", "B0__13", "", "state", "state"], ["hs"], name="LSTM__14", hidden_size=4)]
    nodes2 = [("Squeeze", "hs first", "h0"), ("Gather", "h0 last", "h"), ("MatMul", "h f/dense/Cast/ReadVariableOp:0", "m"), ("Add", "m f/dense/BiasAdd/ReadVariableOp:0", "y")]
    plain = lambda rows: [helper.make_node(n[0], n[1].split(), [n[2]], name=f"{n[2]}_node", **(n[3] if len(n) > 3 else {})) for n in rows]
    graph = helper.make_graph(plain(nodes) + made + plain(nodes2), "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 5, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 2])],
                              [numpy_helper.from_array(v if v.dtype == np.int64 else np.asarray(v, "f4"), k) for k, v in tensors.items()])
    file = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], producer_name="tf2onnx", ir_version=8)
    onnx.checker.check_model(file)
    onnx.save(file, folder / "model.onnx")
    learned(folder, "Keras has one bias where ONNX has two halves: the half of zeros in a file of tf2onnx does not train", model, targets(4, (5, 3), (2,), 12), 4)


def scaled(folder, producer, mul, add):
    tensors = {"w": np.random.default_rng(1).standard_normal((4, 3)), mul: np.array([1.1, 0.9, 1.2, 0.8]), add: np.array([0.1, 0.2, 0.3, 0.4]),
               "v": np.random.default_rng(2).standard_normal((2, 4))}
    nodes = [("Gemm", "x w", "a", {"transB": 1}), ("Mul", f"a {mul}", "m"), ("Add", f"m {add}", "n"), ("Relu", "n", "r"), ("Gemm", "r v", "y", {"transB": 1})]
    write(folder, nodes, tensors, [4, 3], [4, 2], producer)


@case
def roles_undecided(folder):
    scaled(folder, "", "c0", "c1")
    record(folder, "a factor and a summand a channel are a layer's, or a folded norm's: nobody guesses, and --allow does not help",
           {"lint": r"^error\[undecided-verdict\]  c0 .*float32\[4\].*Mul 'm_node'.*--train REGEX.*--freeze REGEX", "agree": True}, MSE, command="lint")


@case
def roles_decided(folder):
    scaled(folder, "", "c0", "c1")
    record(folder, "--train and --freeze settle it", {"lint_not": "undecided", "agree": True}, [*MSE, "--train", "c0", "--freeze", "c1"], command="lint")


@case
def roles_folded_norm(folder):
    scaled(folder, "tf2onnx", "f/bn/batchnorm/mul:0", "f/bn/batchnorm/sub:0")
    record(folder, "TensorFlow's names tell of the norm that is gone", {"lint": r"^error\[fused-batchnorm\]  f/bn/batchnorm/mul:0 .*fused_batch_norm", "agree": True}, MSE, command="lint")


@case
def roles_folded_norm_allowed(folder):
    scaled(folder, "tf2onnx", "f/bn/batchnorm/mul:0", "f/bn/batchnorm/sub:0")
    record(folder, "--allow fused-batchnorm trains what stands there", {"agree": True, "lint_not": r"^error"}, [*MSE, "--allow", "fused-batchnorm"], command="lint")


@case
def roles_not_finite(folder):
    w = np.random.default_rng(1).standard_normal((2, 3))
    w[1, 1] = np.nan
    write(folder, [("MatMul", "x w", "m"), ("Add", "m b", "y")], {"w": w.T.copy(), "b": np.zeros(2)}, [4, 3], [4, 2])
    record(folder, "a weight that is not finite is refused by name, before training", {"lint": r"^error\[not-finite\]  w .*nan", "agree": True}, MSE, command="lint")


class Frozen(nn.Module):
    """FrozenBatchNorm2d."""

    def __init__(self, count):
        super().__init__()
        for name in ("weight", "bias", "running_mean", "running_var"):
            self.register_buffer(name, torch.rand(count) + 0.5)

    def forward(self, x):
        scale = self.weight.reshape(1, -1, 1, 1) * (self.running_var.reshape(1, -1, 1, 1) + 1e-5).rsqrt()
        return x * scale + (self.bias.reshape(1, -1, 1, 1) - self.running_mean.reshape(1, -1, 1, 1) * scale)


class Images(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(2, 4, 3), norm, nn.Conv2d(4, 2, 1)

    def forward(self, x):
        return self.head(torch.tanh(self.norm(self.conv(x)))).mean((2, 3))


@case
def roles_frozen_norm(folder):
    model = Images(Frozen(4)).train()
    export(model, (torch.zeros(4, 2, 5, 5),), folder, script=True)
    learned(folder, "four siblings, two of them running statistics in arithmetic: a frozen norm, of which nothing trains", model, targets(5, (2, 5, 5), (2,), 12), 4,
            lint=r"^note\[frozen-norm\]  norm.weight ")


@case
def roles_group_norm(folder):
    model = Images(nn.GroupNorm(2, 4)).train()
    torch.onnx.export(model, (torch.zeros(4, 2, 5, 5),), str(folder / "model.onnx"), dynamo=False, opset_version=17, input_names=["x"], output_names=["y"])
    file = onnx.load(folder / "model.onnx")
    for node in file.graph.node:
        node.doc_string = ""
    onnx.save(file, folder / "model.onnx")
    data = targets(6, (2, 5, 5), (2,), 12)
    losses, trained = train(model, data, 4, 4, "mse", sgd(0.05))
    record(folder, "a fresh group norm of the older exporter: scale and shift train under the module's name",
           {"loss": losses, "relative": 3e-5, "weights": norms(trained, model, ["norm.weight", "norm.bias"]), "weights_relative": 1e-4}, MSE, ["--steps", "4"], data)


class Spectral(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.utils.spectral_norm(nn.Linear(6, 5)), nn.Linear(5, 2)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))


@case
def roles_spectral_norm(folder):
    model = Spectral()
    model(torch.randn(3, 6))
    model.eval()
    torch.onnx.export(model, (torch.zeros(4, 6),), str(folder / "model.onnx"), dynamo=False, opset_version=17, input_names=["x"], output_names=["y"], do_constant_folding=False)
    file = onnx.load(folder / "model.onnx")
    for node in file.graph.node:
        node.doc_string = ""
    onnx.save(file, folder / "model.onnx")
    model.a.weight = model.a.weight.detach()  # as a copy can be made of it
    learned(folder, "the vectors of a spectral norm are buffers, and an Identity of its weight is that weight", model, targets(7, (6,), (2,), 12), 4, relative=1e-3)


class Positioned(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.head = nn.Linear(3, 6), nn.Linear(6, 2)
        angles = torch.arange(4.0)[:, None] * 10000.0 ** (-torch.arange(0, 6, 2) / 6)
        self.register_buffer("sines", torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[None])

    def forward(self, x):
        return self.head(torch.tanh(self.enter(x) + self.sines))


@case
def roles_sine_table(folder):
    model = Positioned()
    w, b, v, c, sines = values(model, "enter.weight", "enter.bias", "head.weight", "head.bias", "sines")
    nodes = [("MatMul", "x w", "m"), ("Add", "m b", "e"), ("Add", "e s", "p"), ("Tanh", "p", "t"), ("MatMul", "t v", "n"), ("Add", "n c", "y")]
    write(folder, nodes, {"w": w.T.copy(), "b": b, "s": sines, "v": v.T.copy(), "c": c}, [4, 4, 3], [4, 4, 2])
    learned(folder, "a table of positions without a name that equals sines and cosines is a constant", model, targets(8, (4, 3), (4, 2), 12), 4)


@case
def roles_folded_convolution(folder):
    model = Images(nn.BatchNorm2d(4)).eval()
    torch.onnx.export(model, (torch.zeros(4, 2, 5, 5),), str(folder / "model.onnx"), dynamo=False, opset_version=17, input_names=["x"], output_names=["y"])
    file = onnx.load(folder / "model.onnx")
    for node in file.graph.node:
        node.doc_string = ""
    onnx.save(file, folder / "model.onnx")
    record(folder, "the older exporter folds a norm in evaluation mode into its convolution, and numbers the tensors that it makes",
           {"lint": r"^error\[fused-batchnorm\] .*TrainingMode.PRESERVE", "agree": True}, MSE, command="lint")


@case
def roles_computed_weight(folder):
    model = nn.utils.parametrizations.weight_norm(nn.Linear(6, 2)).train()
    torch.onnx.export(model, (torch.zeros(4, 6),), str(folder / "model.onnx"), dynamo=False, opset_version=17, input_names=["x"], output_names=["y"])
    file = onnx.load(folder / "model.onnx")
    for node in file.graph.node:
        node.doc_string = ""
    onnx.save(file, folder / "model.onnx")
    record(folder, "a weight in PyTorch's own layout that has a number for its name was computed from others",
           {"lint": r"^error\[computed-parameter\] .*onnx::Gemm_\d+ .*optimize=False", "agree": True}, MSE, command="lint")


class Removed(nn.Module):
    """As a fresh model of Keras: neither the first layer's bias nor the norm's shift is in the file."""

    def __init__(self):
        super().__init__()
        self.enter, self.scale, self.head = nn.Linear(3, 6, bias=False), nn.Parameter(torch.ones(6)), nn.Linear(6, 2)

    def forward(self, x):
        return self.head(torch.tanh(F.layer_norm(self.enter(x), (6,), eps=1e-3) * self.scale))


@case
def roles_removed_biases(folder):
    model = Removed()
    w, scale, v, c = values(model, "enter.weight", "scale", "head.weight", "head.bias")
    nodes = [("MatMul", "x f/a/Cast/ReadVariableOp:0", "m"), ("ReduceMean", "m", "mean", {"axes": [-1]}), ("Neg", "mean", "less"), ("Sub", "m mean", "d"), ("Mul", "d d", "d2"),
             ("ReduceMean", "d2", "var", {"axes": [-1]}), ("Add", "var f/norm/add/y:0", "ve"), ("Sqrt", "ve", "sd"), ("Reciprocal", "sd", "r"),
             ("Mul", "r f/norm/Reshape:0", "rs"), ("Mul", "m rs", "n0"), ("Mul", "less rs", "n1"), ("Add", "n0 n1", "n"), ("Tanh", "n", "t"),
             ("MatMul", "t f/b/Cast/ReadVariableOp:0", "h"), ("Add", "h f/b/BiasAdd/ReadVariableOp:0", "y")]
    write(folder, nodes, {"f/a/Cast/ReadVariableOp:0": w.T.copy(), "f/norm/add/y:0": np.float32(1e-3), "f/norm/Reshape:0": scale[None], "f/b/Cast/ReadVariableOp:0": v.T.copy(),
                          "f/b/BiasAdd/ReadVariableOp:0": c}, [4, 3], [4, 2], "tf2onnx")
    learned(folder, "Keras' exporter removes biases of zeros: compile says how many products and norms are without", model, targets(9, (3,), (2,), 12), 4,
            stderr="1 product is without a bias, 1 norm is without a shift")
