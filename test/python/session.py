"""Calls of a session that fail, each followed by one that gives less: session.py LIBRARY."""
import sys

import numpy as np
from kedge_compiler._session import Session
from kedge_compiler._tools import KedgeError


def refused(call, *words):
    try:
        call()
    except KedgeError as error:
        assert all(word in str(error) for word in words), error
        return
    raise AssertionError("the call did not fail")


with Session(sys.argv[1], threads=1) as session:
    output = next(iter(session.outputs))
    rows, labels = (np.ones(session.inputs[name][1], np.float32) for name in ("input", "labels"))
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
    assert np.isfinite(session.step({"input": rows, "labels": labels}).loss)
    print(f"{len(failing)} failed calls left nothing")
