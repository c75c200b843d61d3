"""Small regressions that describe their own training, and the numbers they must give.

make KIND MODEL.onnx X.npy      writes the model and its data
check KIND X.npy LOG EXPORTED   compares losses and variables with numpy's, step by step in double precision
"""
import json
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

ROWS, STEPS = 8, 6
TRAINING = "ai.onnx.preview.training"
ADAM = dict(alpha=0.8, beta=0.95, epsilon=1e-3, norm_coefficient=0.02, norm_coefficient_post=0.01)
ADAGRAD = dict(decay_factor=0.1, epsilon=1e-3, norm_coefficient=0.02)
MOMENTUM = dict(alpha=0.8, beta=0.5, mode="nesterov", norm_coefficient=0.02)
RATE = 0.05


def start():
    rng = np.random.default_rng(3)
    w = rng.normal(size=(3, 2)).astype(np.float32)
    return dict(w=w, u=np.ones((2,), np.float32))


def algorithm(kind, w, prefix, error=None):
    """One variable's algorithm: gradient, update, counter."""
    op, settings, states = {"adam": ("Adam", ADAM, "vh"), "adagrad": ("Adagrad", ADAGRAD, "h"),
                            "nesterov": ("Momentum", MOMENTUM, "v")}[kind]
    y = "y" if error == "vector" else prefix + "loss"
    nodes = [
        helper.make_node("Sub", ["y", "t"], [prefix + "d"]),
        helper.make_node("Mul", [prefix + "d", prefix + "d"], [prefix + "dd"]),
        helper.make_node("ReduceMean", [prefix + "dd"], [prefix + "loss"], keepdims=0),
        helper.make_node("Gradient", [w], [prefix + "g"], domain=TRAINING, xs=[w], y=y),
        helper.make_node(op, ["rate", prefix + "count", w, prefix + "g"] + [prefix + s for s in states],
                         [prefix + w + "_new"] + [prefix + s + "_new" for s in states], domain=TRAINING, **settings),
        helper.make_node("Add", [prefix + "count", prefix + "one"], [prefix + "count_new"])]
    if error == "unrelated":
        nodes[2] = helper.make_node("ReduceMean", ["t"], [prefix + "loss"], keepdims=0)
    shape = list(start()[w].shape)
    tensors = [numpy_helper.from_array(np.zeros(shape, np.float32), prefix + s) for s in states]
    tensors += [numpy_helper.from_array(np.array(0, np.int64), prefix + "count"),
                numpy_helper.from_array(np.array(1, np.int64), prefix + "one")]
    outputs = [helper.make_tensor_value_info(prefix + "loss", 1, []),
               helper.make_tensor_value_info(prefix + "count_new", 7, []),
               helper.make_tensor_value_info(prefix + w + "_new", 1, shape)]
    outputs += [helper.make_tensor_value_info(prefix + s + "_new", 1, shape) for s in states]
    bindings = {w: prefix + w + "_new", prefix + "count": prefix + "count_new"}
    bindings.update({prefix + s: prefix + s + "_new" for s in states})
    if error == "binding":
        bindings["nobody"] = prefix + "loss"
    if error == "type":
        bindings[prefix + "count"] = prefix + "loss"
    target = helper.make_tensor_value_info("t", 1, ["batch", 2])
    info = onnx.TrainingInfoProto(
        algorithm=helper.make_graph(nodes, prefix + "algorithm", [target], outputs, tensors))
    for key, value in bindings.items():
        info.update_binding.add(key=key, value=value)
    return info


