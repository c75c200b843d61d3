"""What the modules `cases_*.py` use to make cases: export, PyTorch's own training, the record. Knows nothing of Kedge."""
import copy
import json
import logging
import pathlib
import shutil
import warnings

import numpy as np
import onnx
import torch
import torch.nn.functional as F

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
torch.set_num_threads(1)
LOSSES = {"mse": F.mse_loss, "cross-entropy": F.cross_entropy, "graph": lambda value, _: value}
KNOWN = {}


def case(function):
    """Registers a function that gets a new folder, named as the function, and fills it."""
    name = function.__name__.replace("_", "-")

    def make():
        folder = pathlib.Path(__file__).parent / "cases" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        torch.manual_seed(len(name))
        function(folder)
        print(name, sum(file.stat().st_size for file in folder.iterdir()), "bytes", flush=True)
    KNOWN[name] = make
    return function


def classes(seed, shape, count, rows, shift=0.0):
    random = np.random.default_rng(seed)
    return {"x": (random.standard_normal((rows, *shape)) + shift).astype("f4"), "labels": random.integers(0, count, rows)}


def targets(seed, shape, out, rows, shift=0.0):
    random = np.random.default_rng(seed)
    return {"x": (random.standard_normal((rows, *shape)) + shift).astype("f4"), "labels": random.standard_normal((rows, *out)).astype("f4")}


def export(model, example, folder, script=False, **options):
    """The file, without stack traces: they hold paths. Its tensors become those of `model` (an export may run buffers on)."""
    path = folder / "model.onnx"
    options = {"input_names": ["x"], "output_names": ["y"], **options}
    if script:
        torch.onnx.export(model, example, str(path), dynamo=False, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                          opset_version=17, **options)
    else:
        torch.onnx.export(model, example, str(path), dynamo=True, verbose=False, **{"optimize": False, "opset_version": 20, "external_data": False, **options})
    file = onnx.load(str(path))
    graph = file.graph
    for holder in [file, graph, *graph.node, *graph.value_info, *graph.input, *graph.output, *graph.initializer]:
        kept = [(entry.key, entry.value) for entry in holder.metadata_props if "stack_trace" not in entry.key]
        del holder.metadata_props[:]
        for key, value in kept:
            holder.metadata_props.add(key=key, value=value)
        holder.doc_string = ""
    onnx.save(file, str(path))
    adopt(model, file)
    return file


def adopt(model, file):
    stored = {tensor.name: onnx.numpy_helper.to_array(tensor).astype("f8") for tensor in file.graph.initializer}
    with torch.no_grad():
        for name, value in model.state_dict().items():
            if name in stored and stored[name].shape == tuple(value.shape):
                value.copy_(torch.tensor(stored[name]))


def sgd(lr, momentum=0.0):
    return lambda parameters: torch.optim.SGD(parameters, lr=lr, momentum=momentum)


def adamw(lr):
    return lambda parameters: torch.optim.AdamW(parameters, lr=lr, weight_decay=0.0)


def train(model, data, rows, steps, loss, optimizer, micro=1):
    """PyTorch's losses over `micro` batches of `rows` a step, and the trained copy of `model`."""
    trained, losses = copy.deepcopy(model), []
    update = optimizer([p for p in trained.parameters() if p.requires_grad])
    for step in range(steps):
        update.zero_grad(set_to_none=True)
        total = 0.0
        for part in range(micro):
            batch = {k: torch.from_numpy(v[(np.arange(rows) + (step * micro + part) * rows) % len(v)]) for k, v in data.items()}
            labels = batch.pop("labels", None)
            value = LOSSES[loss](trained(*batch.values()).float(), labels) / micro
            value.backward()
            total += value.item()
        update.step()
        losses.append(total)
    return losses, trained


def norms(trained, first, names):
    after, before = trained.state_dict(), first.state_dict()
    return {n: [after[n].double().norm().item(), (after[n].double() - before[n].double()).norm().item()] for n in names}


def evaluated(model, data, loss="cross-entropy"):
    with torch.no_grad():
        return LOSSES[loss](model.eval()(torch.from_numpy(data["x"])), torch.from_numpy(data["labels"])).item()


def record(folder, about, expect, compile=(), run=(), data=None, command="train", **more):
    for name, values in (data or {}).items():
        np.save(folder / f"{name}.npy", values)
    files = {name: f"{name}.npy" for name in data or {}}
    text = {"about": about, "command": command, "compile": list(compile), "run": list(run), "data": files, "expect": expect, **more}
    (folder / "case.json").write_text(json.dumps(text, indent=1) + "\n")
