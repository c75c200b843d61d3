"""Writes a small language model with fewer key heads than query heads, with its data: grouped_model.py FOLDER

Two blocks of RMS norms, attention with four query heads and two key heads, a gated pair of products, dropout of the residual
stream; a head of its own.
"""
import json
import os
import sys

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

VOCABULARY, WIDTH, HEADS, KEY_HEADS, INNER, ROWS, LENGTH = 40, 16, 4, 2, 24, 24, 8
HEAD = WIDTH // HEADS


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(5)
    weights = {"wte.weight": rng.normal(0, 0.5, (VOCABULARY, WIDTH)), "norm.weight": np.ones(WIDTH),
               "head.weight": rng.normal(0, 0.3, (WIDTH, VOCABULARY))}
    node = helper.make_node
    nodes = [node("Gather", ["wte.weight", "ids"], ["h0"])]
    for block in range(2):
        shapes = {"q": (WIDTH, WIDTH), "k": (WIDTH, KEY_HEADS * HEAD), "v": (WIDTH, KEY_HEADS * HEAD), "o": (WIDTH, WIDTH),
                  "gate": (WIDTH, INNER), "up": (WIDTH, INNER), "down": (INNER, WIDTH)}
        name = {short: f"blocks.{block}.{short}.weight" for short in (*shapes, "norm1", "norm2")}
        weights |= {name[short]: rng.normal(0, 0.3, shape) for short, shape in shapes.items()}
        weights |= {name["norm1"]: np.ones(WIDTH), name["norm2"]: np.ones(WIDTH)}
        at = lambda value: f"{value}_{block}"  # noqa: E731
        nodes += [
            node("RMSNormalization", [f"h{block}", name["norm1"]], [at("x")], axis=-1),
            *(node("MatMul", [at("x"), name[short]], [at(short)]) for short in "qkv"),
            node("Attention", [at("q"), at("k"), at("v")], [at("seen")], is_causal=1, q_num_heads=HEADS, kv_num_heads=KEY_HEADS),
            node("MatMul", [at("seen"), name["o"]], [at("o")]),
            node("Dropout", [at("o"), "ratio", "training"], [at("dropped")], name=at("dropout")),
            node("Add", [f"h{block}", at("dropped")], [at("middle")]),
            node("RMSNormalization", [at("middle"), name["norm2"]], [at("y")], axis=-1),
            *(node("MatMul", [at("y"), name[short]], [at(short)]) for short in ("gate", "up")),
            node("Sigmoid", [at("gate")], [at("opened")]),
            node("Mul", [at("opened"), at("up")], [at("inner")]),
            node("MatMul", [at("inner"), name["down"]], [at("down")]),
            node("Add", [at("middle"), at("down")], [f"h{block + 1}"]),
        ]
    nodes += [node("RMSNormalization", ["h2", "norm.weight"], ["last"], axis=-1), node("MatMul", ["last", "head.weight"], ["logits"])]
    initializers = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    initializers += [numpy_helper.from_array(np.array(0.25, np.float32), "ratio"), numpy_helper.from_array(np.array(True), "training")]
    graph = helper.make_graph(
        nodes, "grouped", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", LENGTH])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", LENGTH, VOCABULARY])], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    checker.check_model(model)
    save(model, f"{folder}/model.onnx")
    ids = rng.integers(0, VOCABULARY, (ROWS, LENGTH))
    labels = np.roll(ids, -1, axis=1)
    labels[rng.random(labels.shape) < 0.3] = -100
    np.save(f"{folder}/ids.npy", ids)
    np.save(f"{folder}/labels.npy", labels)
    json.dump({"data": {"ids": "ids.npy", "labels": "labels.npy"}}, open(f"{folder}/trace.json", "w"))


if __name__ == "__main__":
    main()