def make(kind, path, data):
    values = start()
    nodes = [helper.make_node("MatMul", ["x", "w"], ["xw"]), helper.make_node("Mul", ["xw", "u"], ["y"])]
    tensors = [numpy_helper.from_array(v, k) for k, v in values.items()]
    tensors.append(numpy_helper.from_array(np.array(RATE, np.float32), "rate"))
    graph = helper.make_graph(nodes, "regression", [helper.make_tensor_value_info("x", 1, ["batch", 3])],
                              [helper.make_tensor_value_info("y", 1, ["batch", 2])], tensors)
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17),
                                                                  helper.make_opsetid(TRAINING, 1)])
    main, error = kind.split("-") if "-" in kind else (kind, None)
    if main == "both":
        model.training_info.extend([algorithm("nesterov", "w", "a_"), algorithm("adagrad", "u", "b_")])
    else:
        model.training_info.append(algorithm(main, "w", "a_", error))
    if error in ("initialized", "fed"):
        info = model.training_info[0]
        fed = [helper.make_tensor_value_info("size", 1, [3, 2])] if error == "fed" else []
        fill = helper.make_node("ConstantOfShape", ["shape"], ["filled"],
                                value=numpy_helper.from_array(np.array([0.5], np.float32)))
        info.initialization.CopyFrom(
            helper.make_graph([fill], "initialization", fed, [helper.make_tensor_value_info("filled", 1, [3, 2])],
                              [numpy_helper.from_array(np.array([3, 2], np.int64), "shape")]))
        info.initialization_binding.add(key="w", value="filled")
    onnx.save(model, path)
    rng = np.random.default_rng(5)
    np.save(data, rng.normal(size=(ROWS, 3)).astype(np.float32))
    np.save(data + ".t.npy", rng.normal(size=(ROWS, 2)).astype(np.float32))


def update(kind, t, x, g, state):
    f = np.float32
    if kind == "adam":
        g = g + f(ADAM["norm_coefficient"]) * x
        a, b = float(f(ADAM["alpha"])), float(f(ADAM["beta"]))
        state["v"] = a * state["v"] + (1 - a) * g
        state["h"] = b * state["h"] + (1 - b) * g * g
        rate = RATE * np.sqrt(1 - b**t) / (1 - a**t) if t > 0 else RATE
        x = x - rate * state["v"] / (np.sqrt(state["h"]) + ADAM["epsilon"])
        return (1 - ADAM["norm_coefficient_post"]) * x
    if kind == "adagrad":
        g = g + ADAGRAD["norm_coefficient"] * x
        state["h"] = state["h"] + g * g
        return x - RATE / (1 + t * ADAGRAD["decay_factor"]) * g / (np.sqrt(state["h"]) + ADAGRAD["epsilon"])
    g = g + MOMENTUM["norm_coefficient"] * x
    state["v"] = MOMENTUM["alpha"] * state["v"] + (MOMENTUM["beta"] if t > 0 else 1) * g
    return x - RATE * (g + MOMENTUM["alpha"] * state["v"])


def expected(kind, x, t):
    values = {k: v.astype(np.float64) for k, v in start().items()}
    main = kind.split("-")[0]
    if kind.endswith("initialized"):
        values["w"] = np.full((3, 2), 0.5)
    plan = [("nesterov", "w"), ("adagrad", "u")] if main == "both" else [(main, "w")]
    states = [{"v": 0.0, "h": 0.0} for _ in plan]
    losses = []
    for step in range(STEPS):
        for k, (rule, name) in enumerate(plan):
            d = (x @ values["w"]) * values["u"] - t
            if k == 0:
                losses.append((d * d).mean())
            dy = 2 * d / d.size
            g = x.T @ (dy * values["u"]) if name == "w" else (dy * (x @ values["w"])).sum(0)
            values[name] = update(rule, step, values[name], g, states[k])
    return losses, values, states


def check(kind, data, log, exported):
    losses, values, states = expected(kind, np.load(data).astype(np.float64),
                                      np.load(data + ".t.npy").astype(np.float64))
    lines = [json.loads(line) for line in open(log)]
    steps = [line for line in lines if "loss" in line]
    np.testing.assert_allclose([line["loss"] for line in steps], losses, rtol=1e-5)
    assert all(line["lr"] is None and line["grad_norm"] is None for line in steps)
    model = onnx.load(exported)
    found = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    for info in model.training_info:
        found.update({t.name: numpy_helper.to_array(t) for t in info.algorithm.initializer})
    for name, value in values.items():
        # Elements near zero are differences of numbers of order 1 in single precision.
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=3e-7, err_msg=name)
    for prefix, state in zip(("a_", "b_"), states):
        for name, value in state.items():
            if np.ndim(value):
                np.testing.assert_allclose(found[prefix + name], value, rtol=1e-4, err_msg=name)
        assert found[prefix + "count"] == STEPS
    print(f"{kind}: {len(steps)} steps as numpy has them")


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](*sys.argv[2:])
