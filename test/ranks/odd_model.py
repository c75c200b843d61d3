"""Writes a model whose tensors cut badly into three parts, with its data: odd_model.py FOLDER

An embedding of 7 x 5 that is tied to the head, a norm with 1-element weights, a bias of 5 (fewer elements than some worlds
have ranks), a matrix of a prime number of elements, a fused pair (gate and up in one tensor), a frozen matrix and a
parameter that nothing reads.
"""
import json
import os
import sys

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

VOCABULARY, WIDTH, ROWS, LENGTH = 7, 5, 24, 6


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(3)
    weights = {
        "wte.weight": rng.normal(0, 0.5, (VOCABULARY, WIDTH)),
        "gain.weight": np.ones(1),
        "bias.weight": np.zeros(WIDTH),
        "prime.weight": rng.normal(0, 0.5, (1, 31)),
        "back.weight": rng.normal(0, 0.5, (31, WIDTH)),
        "frozen.weight": rng.normal(0, 0.5, (WIDTH, WIDTH)),
        "fused.weight": rng.normal(0, 0.5, (WIDTH, 2 * WIDTH)),
        "unused.weight": rng.normal(0, 0.5, (3, 3)),
    }
    node = helper.make_node
    nodes = [
        node("Gather", ["wte.weight", "ids"], ["h0"]),
        node("Mul", ["h0", "gain.weight"], ["h1"]),
        node("Add", ["h1", "bias.weight"], ["h2"]),
        node("MatMul", ["h2", "frozen.weight"], ["h3"]),
        node("MatMul", ["h3", "fused.weight"], ["both"]),
        node("Split", ["both"], ["gate", "up"], axis=-1, num_outputs=2),
        node("Sigmoid", ["gate"], ["opened"]),
        node("Mul", ["opened", "up"], ["h4"]),
        node("ReduceMean", ["h4", "last"], ["mean"], keepdims=1),
        node("MatMul", ["mean", "prime.weight"], ["wide"]),
        node("Tanh", ["wide"], ["bent"]),
        node("MatMul", ["bent", "back.weight"], ["h5"]),
        node("Add", ["h4", "h5"], ["h6"]),
        node("Transpose", ["wte.weight"], ["head"], perm=[1, 0]),
        node("MatMul", ["h6", "head"], ["logits"]),
    ]
    initializers = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    initializers.append(numpy_helper.from_array(np.array([-1], np.int64), "last"))
    graph = helper.make_graph(
        nodes, "odd", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", LENGTH])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", LENGTH, VOCABULARY])], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    checker.check_model(model)
    save(model, f"{folder}/model.onnx")
    ids = rng.integers(0, VOCABULARY, (ROWS, LENGTH))
    labels = np.roll(ids, -1, axis=1)
    labels[rng.random(labels.shape) < 0.3] = -100
    np.save(f"{folder}/ids.npy", ids)
    np.save(f"{folder}/labels.npy", labels)
    compile_words = ["--shape", f"ids=4x{LENGTH}", "--loss", "cross-entropy", "--optimizer", "adamw", "--clip-norm", "0.5",
                     "--freeze", "frozen"]
    json.dump({"compile": compile_words, "data": {"ids": "ids.npy", "labels": "labels.npy"}, "run": []},
              open(f"{folder}/trace.json", "w"))


if __name__ == "__main__":
    main()
