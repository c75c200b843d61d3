#!/usr/bin/env python3
"""Writes a GPT whose weights are a sparse file of zeros beside it, to be made by --init: make_gpt.py OUT.onnx
[--layers 6 --width 384 --heads 6 --vocabulary 8192 --positions 128]. Needs onnx."""
import argparse
import pathlib

import onnx
from onnx import TensorProto, helper


class Weights:
    """Initializers in an external file that holds nothing yet."""

    def __init__(self, location):
        self.location, self.bytes, self.tensors = location, 0, []

    def add(self, name, *shape):
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape,
                             data_location=TensorProto.EXTERNAL)
        length = 4
        for extent in shape:
            length *= extent
        for key, value in (("location", self.location), ("offset", self.bytes), ("length", length)):
            tensor.external_data.add(key=key, value=str(value))
        self.bytes += (length + 4095) // 4096 * 4096
        self.tensors.append(tensor)
        return name


def block(weights, nodes, x, name, o):
    width = o.width

    def node(op, inputs, suffix, **attributes):
        nodes.append(helper.make_node(op, inputs, [f"{name}.{suffix}"], f"{name}.{suffix}", **attributes))
        return f"{name}.{suffix}"

    def norm(value, suffix):
        return node("LayerNormalization", [value, weights.add(f"{name}.{suffix}.scale", width),
                                           weights.add(f"{name}.{suffix}.bias", width)], suffix, epsilon=1e-5)

    def linear(value, suffix, rows, columns):
        product = node("MatMul", [value, weights.add(f"{name}.{suffix}.weight", rows, columns)], suffix + ".product")
        return node("Add", [product, weights.add(f"{name}.{suffix}.bias", columns)], suffix)

    packed = linear(norm(x, "norm1"), "qkv", width, 3 * width)
    heads = [f"{name}.{part}" for part in "qkv"]
    nodes.append(helper.make_node("Split", [packed], heads, f"{name}.split", axis=2, num_outputs=3))
    mixed = node("Attention", heads, "attention", is_causal=1, q_num_heads=o.heads, kv_num_heads=o.heads)
    x = node("Add", [x, linear(mixed, "out", width, width)], "residual1")
    hidden = node("Gelu", [linear(norm(x, "norm2"), "up", width, 4 * width)], "gelu", approximate="tanh")
    return node("Add", [x, linear(hidden, "down", 4 * width, width)], "residual2")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    for name, value in dict(layers=6, width=384, heads=6, vocabulary=8192, positions=128).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    o = parser.parse_args()
    weights, nodes = Weights(o.out.name + ".data"), []
    tokens = weights.add("tokens.weight", o.vocabulary, o.width)
    positions = weights.add("positions.weight", o.positions, o.width)
    nodes.append(helper.make_node("Gather", [tokens, "input_ids"], ["embedded"], "embedded"))
    nodes.append(helper.make_node("Add", ["embedded", positions], ["x"], "x"))
    x = "x"
    for i in range(o.layers):
        x = block(weights, nodes, x, f"block{i}", o)
    final = [x, weights.add("norm.scale", o.width), weights.add("norm.bias", o.width)]
    nodes.append(helper.make_node("LayerNormalization", final, ["last"], "last", epsilon=1e-5))
    nodes.append(helper.make_node("Transpose", [tokens], ["head"], "head", perm=[1, 0]))
    nodes.append(helper.make_node("MatMul", ["last", "head"], ["logits"], "logits"))
    batch = ["batch", o.positions]
    graph = helper.make_graph(nodes, "gpt", [helper.make_tensor_value_info("input_ids", TensorProto.INT64, batch)],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, batch + [o.vocabulary])],
                              weights.tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11), o.out)
    with open(f"{o.out}.data", "wb") as data:
        data.truncate(weights.bytes)


if __name__ == "__main__":
    main()
