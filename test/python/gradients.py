"""Steps in two parts: gradients.py FOLDER GOLDEN. Libraries are FOLDER/libNAME.so of golden models."""
import pathlib
import sys

import numpy as np
from kedge_compiler._session import Session
from kedge_compiler import KedgeError, KedgeKeyError, KedgeValueError

folder, golden = map(pathlib.Path, sys.argv[1:])
ROWS = {"perceptron": ("input", "labels"), "gpt": ("input_ids", "labels"), "convnet": ("pixels", "labels")}


def opened(name, **options):
    return Session(folder / f"lib{name}.so", threads=1, **options)


def rows_of(model):
    return {name: np.load(golden / model / f"{name}.npy") for name in ROWS[model]}


def states(session):
    return {name: session.get_state(name) for name in session.states}


def same(one, other, which=lambda name: True):
    return all(np.array_equal(one[name], other[name]) for name in one if which(name))


def as_steps(name, model, **options):
    """What is computed and applied is a step, to the bit; in between nothing but running statistics has changed."""
    whole, parts, rows = opened(name, **options), opened(name, **options), rows_of(model)
    for _ in range(4):
        step, before = whole.step(rows), states(parts)
        computed = parts.compute_gradients(rows)
        assert same(before, states(parts), lambda state: "running" not in state)
        applied = parts.apply_gradients(parts.split(parts.get_gradients()))
        assert same(states(whole), states(parts)), name
        assert (step.loss, step.lr, step.step) == (computed.loss, applied.lr, applied.step) and np.isnan(applied.loss)
        assert np.array_equal([step.grad_norm], [applied.grad_norm], equal_nan=True) and not applied.skipped
    assert whole.steps_done == parts.steps_done == 4
    print(f"{name}: 4 steps to the bit")


def averaged():
    """Two sessions with half of the rows each, and the mean of their gradients, are one with all rows."""
    rows = {name: array[:8] for name, array in rows_of("perceptron").items()}
    whole, halves = opened("perceptron", lr=0.1), [opened("half", lr=0.1) for _ in range(2)]
    for _ in range(5):
        whole.step(rows)
        gradients = []
        for place, half in enumerate(halves):
            half.compute_gradients({name: array[4 * place:4 * place + 4] for name, array in rows.items()})
            gradients.append(half.get_gradients())
        for half in halves:
            half.apply_gradients(np.mean(gradients, axis=0))
    assert same(states(halves[0]), states(halves[1]))
    difference = max(np.abs(states(whole)[name] - value).max() for name, value in states(halves[0]).items())
    assert difference < 1e-6, difference
    print("two halves are the whole")


def adam():
    """Gradients of anybody's, next to Adam as it is written."""
    session, draw = opened("adam", lr=0.01), np.random.default_rng(0)
    value, first, second = session.get_parameters().astype(float), 0.0, 0.0
    for step in range(1, 21):
        gradient = draw.standard_normal(value.shape).astype("f4")
        session.apply_gradients(gradient)
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient.astype(float)**2
        value -= 0.01 * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    assert np.abs(session.get_parameters() - value).max() < 1e-6
    print("20 steps of Adam")


def refused(call, *words, kind=KedgeError):
    try:
        call()
    except kind as error:
        assert all(word in str(error) for word in words), error
        return
    raise AssertionError("the call did not fail")


def mistakes():
    session, rows = opened("perceptron", lr=0.1), rows_of("perceptron")
    session.compute_gradients(rows)
    gradients, before = session.get_gradients(), states(session)
    by_name = session.split(gradients)
    refused(lambda: session.apply_gradients(gradients[1:]), "all parameters together", kind=KedgeValueError)
    refused(lambda: session.apply_gradients(np.full_like(gradients, np.nan)), "the gradient of 'hidden.weight' that was given is not finite", kind=KedgeValueError)
    refused(lambda: session.apply_gradients({"hidden.weight": by_name["hidden.weight"]}), "hidden.bias", kind=KedgeKeyError)
    refused(lambda: session.apply_gradients({**by_name, "out.bias": np.zeros(9)}), "'out.bias' is [", kind=KedgeValueError)
    refused(lambda: session.compute_gradients({"input": rows["input"]}), "no data for the labels", kind=KedgeValueError)
    assert same(before, states(session)) and session.steps_done == 0
    session.step(rows)
    refused(session.get_gradients, "no step has kept its gradients")
    scaled = opened("scaled", lr=0.1)
    before = states(scaled)
    assert scaled.apply_gradients(np.full(scaled.get_parameters().shape, np.inf)).skipped and same(before, states(scaled))
    print("mistakes are refused, and a scaled step is skipped")


as_steps("perceptron", "perceptron", lr=0.1)
as_steps("clipped", "gpt", lr=3e-3, weight_decay=0.1, schedule="cosine", warmup=2, steps=10)
as_steps("scaled", "gpt", lr=3e-3)
as_steps("convnet", "convnet", lr=2e-3)
averaged()
adam()
mistakes()
