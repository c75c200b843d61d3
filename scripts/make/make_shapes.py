#!/usr/bin/env python3
"""Writes models of published sizes as ONNX without weights: what `kedge plan` needs and no more.

make_shapes.py NAME OUT.onnx    NAME: gpt2, gpt2-medium, gpt2-xl, lesson-l, gpt3, bert-base, llama-1b, llama-7b, llama-8b, resnet50, unet; for shares
                                of a device's bandwidth (scripts/gpu/gpu_conformance.py): wide-rows, wide-parameter; stacks of
                                square linears with as many parameters as they say: 1b, 7b, 7.5b, 128b, 1t, and linears-48

Weights are external data in a file that does not exist; the parameters' shapes are the published ones (docs/rationale/history/time-model.md
has the counts). Token inputs are BxT, images BxCxHxW, all dynamic. Needs only the package onnx.
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

OPSET = 23


class Graph:
    def __init__(self):
        self.nodes, self.initializers, self.count, self.scopes = [], [], 0, [("", "Model")]
        self.offset = 0

    def within(self, path, kind):
        """Everything made inside belongs to this module."""
        graph = self

        class Scope:
            def __enter__(self):
                graph.scopes.append((path, kind))

            def __exit__(self, *_):
                graph.scopes.pop()

        return Scope()

    def parameter(self, name, *shape):
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        length = 4 * int(np.prod(shape))
        for key, value in (("location", "weights.bin"), ("offset", str(self.offset)), ("length", str(length))):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, value
        self.offset += length
        self.initializers.append(tensor)
        return name

    def constant(self, value):
        name = f"c{self.count}"
        self.count += 1
        self.initializers.append(onnx.numpy_helper.from_array(np.array(value), name))
        return name

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"v{self.count + i}" for i in range(outputs)]
        self.count += outputs
        node = helper.make_node(kind, inputs, names, name=f"{kind}_{names[0]}", **attributes)
        for key, values in (("pkg.torch.onnx.name_scopes", [p for p, _ in self.scopes] + [node.name]),
                            ("pkg.torch.onnx.class_hierarchy", [c for _, c in self.scopes] + [kind])):
            entry = node.metadata_props.add()
            entry.key, entry.value = key, str(values)
        self.nodes.append(node)
        return names[0] if outputs == 1 else names

    def linear(self, x, name, fan_in, fan_out, bias=True):
        y = self.op("MatMul", x, self.parameter(f"{name}.weight", fan_in, fan_out))
        return self.op("Add", y, self.parameter(f"{name}.bias", fan_out)) if bias else y

    def layer_norm(self, x, name, width):
        return self.op("LayerNormalization", x, self.parameter(f"{name}.weight", width),
                       self.parameter(f"{name}.bias", width), axis=-1)

    def attention(self, q, k, v, heads, kv_heads, causal):
        return self.op("Attention", q, k, v, q_num_heads=heads, kv_num_heads=kv_heads, is_causal=int(causal))

    def save(self, path, inputs, logits, shape):
        graph = helper.make_graph(self.nodes, "shapes", inputs,
                                  [helper.make_tensor_value_info(logits, TensorProto.FLOAT, shape)], self.initializers)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10), path)


def tokens_input(name="input_ids"):
    return helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])


def transformer(g, x, block, width, heads, hidden, causal, pre_norm=True):
    """One block of GPT-2 (norms first) or BERT (norms last)."""
    with g.within(block, "Block"):
        y = g.layer_norm(x, f"{block}.norm1", width) if pre_norm else x
        q, k, v = g.op("Split", g.linear(y, f"{block}.qkv", width, 3 * width), outputs=3, axis=-1, num_outputs=3)
        x = g.op("Add", x, g.linear(g.attention(q, k, v, heads, heads, causal), f"{block}.out", width, width))
        x = x if pre_norm else g.layer_norm(x, f"{block}.norm1", width)
        y = g.layer_norm(x, f"{block}.norm2", width) if pre_norm else x
        y = g.op("Gelu", g.linear(y, f"{block}.up", width, hidden), approximate="tanh" if pre_norm else "none")
        x = g.op("Add", x, g.linear(y, f"{block}.down", hidden, width))
        return x if pre_norm else g.layer_norm(x, f"{block}.norm2", width)


def embed(g, vocab, positions, width):
    table = g.parameter("tokens.weight", vocab, width)
    length = g.op("Shape", "input_ids", start=1, end=2)
    first = g.op("Slice", g.parameter("positions.weight", positions, width), g.constant([0]), length, g.constant([0]))
    return table, g.op("Add", g.op("Gather", table, "input_ids"), first)


def gpt(path, layers, width, heads, vocab=50257, positions=1024, tied=True):
    g = Graph()
    table, x = embed(g, vocab, positions, width)
    for i in range(layers):
        x = transformer(g, x, f"blocks.{i}", width, heads, 4 * width, causal=True)
    x = g.layer_norm(x, "norm", width)
    if tied:
        logits = g.op("MatMul", x, g.op("Transpose", table, perm=[1, 0]))
    else:
        logits = g.linear(x, "head", width, vocab, bias=False)
    g.save(path, [tokens_input()], logits, ["batch", "length", vocab])


def bert(path, layers=12, width=768, heads=12, vocab=30522):
    g = Graph()
    _, x = embed(g, vocab, 512, width)
    x = g.layer_norm(x, "norm", width)
    for i in range(layers):
        x = transformer(g, x, f"layer.{i}", width, heads, 4 * width, causal=False, pre_norm=False)
    logits = g.linear(x, "head", width, vocab)
    g.save(path, [tokens_input()], logits, ["batch", "length", vocab])


def llama(path, layers=16, width=2048, heads=32, kv_heads=8, hidden=8192, vocab=128256, tied=True):
    g = Graph()
    table = g.parameter("tokens.weight", vocab, width)
    x = g.op("Gather", table, "input_ids")
    length = g.op("Shape", "input_ids", start=1, end=2)
    half = width // heads // 2
    cos, sin = (g.constant(np.full((1, 1, half), value, np.float32)) for value in (0.8, 0.6))  # rows of any number
    rms = lambda x, name: g.op("RMSNormalization", x, g.parameter(f"{name}.weight", width), axis=-1)
    for i in range(layers):
        with g.within(f"layers.{i}", "LlamaBlock"):
            y = rms(x, f"layers.{i}.norm1")
            q, k, v = (g.linear(y, f"layers.{i}.{name}", width, width // heads * n, bias=False)
                       for name, n in (("q", heads), ("k", kv_heads), ("v", kv_heads)))
            ones = [g.op("Expand", table, g.op("Concat", g.op("Shape", "input_ids", start=0, end=1), length,
                                               g.constant([half]), axis=0)) for table in (cos, sin)]
            q, k = (g.op("RotaryEmbedding", t, *ones, num_heads=n) for t, n in ((q, heads), (k, kv_heads)))
            y = g.attention(q, k, v, heads, kv_heads, True)
            x = g.op("Add", x, g.linear(y, f"layers.{i}.o", width, width, bias=False))
            y = rms(x, f"layers.{i}.norm2")
            gate, up = (g.linear(y, f"layers.{i}.{name}", width, hidden, bias=False) for name in ("gate", "up"))
            y = g.op("Mul", g.op("Mul", gate, g.op("Sigmoid", gate)), up)
            x = g.op("Add", x, g.linear(y, f"layers.{i}.down", hidden, width, bias=False))
    x = rms(x, "norm")
    logits = g.op("MatMul", x, g.op("Transpose", table, perm=[1, 0])) if tied else g.linear(x, "head", width, vocab, bias=False)
    g.save(path, [tokens_input()], logits, ["batch", "length", vocab])


def convolution(g, x, name, fan_in, fan_out, size, stride=1):
    return g.op("Conv", x, g.parameter(f"{name}.weight", fan_out, fan_in, size, size), strides=[stride, stride],
                pads=[size // 2] * 4, kernel_shape=[size, size])


def batch_norm(g, x, name, width):
    y, _, _ = g.op("BatchNormalization", x, g.parameter(f"{name}.weight", width), g.parameter(f"{name}.bias", width),
                   g.constant(np.zeros(width, np.float32)), g.constant(np.ones(width, np.float32)), outputs=3,
                   training_mode=1, momentum=0.9)
    return y


def resnet50(path, classes=1000):
    g = Graph()
    x = g.op("Relu", batch_norm(g, convolution(g, "pixels", "stem", 3, 64, 7, 2), "stem.norm", 64))
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    width = 64
    for stage, (blocks, inner) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for i in range(blocks):
            name, stride = f"layer{stage}.{i}", 2 if stage and not i else 1
            with g.within(name, "Bottleneck"):
                y = g.op("Relu", batch_norm(g, convolution(g, x, f"{name}.1", width, inner, 1), f"{name}.n1", inner))
                y = g.op("Relu", batch_norm(g, convolution(g, y, f"{name}.2", inner, inner, 3, stride), f"{name}.n2", inner))
                y = batch_norm(g, convolution(g, y, f"{name}.3", inner, 4 * inner, 1), f"{name}.n3", 4 * inner)
                if not i:
                    x = batch_norm(g, convolution(g, x, f"{name}.d", width, 4 * inner, 1, stride), f"{name}.nd", 4 * inner)
                x, width = g.op("Relu", g.op("Add", x, y)), 4 * inner
    x = g.op("Flatten", g.op("GlobalAveragePool", x))
    image = helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["batch", 3, "height", "width"])
    g.save(path, [image], g.linear(x, "head", width, classes), ["batch", classes])


def unet(path, widths=(64, 128, 256, 512, 1024), classes=2):
    g = Graph()

    def double(x, name, fan_in, fan_out):
        with g.within(name, "DoubleConv"):
            for i, channels in enumerate((fan_in, fan_out)):
                x = g.op("Relu", batch_norm(g, convolution(g, x, f"{name}.{i}", channels, fan_out, 3), f"{name}.n{i}", fan_out))
            return x

    x, skips, last = "pixels", [], 3
    for i, width in enumerate(widths):
        x = double(x if not i else g.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), f"down{i}", last, width)
        skips.append(x)
        last = width
    for i, width in reversed(list(enumerate(widths[:-1]))):
        x = g.op("ConvTranspose", x, g.parameter(f"up{i}.weight", last, width, 2, 2), strides=[2, 2], kernel_shape=[2, 2])
        x = double(g.op("Concat", skips[i], x, axis=1), f"join{i}", 2 * width, width)
        last = width
    image = helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["batch", 3, "height", "width"])
    g.save(path, [image], convolution(g, x, "head", last, classes, 1), ["batch", classes, "height", "width"])


def rows_input(width):
    return [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", width])]


def wide_rows(path, width=1024, outputs=8):
    """Scale -> LayerNorm -> Gelu -> head: norms and elementwise work on as many rows as the batch has."""
    g = Graph()
    x = g.layer_norm(g.op("Mul", "x", g.parameter("scale", width)), "norm", width)
    y = g.op("MatMul", g.op("Gelu", x), g.parameter("head", width, outputs))
    g.save(path, rows_input(width), y, ["batch", outputs])


def wide_parameter(path, width=1024, outputs=1 << 15):
    """One product whose parameter has 134 MB: an optimizer's work."""
    g = Graph()
    g.save(path, rows_input(width), g.op("MatMul", "x", g.parameter("weight", width, outputs)), ["batch", outputs])


