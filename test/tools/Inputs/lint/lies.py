#!/usr/bin/env python3
"""Plants lies into the records of default exports: lies.py CASES OUT. compile refuses each, and mends nothing by it.

CASES: the folder of ../../../meaning. Needs onnx.
"""
import pathlib
import subprocess
import sys

import onnx

CASES, OUT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
SIGNATURE, CALL, FROM = "pkg.torch.export.ExportedProgram.graph_signature", "pkg.torch.onnx.fx_node", "pkg.onnxscript.optimizer.folded_from"


def entries(holders, key):
    return [entry for holder in holders for entry in holder.metadata_props if entry.key == key]


def swap(entries, old, new):
    """Replaces a text in some of the entries; it has to be there."""
    found = [entry for entry in entries if old in entry.value]
    assert found, (old, [entry.value for entry in entries])
    for entry in found:
        entry.value = entry.value.replace(old, new)


def call(old, new):
    return lambda model: swap(entries(model.graph.node, CALL), old, new)


def signature(old, new):
    return lambda model: swap(entries([model.graph], SIGNATURE), old, new)


def folded(tensor, sources):
    def lie(model):
        values = [value for value in [*model.graph.value_info, *model.graph.initializer] if value.name == tensor]
        for entry in entries(values, FROM):
            entry.value = str(sources)
    return lie


def source(old, new):
    return lambda model: swap(entries([*model.graph.value_info, *model.graph.initializer], FROM), old, new)


def tensor(name, *shape):
    """A tensor of its own under a name that the record gives to another place."""
    def lie(model):
        size = 1
        for length in shape:
            size *= length
        model.graph.initializer.append(onnx.helper.make_tensor(name, onnx.TensorProto.FLOAT, shape, [0.5 + k for k in range(size)]))
    return lie


LIES = {
    "exported-positions": [
        ("a call names what no signature lists", call("%p_second_weight", "%p_nobody_weight")),
        ("a call names a parameter of another shape", call("%p_second_weight", "%p_last_weight")),
        ("two parameters of one name", signature("target='second.weight'", "target='norm.weight'")),
        ("one parameter of two names", signature("p_norm_bias: PARAMETER", "p_second_weight: PARAMETER target='another'\np_norm_bias: PARAMETER")),
        ("a tensor of that name has another shape", tensor("second.weight", 7)),
        ("a tensor of that name has other values", tensor("second.weight", 4)),
        ("a transposed weight is said to be another's, of another shape", folded("val_0", ["last.weight"])),
        ("a transposed weight is said to be a vector", folded("val_0", ["norm.weight"])),
        ("a repeated token is said to be another parameter", source("'token'", "'norm.weight'")),
        ("rows are said to be of another table", source("'places.weight'", "'last.weight'")),
        ("a scaled bias is said to be another", source("'shift'", "'norm.weight'")),
        ("no signature lists the bias that is gone", signature("p_first_bias: PARAMETER target='first.bias'", "")),
    ],
    "exported-lstm": [
        ("the call lacks a parameter", call(", %p_layer_bias_hh_l1]", "]")),
        ("the call names a parameter twice", call("%p_layer_weight_hh_l0,", "%p_layer_weight_ih_l0,")),
        ("the call names what no signature lists", call("%p_layer_weight_hh_l1", "%p_layer_nothing")),
        ("the call is of another layer", call("aten.lstm.input", "aten.gru.input")),
        ("gates are said to be of the other layer", source("'layer.weight_ih_l0'", "'layer.weight_ih_l1'")),
        ("a tensor of that name has another shape", tensor("layer.weight_ih_l0", 3, 4)),
        ("the signature calls it a buffer", signature("p_layer_weight_hh_l0: PARAMETER", "p_layer_weight_hh_l0: BUFFER")),
    ],
    "exported-joined": [
        ("two of three are one", source("'k_proj.weight'", "'q_proj.weight'")),
        ("one is another layer's", source("'v_proj.weight'", "'last.weight'")),
        ("the signature lacks one", signature("p_v_proj_weight: PARAMETER target='v_proj.weight'", "")),
        ("a tensor of that name has another shape", tensor("q_proj.weight", 2, 6)),
    ],
}


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    wrong, count = [], 0
    for name, lies in LIES.items():
        for about, plant in lies:
            model = onnx.load(str(CASES / name / "model.onnx"))
            plant(model)
            path = OUT / f"{count}.onnx"
            onnx.save(model, str(path))
            done = subprocess.run(["kedge", "compile", str(path), "--loss", "mse", "--emit", "onnx", "-o", str(OUT / "ir.mlir")],
                                  capture_output=True, text=True)
            if done.returncode != 1 or "not compiled: lint found" not in done.stderr:
                wrong.append(f"{name}: {about}: exit {done.returncode}\n{done.stderr}")
            count += 1
    for text in wrong:
        print(text)
    print(count - len(wrong), "of", count, "lies refused")
    return bool(wrong)


sys.exit(main())
