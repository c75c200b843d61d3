"""What the makers of cases share: the form of test/meaning (README.md there), values as after training, losses of SGD."""
import json
import pathlib
import shutil

import numpy as np

ROWS, STEPS, RATE = 4, 4, 0.01


def noisy(name, value, generator):
    """Values as after training: nothing is 0, 1 or all alike any more; what is positive stays so."""
    noise = generator.standard_normal(value.shape).astype("f4")
    if "var" in name:
        return (value + 0.2 * np.abs(noise)).astype("f4")
    return (value + 0.1 * noise).astype("f4")


def inputs(shape, generator, kind="f4", count=ROWS * STEPS, limit=10):
    if kind != "f4":
        return generator.integers(0, limit, (count, *shape)).astype(kind)
    return generator.standard_normal((count, *shape)).astype("f4")


def rows_of(values, step):
    return values[(np.arange(ROWS) + step * ROWS) % len(values)]


def write(folder, model, data, labels, losses, loss="mse", options=(), about="", relative=1e-4, without_zeros=None):
    """`model` is bytes or a path; `data` maps names of the file's inputs to all rows. `without_zeros`: losses where what was all zeros does not train."""
    import onnx
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if isinstance(model, bytes):
        (folder / "model.onnx").write_bytes(model)
    else:
        shutil.copy(model, folder / "model.onnx")
    file = onnx.load(str(folder / "model.onnx"))
    shapes, files = [], {"labels": "labels.npy"}
    for value in file.graph.input:
        if value.name not in data:
            continue
        name = "".join(c if c.isalnum() else "_" for c in value.name)
        np.save(folder / f"{name}.npy", data[value.name])
        files[value.name] = f"{name}.npy"
        shapes += ["--shape", f"{value.name}={'x'.join(map(str, (ROWS, *data[value.name].shape[1:])))}"]
    np.save(folder / "labels.npy", labels)
    case = {"about": about or folder.name, "command": "train",
            "compile": [*shapes, "--loss", loss, "--optimizer", "sgd", "--lr", str(RATE), *options],
            "run": ["--steps", str(STEPS)], "data": files, "ranks": 1,
            "expect": {"loss": [float(value) for value in losses], "relative": relative}}
    if without_zeros:
        case["without_zeros"] = [float(value) for value in without_zeros]
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")
