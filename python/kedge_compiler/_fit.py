"""From a module and its data to a trained module, in one call."""
import os
import tempfile
from typing import Any, Dict, Mapping, Optional, Tuple, Union

import numpy as np

from ._data import array_of, is_stream
from ._export import export, names_of_inputs
from ._history import History
from ._program import Program
from ._errors import KedgeTypeError, KedgeValueError

# Options that a program takes when it runs; all others are compile's.
_OF_RUNS = {"lr", "min_lr", "schedule", "warmup", "warmup_start", "decay_steps", "weight_decay", "betas", "eps", "seed", "shuffle", "eval_every", "metric",
            "keep_best", "stop_after", "checkpoint_every", "keep", "threads", "on_nan", "tensorboard", "profile", "memory_report", "eval_ema",
            "export_onnx", "callback", "resume"}


def _parts(inputs: Any) -> Tuple[Any, ...]:
    return tuple(inputs.values()) if isinstance(inputs, Mapping) else tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


def _tensor(values: Any) -> Any:
    import torch

    return values if isinstance(values, torch.Tensor) else torch.from_numpy(np.ascontiguousarray(array_of(values)))


def _example(model: Any, parts: Tuple[Any, ...]) -> Tuple[Any, ...]:
    """Two rows, where the model lies: one row would look like a size that never changes."""
    first = next(iter(model.parameters()), None)
    rows = tuple(_tensor(part[:2]) for part in parts)
    return rows if first is None else tuple(part.to(first.device) for part in rows)


def _loss_of(targets: np.ndarray) -> str:
    return "cross-entropy" if np.issubdtype(targets.dtype, np.integer) else "mse"


def fit(model: Any, inputs: Any, targets: Any = None, *, epochs: Optional[int] = None, steps: Optional[int] = None, batch_size: int = 32,
        loss: Optional[str] = None, validation: Any = None, folder: Union[None, str, "os.PathLike[str]"] = None, progress: bool = False,
        in_process: Optional[bool] = None, **options: Any) -> History:
    """Exports `model` (a torch.nn.Module), compiles it, trains it, puts the weights back into it, and returns the losses.

    `inputs`: an array or a tensor, a tuple of them in the order of forward(), or a dict by the names of forward(); or a DataLoader whose
    batches are inputs and targets. `targets`: integers are classes (loss="cross-entropy"), floats are values (loss="mse"). One epoch, unless
    `epochs` or `steps` says otherwise. Rows are shuffled (shuffle=None: they are not). `validation`: (inputs, targets), evaluated once an
    epoch. Other options are those of the compiler (optimizer="sgd", precision="bf16", train_only="head") and of runs (lr=1e-3,
    schedule="cosine"). `in_process`: as `compile` has it. `folder` keeps the exported file, the program and its checkpoints, in place of those of an earlier call; training begins from
    the module's weights. `History.program` is the program.
    """
    given = {"shuffle": 0, **options}
    runs: Dict[str, Any] = {name: given.pop(name) for name in list(given) if name in _OF_RUNS}
    runs.setdefault("resume", False)  # from the module's own weights, whatever the folder holds
    epochs = 1 if epochs is None and steps is None else epochs
    stream = is_stream(inputs)
    if stream:
        if targets is not None:
            raise KedgeTypeError("fit: a loader's batches have the targets; leave `targets` out")
        if iter(inputs) is inputs:
            raise KedgeTypeError("fit: the first batch of an iterator would be lost to the export; give what can be iterated again")
        first = next(iter(inputs))
        if not isinstance(first, (tuple, list)) or len(first) < 2:
            raise KedgeTypeError(f"fit: a batch of the loader is a {type(first).__name__}; expected (inputs, targets)")
        parts, answers = _parts(first[0] if len(first) == 2 else list(first[:-1])), array_of(first[-1])
        batch_size, rows = len(parts[0]), None
        runs.pop("shuffle", None)
    elif targets is None:
        raise KedgeTypeError("fit: targets are missing; a model that returns its own loss goes by export, compile(loss_output=...) and run")
    else:
        parts, answers = _parts(inputs), array_of(targets)
        rows = len(answers)
        if any(len(part) != rows for part in parts):
            raise KedgeValueError(f"fit: the inputs have {', '.join(str(len(part)) for part in parts)} rows, and the targets {rows}")
        batch_size = min(batch_size, rows)
    keyed = isinstance(inputs, Mapping) and not stream
    example = _example(model, parts)
    kwargs = dict(zip(inputs, example)) if keyed else {}
    names = list(kwargs) if keyed else list(names_of_inputs(model, example, kwargs))
    where = tempfile.TemporaryDirectory(prefix="kedge-") if folder is None else None
    path = os.path.join(str(folder or where.name), "model.onnx")  # type: ignore[union-attr]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    export(model, () if keyed else example, path, kwargs=kwargs)
    shapes = {name: (batch_size, *part.shape[1:]) for name, part in zip(names, kwargs.values() if keyed else example)}
    program = Program(path, shapes, os.path.dirname(path), {"loss": loss or _loss_of(answers), **given}, in_process)
    program._kept = where  # type: ignore[attr-defined]
    labels = next(name for name in program.inputs if name not in names)
    if validation is not None:
        runs["eval_data"] = {**dict(zip(names, map(array_of, _parts(validation[0])))), labels: array_of(validation[1])}
        runs.setdefault("eval_every", -(-rows // batch_size) if rows else 100)
    data = inputs if stream else {**dict(zip(names, map(array_of, parts))), labels: answers}
    history = program.run(data=data, epochs=epochs, steps=steps, progress=progress, **runs)
    model.load_state_dict(program.state_dict(model))
    history.program = program
    return history
