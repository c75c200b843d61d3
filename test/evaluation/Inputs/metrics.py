"""--metric against numpy, written out: metrics.py FOLDER. Losses of each kind, ignored labels, a last batch that is not full,
classes on an inner axis, and ranks."""
import pathlib
import subprocess
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "precision" / "Inputs"))
from small import Small, array  # noqa: E402

random = numpy.random.default_rng(3)
ROWS, BATCH = 11, 4


def evaluate(case, program, rows, metrics, *launcher):
    """The metrics that a run prints, and those of its log."""
    files = []
    for name, value in rows.items():
        path = case.folder / f"rows-{name}.npy"
        numpy.save(path, value)
        files += ["--eval-data", f"{name}={path}"]
    output = case.folder / "y.npy"
    done = subprocess.run([*launcher, program, *files, "--steps", "0", "--metric", metrics, "--predict", f"y={output}"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = {line.split()[1]: float(line.split()[2]) for line in done.stdout.splitlines() if line.startswith("eval ")}
    log = case.run(program, "--steps", "1", *files, "--metric", metrics)
    assert sorted(key for key in log[-1] if key.startswith("eval_")) == sorted("eval_" + name for name in printed), log[-1]
    return printed, numpy.load(output).astype(float)


def same(found, wanted):
    assert found.keys() == wanted.keys() | {"loss"}, found
    for name, value in wanted.items():
        assert abs(found[name] - value) <= 1e-6 * max(1, abs(value)), (name, found[name], value)


def binary_f1(said, wanted):
    both = said.sum() + wanted.sum()
    return 2 * (said & wanted).sum() / both if both else None


def macro(parts):
    return numpy.mean([part for part in parts if part is not None])


def classes(folder):
    """Cross-entropy over 7 classes on axis 1 of four, some labels ignored."""
    shape, count = (3, 2), 7
    w = array(numpy.eye(count) + 0.5 * random.normal(size=(count, count)))
    nodes = [("Transpose", ["x"], ["t"], {"perm": [0, 2, 3, 1]}), ("MatMul", ["t", "w"], ["m"]),
             ("Transpose", ["m"], ["y"], {"perm": [0, 3, 1, 2]})]
    x = array(random.normal(size=(ROWS, count, *shape)))
    case = Small(folder, nodes, {"w": w}, {"x": x[:BATCH]}, {"y": [BATCH, count, *shape]})
    labels = numpy.where(random.random((ROWS, *shape)) < 0.5, x.argmax(1), random.integers(0, count, (ROWS, *shape)))
    labels = numpy.minimum(labels, count - 2)  # the last class is predicted, never a label
    labels[random.random(labels.shape) < 0.2] = -100
    case.add_data("labels", labels[:BATCH])
    program = case.compile("train", "--loss", "cross-entropy")
    found, y = evaluate(case, program, {"x": x, "labels": labels}, "accuracy,top5,f1,perplexity,accuracy")
    y = numpy.moveaxis(y, 1, -1)
    kept, said = labels != -100, y.argmax(-1)
    order = (-y).argsort(-1, kind="stable")
    same(found, {"accuracy": (said == labels)[kept].mean(), "perplexity": numpy.exp(found["loss"]),
                 "top5": (order[..., :5] == labels[..., None]).any(-1)[kept].mean(),
                 "f1": macro([binary_f1((said == k)[kept], (labels == k)[kept]) for k in range(count)])})
    assert 0.2 < found["accuracy"] < found["top5"] < 1, found
    return case, {"x": x, "labels": labels}, found


def over_ranks(case, rows, alone):
    program = case.compile("two", "--loss", "cross-entropy", "--ranks", "2")
    launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2"]
    done = subprocess.run([*launcher, program, *[word for name in rows for word in ("--eval-data", f"{name}={case.folder}/rows-{name}.npy")],
                           "--steps", "0", "--metric", "f1,accuracy"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = dict(line.split()[1:] for line in done.stdout.splitlines() if line.startswith("eval "))
    assert abs(float(printed["f1"]) - alone["f1"]) < 1e-6 and abs(float(printed["accuracy"]) - alone["accuracy"]) < 1e-6, printed


def columns(folder):
    """bce-with-logits over 3 columns, and then one number a row."""
    for width in (3, 1):
        x = array(random.normal(size=(ROWS, 5)))
        nodes = [("MatMul", ["x", "w"], ["y"])]
        if width == 1:
            nodes = [("MatMul", ["x", "w"], ["c"]), ("Squeeze", ["c", "axis"], ["y"])]
        parameters = {"w": array(random.normal(size=(5, width)))} | ({"axis": array([1], numpy.int64)} if width == 1 else {})
        case = Small(folder, nodes, parameters, {"x": x[:BATCH]}, {"y": [BATCH, width] if width > 1 else [BATCH]})
        labels = array(random.integers(0, 2, (ROWS, width) if width > 1 else ROWS))
        case.add_data("labels", labels[:BATCH])
        program = case.compile("train", "--loss", "bce-with-logits")
        found, y = evaluate(case, program, {"x": x, "labels": labels}, "f1,accuracy")
        said, wanted = (y > 0).reshape(ROWS, width), (labels > 0.5).reshape(ROWS, width)
        same(found, {"accuracy": (said == wanted).mean(), "f1": macro([binary_f1(said[:, k], wanted[:, k]) for k in range(width)])})
    return case, program


def errors(case, program):
    rows = [word for name in ("x", "labels") for word in ("--eval-data", f"{name}={case.folder}/rows-{name}.npy")]
    for arguments, message in [(["--metric", "recall", *rows], "--metric: 'recall' is no metric: expected accuracy, top5, perplexity, f1, mae"),
                               (["--metric", "mae", *rows], "--metric mae: is defined for --loss mse; the program was compiled with "
                                                            "--loss bce-with-logits"),
                               (["--metric", "f1"], "--metric needs --eval-data or --eval-tokens")]:
        done = subprocess.run([program, "--steps", "0", *arguments], capture_output=True, text=True)
        assert done.returncode == 1 and message in done.stderr, (arguments, done.stderr)


def numbers(folder):
    x = array(random.normal(size=(ROWS, 5)))
    case = Small(folder, [("MatMul", ["x", "w"], ["y"])], {"w": array(random.normal(size=(5, 2)))}, {"x": x[:BATCH]}, {"y": [BATCH, 2]})
    labels = array(random.normal(size=(ROWS, 2)))
    case.add_data("labels", labels[:BATCH])
    program = case.compile("train", "--loss", "mse")
    found, y = evaluate(case, program, {"x": x, "labels": labels}, "mae")
    same(found, {"mae": numpy.abs(y - labels).mean()})


if __name__ == "__main__":
    folder = sys.argv[1]
    over_ranks(*classes(folder + "/classes"))
    errors(*columns(folder + "/columns"))
    numbers(folder + "/numbers")
    print("all metrics as numpy's")