def linears(path, layers, width, bias=False):
    """layers x Linear(width, width): state and nothing else."""
    g, x = Graph(), "x"
    for i in range(layers):
        with g.within(f"layers.{i}", "Linear"):
            x = g.linear(x, f"layers.{i}", width, width, bias)
    g.save(path, rows_input(width), x, ["batch", width])


MODELS = {
    "gpt2": lambda path: gpt(path, 12, 768, 12),
    "gpt2-medium": lambda path: gpt(path, 24, 1024, 16),
    "gpt2-xl": lambda path: gpt(path, 48, 1600, 25),
    "lesson-l": lambda path: gpt(path, 24, 2048, 32, tied=False),
    "gpt3": lambda path: gpt(path, 96, 12288, 96, positions=2048),
    "bert-base": bert,
    "llama-1b": llama,
    "llama-8b": lambda path: llama(path, 32, 4096, 32, 8, 14336, 128256, tied=False),
    "llama-7b": lambda path: llama(path, 32, 4096, 32, 32, 11008, 32000, tied=False),
    "resnet50": resnet50,
    "unet": unet,
    "1b": lambda path: linears(path, 10, 10000),
    "7b": lambda path: linears(path, 70, 10000),
    "7.5b": lambda path: linears(path, 75, 10000),
    "128b": lambda path: linears(path, 80, 40000),
    "1t": lambda path: linears(path, 100, 100000),
    "linears-48": lambda path: linears(path, 48, 4096, bias=True),
    "wide-rows": wide_rows,
    "wide-parameter": wide_parameter,
}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in MODELS:
        sys.exit(__doc__)
    MODELS[sys.argv[1]](sys.argv[2])
