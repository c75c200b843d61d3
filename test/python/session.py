"""Sessions: calls that fail, rows that stay, parameters and gradients as arrays: session.py LIBRARY."""
import sys

import numpy as np
from kedge_compiler._session import Session
from kedge_compiler import KedgeError, KedgeKeyError, KedgeValueError


def refused(call, *words, kind=KedgeError):
    try:
        call()
    except kind as error:
        assert all(word in str(error) for word in words), error
        return
    raise AssertionError("the call did not fail")


def failing_calls(session, rows, labels):
    output = next(iter(session.outputs))
    failing = [
        lambda: session.step({"labels": labels, "input": rows[:7]}),
        lambda: session.step({"labels": labels, "none": rows}),
        lambda: session.step({"labels": labels, "input": rows[:, :9]}),
        lambda: session.evaluate({"labels": labels, "input": rows[:7]}),
        lambda: session.predict("none", {"labels": labels, "input": rows}),
        lambda: session.predict(output, {"labels": labels, "none": rows}),
    ]
    for call in failing:
        refused(call)
        refused(lambda: session.step({"input": rows}), "no data for the labels 'labels'")
    print(f"{len(failing)} failed calls left nothing")


def rows_that_stay(session, rows, labels):
    session.set_inputs({"labels": labels})
    first = session.step({"input": rows}).loss
    refused(lambda: session.set_inputs({"labels": labels, "input": rows[:, :9]}), "rows of shape", kind=KedgeValueError)
    refused(lambda: session.step(), "no data for the input 'input'")
    session.set_inputs({"input": rows})
    assert session.step().loss < first
    output = next(iter(session.outputs))
    before = session.predict(output)
    assert (session.predict(output, {"input": 2 * rows}) != before).any() and (session.predict(output) == before).all()
    loss = session.evaluate()
    labels += 1  # the session reads them where they are
    assert session.evaluate() != loss
    session.clear_inputs()
    refused(lambda: session.evaluate({"input": rows}), "no data for the labels 'labels'")
    print("rows stay until they are replaced")


def arrays(session, rows, labels):
    refused(session.get_gradients, "no step has kept its gradients")
    session.keep_gradients()
    before = session.get_parameters()
    session.step({"input": rows, "labels": labels})
    gradients, parameters = session.split(session.get_gradients()), session.split(before)
    assert list(gradients) == list(session.parameters) == [name for name in session.states if not name.startswith("mom")]
    for name, gradient in gradients.items():
        assert (session.get_gradient(name) == gradient).all() and gradient.any()
        np.testing.assert_allclose(session.get_state(name), parameters[name] - 0.125 * gradient, rtol=1e-6, atol=1e-7)
    session.set_parameters(before)
    assert (session.get_parameters() == before).all()
    refused(lambda: session.set_parameters(before[1:]), "all parameters together", kind=KedgeValueError)
    refused(lambda: session.get_gradient("none"), "no parameter", kind=KedgeKeyError)
    refused(lambda: session.split(before[1:]), "elements", kind=KedgeValueError)
    print("parameters and gradients are arrays")


with Session(sys.argv[1], threads=1, lr=0.125) as session:
    rows, labels = (np.ones(session.inputs[name][1], np.float32) for name in ("input", "labels"))
    failing_calls(session, rows, labels)
    arrays(session, rows, labels)
    rows_that_stay(session, rows, labels)
