#!/usr/bin/env python3
"""The module without torch: front_door.py FOLDER. Needs numpy and onnx."""
import pathlib
import sys
import threading
import warnings

import kedge_compiler as kedge
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OUT = pathlib.Path(sys.argv[1])
draw = np.random.default_rng(1)
ROWS = 8
x = draw.standard_normal((64, 6)).astype("f4")
labels = draw.integers(0, 3, 64)
rows = {"x": x, "labels": labels}


def model(path, frozen=(), said=None):
    """Two layers; `frozen` parameters are marked so."""
    weights = []
    for name, shape in {"body.weight": (6, 8), "body.bias": (8,), "head.weight": (8, 3), "head.bias": (3,)}.items():
        weights.append(numpy_helper.from_array(np.random.default_rng(len(name)).standard_normal(shape).astype("f4"), name))
        if frozen or said:
            weights[-1].metadata_props.add(key="kedge.requires_grad", value=said or ("false" if name in frozen else "true"))
    nodes = [helper.make_node("Gemm", ["x", "body.weight", "body.bias"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
             helper.make_node("Gemm", ["r", "head.weight", "head.bias"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 6])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)
    return path


def raises(kinds, text, call):
    try:
        call()
    except kedge.KedgeError as error:
        for kind in kinds:
            assert isinstance(error, kind), (type(error), kind, str(error))
        assert text in str(error), (text, str(error))
        return
    raise AssertionError(f"nothing was raised: {text}")


def warned(text, call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = call()
    assert any(text in str(one.message) and issubclass(one.category, kedge.KedgeWarning) for one in caught), (text, [str(one.message) for one in caught])
    return value


def silent(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


def compiled(name, path=None, **options):
    return kedge.compile(path or OUT / "model.onnx", shape={"x": (ROWS, 6)}, loss="cross-entropy", folder=OUT / name, **options)


def what_trains():
    before = {one.name: numpy_helper.to_array(one) for one in onnx.load(OUT / "model.onnx").graph.initializer}

    def moved(program):
        program.run(data=rows, steps=3, lr=0.1)
        return sorted(name for name, values in program.state_dict().items() if not np.array_equal(values, before[name]))

    frozen = model(OUT / "frozen.onnx", frozen=("body.weight", "body.bias"))
    program = compiled("frozen", frozen)
    assert moved(program) == ["head.bias", "head.weight"]
    assert any("2 tensors stay as they are: the file says that they require no gradient" in note for note in program.notes), program.notes
    assert moved(compiled("trained", frozen, train="body.bias")) == ["body.bias", "head.bias", "head.weight"]
    assert moved(compiled("only", frozen, train_only="^body")) == ["body.bias", "body.weight"]
    assert moved(compiled("head", train_only="^head")) == ["head.bias", "head.weight"]
    assert moved(compiled("kept", freeze="^body")) == ["head.bias", "head.weight"]
    assert "the file cannot show a custom backward" in kedge.lint(frozen) and "cannot show frozen parameters" in kedge.lint(OUT / "model.onnx")
    raises([ValueError], "--train 'head' changes nothing: 'head.weight' trains without it; --train-only 'head'", lambda: compiled("a", train="head"))
    raises([ValueError], "--freeze 'body' changes nothing: 'body.weight' is frozen already (the file says", lambda: compiled("a", frozen, freeze="body"))
    raises([ValueError], "--train-only 'tail' matches nothing that can train", lambda: compiled("a", train_only="tail"))
    raises([kedge.KedgeError], "'kedge.requires_grad' of the initializer 'body.weight' is 'no'; expected 'true' or 'false'",
           lambda: compiled("a", model(OUT / "odd.onnx", said="no")))
    print("what trains: frozen by the file, train, train_only, freeze; 4 refused", flush=True)


def runs():
    program = compiled("runs")
    history = silent(lambda: program.run(data=rows, epochs=2, lr=0.1, eval_data=rows, eval_every=4, metric="accuracy", keep_best="loss"))
    assert len(history) == 16 and history.loss[0] > history.loss[-1] and [step for step, _ in history.eval] == [3, 7, 11, 15]
    assert len(history.metric("accuracy")) == 4 and repr(history).startswith("History of 16 steps: loss ")
    last = program.state_dict()
    measured = program.evaluate(rows, metric=["accuracy"])
    assert abs(measured["loss"] - history.eval[-1][1]) < 1e-9 and measured["accuracy"] == history.metric("accuracy")[-1][1]
    logits = program.predict({"x": x})
    wanted = np.maximum(x @ last["body.weight"] + last["body.bias"], 0) @ last["head.weight"] + last["head.bias"]
    assert logits.shape == (64, 3) and np.abs(logits - wanted).max() < 1e-5
    program.run(data=rows, steps=2, lr=50.0, eval_data=rows, eval_every=1, keep_best=True)  # nothing better comes
    best = program.state_dict(which="best")
    assert all(np.array_equal(best[name], last[name]) for name in last) and not np.array_equal(program.state_dict()["head.bias"], last["head.bias"])
    assert abs(program.evaluate(rows, which="best")["loss"] - measured["loss"]) < 1e-9
    assert program.run(data=rows, steps=1, resume="best", lr=0.1)[0].step == 16
    again = program.run(data=rows, steps=16, lr=0.1, resume=False)
    assert again.loss == history.loss and program.steps_done == 16
    other = compiled("runs")
    assert warned("holds step 16 of an earlier run, and this one goes on from there; resume=False begins anew",
                  lambda: other.run(data=rows, steps=1))[0].step == 16
    warned("the schedule 'cosine' of this run was to end at step 10, and now ends at step 20", lambda: (
        program.run(data=rows, steps=10, lr=0.1, schedule="cosine", resume=False), program.run(data=rows, steps=10)))
    silent(lambda: (program.run(data=rows, steps=10, lr=0.1, schedule="cosine", resume=False, decay_steps=20), program.run(data=rows, steps=10)))
    print("runs: epochs, metrics, predict, evaluate, the best, begun anew, gone on", flush=True)


def streams():
    class Loader:
        """As a DataLoader: batches of 5, the last one smaller."""

        def __iter__(self):
            for at in range(0, 64, 5):
                yield x[at:at + 5], labels[at:at + 5]

    whole, streamed = compiled("whole"), compiled("streamed")
    wanted = whole.run(data=rows, epochs=2, lr=0.1)
    found = streamed.run(data=Loader(), epochs=2, lr=0.1)
    assert found.loss == wanted.loss and all(np.array_equal(streamed.state_dict()[name], values) for name, values in whole.state_dict().items())
    more = warned("cannot be skipped in a loader", lambda: streamed.run(data=Loader(), steps=3, lr=0.1))
    assert [one.step for one in more] == [16, 17, 18] and streamed.run(data=rows, steps=1)[0].step == 19
    ended = warned("the data ended after 2 of 5 steps", lambda: compiled("once").run(data=({"x": x[:8], "labels": labels[:8]} for _ in range(2)), steps=5))
    assert len(ended) == 2

    def broken():
        yield x[:8], labels[:8]
        raise ArithmeticError("of the loader")

    begun = compiled("begun")
    try:
        begun.run(data=broken(), steps=5)
    except ArithmeticError:
        assert begun.steps_done == 1
    raises([TypeError], "a batch has 1 parts, and the program has the inputs x, labels", lambda: compiled("a").run(data=iter([x]), steps=1))
    print("streams: the losses of arrays to the bit, gone on, ended, broken", flush=True)


def sessions():
    program = compiled("sessions")
    with program.session(lr=0.1, steps=100) as session, program.session(lr=0.1, steps=100) as alone:
        threads = [threading.Thread(target=lambda: [session.step(rows) for _ in range(5)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for _ in range(20):
            alone.step(rows)
        assert session.steps_done == 20 and all(np.array_equal(session.get_state(name), values) for name, values in alone.state_dict().items())
        session.set(lr=0.0, schedule="constant")
        assert session.step(rows).lr == 0
        session.set(lr=1e-2, weight_decay=0.5)
        assert session.step(rows).lr == 1e-2
        raises([ValueError], "'--seed' cannot change in an open session", lambda: session.set(seed=3))
        raises([KeyError], "the model has no input 'z'", lambda: session.step({"z": x}))
        raises([TypeError], "expected the rows of each input by its name", lambda: session.step([x]))
    raises([ValueError], "the session is closed", session.step)
    print("sessions: four threads as one, options that change", flush=True)


def wrong_kinds():
    program = compiled("kinds")
    path = OUT / "model.onnx"
    raises([TypeError], "shape: expected the sizes of each input, such as {'input': (8, 4)}, found [8, 6]", lambda: kedge.compile(path, shape=[8, 6]))
    raises([TypeError], "shape['x']: expected sizes, such as (8, 4), found 8", lambda: kedge.plan(path, shape={"x": 8}))
    raises([FileNotFoundError], "the model 'nothere.onnx' does not exist", lambda: kedge.compile("nothere.onnx"))
    raises([ValueError], "did you mean 'cross-entropy'?", lambda: kedge.compile(path, shape={"x": (8, 6)}, loss="CrossEntropyLoss"))
    raises([TypeError], "there is no option --batch-size: here it is the first size of --shape", lambda: kedge.compile(path, batch_size=8))
    raises([TypeError], "data: expected the rows of each input by its name, {'x': ..., 'labels': ...}, found list", lambda: program.run(data=[x, labels], steps=1))
    raises([KeyError], "the program has no input 'features'; it has x, labels", lambda: program.run(data={"features": x}, steps=1))
    raises([FileNotFoundError], "the data file 'nothere.npy' does not exist", lambda: program.run(data={"x": "nothere.npy"}, steps=1))
    raises([TypeError], "steps (or epochs) is missing", lambda: program.run(data=rows))
    raises([TypeError], "steps and epochs both say how long", lambda: program.run(data=rows, steps=1, epochs=1))
    raises([TypeError], "there is no option --learning-rate: here it is --lr X", lambda: program.run(data=rows, steps=1, learning_rate=1))
    raises([ValueError], "these are one-hot labels: give the numbers of the classes, labels.argmax(axis=-1)",
           lambda: program.run(data={"x": x, "labels": np.eye(3, dtype="i8")[labels]}, steps=1))
    raises([FileNotFoundError], "there is no best checkpoint: run with keep_best", lambda: program.state_dict(which="best"))
    raises([FileNotFoundError], "resume=True", lambda: program.run(data=rows, steps=1, resume=True))
    raises([KeyError], "the program has no output 'z'; it has y", lambda: program.predict({"x": x}, "z"))
    raises([KeyError], "no name of the given state is one of the model's", lambda: program.load_state_dict({"z": x}))
    print("wrong kinds: 16 refused by name", flush=True)


model(OUT / "model.onnx")
what_trains()
runs()
streams()
sessions()
wrong_kinds()
