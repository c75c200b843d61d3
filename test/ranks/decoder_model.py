"""Writes a small decoder of images, with its data: decoder_model.py FOLDER

Group norms over 4 and 6 groups, transposed convolutions (to fewer channels, to more, a group a channel), resampling by two; classes of pixels.
"""
import json
import os
import sys

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

ROWS, CHANNELS, SIZE, WIDTH, CLASSES = 24, 4, 4, 12, 3


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(7)
    shapes = {"widen": (WIDTH, CHANNELS, 3, 3), "narrow": (WIDTH, 8, 2, 2), "grow": (8, WIDTH, 3, 3), "each": (WIDTH, 1, 2, 2),
              "head": (CLASSES, WIDTH, 1, 1)}
    weights = {f"{name}.weight": rng.normal(0, 0.3, shape) for name, shape in shapes.items()}
    weights |= {f"{name}.bias": rng.normal(0, 0.3, size) for name, size in (("narrow", 8), ("grow", WIDTH), ("each", WIDTH))}
    for norm in ("first", "second"):
        weights |= {f"{norm}.weight": rng.normal(1, 0.2, WIDTH), f"{norm}.bias": rng.normal(0, 0.2, WIDTH)}
    node = helper.make_node
    nodes = [
        node("Conv", ["pixels", "widen.weight"], ["a"], pads=[1, 1, 1, 1]),
        node("GroupNormalization", ["a", "first.weight", "first.bias"], ["b"], num_groups=4),
        node("Relu", ["b"], ["c"]),
        node("ConvTranspose", ["c", "narrow.weight", "narrow.bias"], ["d"], strides=[2, 2]),
        node("ConvTranspose", ["d", "grow.weight", "grow.bias"], ["e"], pads=[1, 1, 1, 1]),
        node("GroupNormalization", ["e", "second.weight", "second.bias"], ["f"], num_groups=6),
        node("Resize", ["f", "", "scales"], ["g"], mode="linear"),
        node("ConvTranspose", ["g", "each.weight", "each.bias"], ["h"], strides=[2, 2], group=WIDTH),
        node("Conv", ["h", "head.weight"], ["logits"]),
    ]
    initializers = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    initializers.append(numpy_helper.from_array(np.array([1, 1, 0.5, 0.5], np.float32), "scales"))
    out = 2 * SIZE
    graph = helper.make_graph(
        nodes, "decoder", [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["batch", CHANNELS, SIZE, SIZE])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", CLASSES, out, out])], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    checker.check_model(model)
    save(model, f"{folder}/model.onnx")
    np.save(f"{folder}/pixels.npy", rng.normal(0, 1, (ROWS, CHANNELS, SIZE, SIZE)).astype(np.float32))
    np.save(f"{folder}/labels.npy", rng.integers(0, CLASSES, (ROWS, out, out)))
    json.dump({"data": {"pixels": "pixels.npy", "labels": "labels.npy"}}, open(f"{folder}/trace.json", "w"))


if __name__ == "__main__":
    main()
