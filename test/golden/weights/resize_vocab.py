#!/usr/bin/env python3
"""--resize-vocab against a file that was resized by hand: resize_vocab.py GOLDEN TEMP

Trains the golden model gpt, whose table and head are one tensor, and the same with a head of its own and a bias, with more and with fewer tokens.
Losses are those of the file by hand to the bit, exports have its shapes, and ONNX's own evaluation of the export gives the program's predictions.
"""
import pathlib
import shutil
import subprocess
import sys

import numpy
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

golden, temp = (pathlib.Path(word) for word in sys.argv[1:])
shutil.rmtree(temp, ignore_errors=True)
temp.mkdir(parents=True)
MEAN = "the mean of the others"


def run(*command, fails=None):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    if (done.returncode != 0) != (fails is not None) or (fails and fails not in done.stderr):
        sys.exit(f"{' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stderr


def resized(array, axis, rows):
    array = numpy.moveaxis(array, axis, 0)
    more = rows - array.shape[0]
    mean = array.astype(numpy.float64).mean(0).astype(array.dtype)
    whole = array[:rows] if more <= 0 else numpy.concatenate([array, numpy.broadcast_to(mean, (more, *mean.shape))])
    return numpy.moveaxis(whole, 0, axis)


def with_head(model):
    """A head of its own, [in, out], with a bias, and a loss's shape behind it that names the vocabulary."""
    graph = model.graph
    head = [node for node in graph.node if node.op_type == "MatMul"][-1]
    table = next(numpy_helper.to_array(one) for one in graph.initializer if one.name == "wte.weight")
    values = numpy.random.default_rng(3).normal(0, 0.1, 64).astype(numpy.float32)
    graph.initializer.extend([numpy_helper.from_array(numpy.ascontiguousarray(table.T * 0.5), "lm_head.weight"), numpy_helper.from_array(values, "lm_head.bias"),
                              numpy_helper.from_array(numpy.array([-1, 64]), "flat"), numpy_helper.from_array(numpy.array([4, 24, 64]), "back")])
    del head.metadata_props[:]  # which say that it is the table
    head.input[1] = "lm_head.weight"
    head.output[0] = "product"
    graph.node.extend([helper.make_node("Reshape", ["product", "flat"], ["rows"]), helper.make_node("Add", ["rows", "lm_head.bias"], ["sums"]),
                       helper.make_node("Reshape", ["sums", "back"], ["logits"])])
    return model


def by_hand(model, rows):
    axes = {"wte.weight": 0, "lm_head.weight": 1, "lm_head.bias": 0}
    for one in model.graph.initializer:
        array = numpy_helper.to_array(one)
        if one.name in axes:
            one.CopyFrom(numpy_helper.from_array(numpy.ascontiguousarray(resized(array, axes[one.name], rows)), one.name))
        elif one.name in ("flat", "back"):
            one.CopyFrom(numpy_helper.from_array(numpy.where(array == 64, rows, array), one.name))
    del model.graph.value_info[:]
    model.graph.output[0].type.tensor_type.shape.dim[2].dim_value = rows
    return model


def losses(model, out, words, data, *more, mpirun=()):
    run("kedge", "compile", model, "--shape", "input_ids=4x24", "--loss", "cross-entropy", *words, "-o", out)
    log = out.with_suffix(".jsonl")
    run(*mpirun, out, *data, "--steps", "6", "--log", log, *more)
    return [line.split('"loss": ')[1].split(",")[0] for line in log.read_text().splitlines()]


def compare(name, make, rows, words=(), hand=()):
    folder = temp / name
    folder.mkdir()
    onnx.save(make(), folder / "old.onnx")
    onnx.save(by_hand(make(), rows), folder / "hand.onnx")
    ids = numpy.random.default_rng(rows).integers(0, rows, (24, 25))
    data = []
    for key, values in (("input_ids", ids[:, :-1]), ("labels", ids[:, 1:])):
        numpy.save(folder / f"{key}.npy", values)
        data += ["--data", f"{key}={folder / key}.npy"]
    export = folder / "trained.onnx"
    predict = ["--eval-data", f"input_ids={folder}/input_ids.npy", "--eval-data", f"labels={folder}/labels.npy", "--predict", f"logits={folder}/logits.npy"]
    ours = losses(folder / "old.onnx", folder / "ours", ["--resize-vocab", rows, *words], data, "--export-onnx", export, *predict)
    theirs = losses(folder / "hand.onnx", folder / "theirs", [*words, *hand], data)
    assert ours == theirs and len(ours) == 6, (name, ours, theirs)
    model = onnx.load(export)
    onnx.checker.check_model(model, full_check=True)
    shapes = {one.name: list(one.dims) for one in model.graph.initializer}
    assert shapes["wte.weight"] == [rows, 32] and shapes.get("lm_head.weight", [32, rows]) == [32, rows], shapes
    assert model.graph.output[0].type.tensor_type.shape.dim[2].dim_value == rows
    found = ReferenceEvaluator(model).run(None, {"input_ids": ids[:4, :-1]})[0]
    error = abs(found - numpy.load(folder / "logits.npy")[:4]).max()
    assert error < 2e-5, (name, error)
    return folder, data, ours


def plain():
    return onnx.load(golden / "model.onnx")


folder, data, first = compare("tied", plain, 80)
compare("own-head", lambda: with_head(plain()), 72, ["--train", "lm_head"])
compare("fewer", plain, 40)
compare("adapted", plain, 80, ["--lora", "up", "--lora-rank", "4", "--train-tokens", "wte=64-79"])
print("4 vocabularies of another size train as files resized by hand, and export")

run(folder / "ours", *data, "--steps", "3", "--checkpoint-dir", folder / "ck")
run(folder / "ours", *data, "--steps", "6", "--checkpoint-dir", folder / "ck", "--resume", "--log", folder / "resumed.jsonl")
assert [line.split('"loss": ')[1].split(",")[0] for line in (folder / "resumed.jsonl").read_text().splitlines()] == first[3:]
run(folder / "ours", "--weights", golden / "model.onnx", "--steps", "0", "--export-onnx", folder / "again.onnx")
table = next(numpy_helper.to_array(one) for one in onnx.load(folder / "again.onnx").graph.initializer if one.name == "wte.weight")
old = next(numpy_helper.to_array(one) for one in plain().graph.initializer if one.name == "wte.weight")
assert (table == resized(old, 0, 80)).all(), MEAN
print("resumed to the bit; weights of the old size are resized, too")

shape = ["--shape", "input_ids=4x24", "--loss", "cross-entropy", "-o", temp / "refused"]
run("kedge", "compile", golden / "model.onnx", "--resize-vocab", "0", *shape, fails="expected a number of rows from 1")
run("kedge", "compile", golden / "model.onnx", "--resize-vocab", "nothing=80", *shape, fails="matches no table that rows are looked up in")
told = run("kedge", "compile", golden / "model.onnx", "--resize-vocab", "64", *shape)
assert "the vocabulary has that many tokens already" in told, told
print("refused by name where no table is meant")
