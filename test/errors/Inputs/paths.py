"""Where a model and its data are, and whether they are what was compiled: paths.py FOLDER. Needs numpy and onnx."""
import os
import pathlib
import shutil
import sys

import numpy
import onnx
from cases import Small, array, data_of, expect, tensors, words

folder = pathlib.Path(sys.argv[1])
case = Small(folder / "made", [("MatMul", ["x", "w"], ["y"])], {"w": array([[1, 2], [3, 4]])}, {"x": array([[1, 1]])}, {"y": [1, 2]})
case.add_data("labels", numpy.zeros((1, 2), numpy.float32))
LOSS = ["--loss", "mse"]


def model_at(place, factor=1):
    """A model with its weights beside it in m.onnx.data."""
    model = onnx.load(case.model)
    weight = model.graph.initializer[0]
    weight.CopyFrom(onnx.numpy_helper.from_array(factor * onnx.numpy_helper.to_array(weight), "w"))
    place.mkdir(parents=True, exist_ok=True)
    (place / "m.onnx.data").unlink(missing_ok=True)
    onnx.save(model, place / "m.onnx", save_as_external_data=True, location="m.onnx.data", size_threshold=0)
    return place / "m.onnx"


def starts_from(program, factor, *options, where=folder):
    out = folder / "held.safetensors"
    text = words(program.resolve(), "--steps", "0", "--export-safetensors", out.resolve(), *options, folder=where)
    assert numpy.array_equal(tensors(out)["w"], factor * array([[1, 2], [3, 4]])), tensors(out)
    return text


def program_of(model, cwd, *options):
    program = folder / "program"
    words("kedge", "compile", model, *LOSS, "-o", program.resolve(), *options, folder=cwd)
    return program


# (the folder that kedge runs in, the model as it is named there)
model_at(folder / "top" / "sub")
top = (folder / "top").resolve()
os.makedirs(top / "other", exist_ok=True)
os.makedirs(top / "links", exist_ok=True)
for link, target in [("links/m.onnx", "../sub/m.onnx"), ("linked", "sub")]:
    if not (top / link).is_symlink():
        (top / link).symlink_to(target)
for cwd, name in [(top, "sub/m.onnx"), (top / "sub", "m.onnx"), (top / "sub", "./m.onnx"), (top / "other", "../sub/m.onnx"),
                  (top, str(top / "sub/m.onnx")), (top, "linked/m.onnx"), (top, "links/m.onnx"), (top / "links", "m.onnx")]:
    program = program_of(name, cwd)
    starts_from(program, 1)
    starts_from(program, 1, where=top / "other")
    # The compiled model's own graph and data come along to an export, whatever the folder.
    words(program.resolve(), "--steps", "0", "--export-onnx", folder.resolve() / "out.onnx", folder=top / "other")
    assert numpy.array_equal(onnx.numpy_helper.to_array(onnx.load(folder / "out.onnx").graph.initializer[0]), [[1, 2], [3, 4]])
# Moved: both, and named by --model; the data of the new place, not of the old one.
model_at(folder / "moved", 2)
expect(starts_from(program, 2, "--model", (folder / "moved" / "m.onnx").resolve()),
       "m.onnx.data: 'w' has other values than when the program was compiled; the run starts from these")
program = program_of("sub/m.onnx", top)
shutil.move(top / "sub", top / "gone")
expect(words(program, "--steps", "0", code=1), "--model names another place")
starts_from(program, 1, "--model", top / "gone" / "m.onnx")
# Compiled from IR, from another folder.
words("kedge", "compile", "gone/m.onnx", *LOSS, "--save-ir", "ir", "--emit", "train", folder=top)
words("kedge", "compile", "../ir/02-step.mlir", "-o", program.resolve(), folder=top / "other")
starts_from(program, 1)
# The data file was not there yet.
shutil.move(top / "gone" / "m.onnx.data", top / "later")
expect(words("kedge", "lint", "gone/m.onnx", folder=top), "warning[missing-weights] a data file is not there", "'m.onnx.data' is missing")
program = program_of("gone/m.onnx", top)
expect(words(program, "--steps", "0", code=1), "m.onnx.data")
shutil.move(top / "later", top / "gone" / "m.onnx.data")
starts_from(program, 1)
# Equal in size, other in content: named by nobody it is an error, in the model file itself a note.
program = program_of("gone/m.onnx", top)
model_at(top / "gone", 3)
expect(words(program, "--steps", "0", code=1), "m.onnx.data: 'w' has other values than when the program was compiled: its bytes at 0+16 "
       "have changed; compile again, or give --model to start from this file as it is")
starts_from(program, 3, "--model", top / "gone" / "m.onnx")
program = program_of(case.model.resolve(), top)
model = onnx.load(case.model)
model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(array([[5, 10], [15, 20]]), "w"))
onnx.save(model, case.model)
expect(starts_from(program, 5), "kedge: note:", "'w' has other values than when the program was compiled; the run starts from these")
print("models were found where they are")
