"""The export to train from."""
import os
import warnings
from typing import Any, Mapping, Optional, Sequence, Tuple, Union

from ._tools import KedgeError, run_tool, said

_KEPT = "pkg.torch.onnx.stack_trace"


def _names(given: Optional[Sequence[str]], model: Any, args: Tuple[Any, ...], kwargs: Mapping[str, Any]) -> Sequence[str]:
    """Those of forward(), so that data is given by the names that the model's author chose."""
    if given is not None:
        return list(given)
    import inspect

    signature = inspect.signature(model.forward)
    bound = signature.bind(*args, **kwargs)
    names = []
    for name, value in bound.arguments.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            names += list(value)
        else:
            names.append(name)
    return names


def export(model: Any, args: Tuple[Any, ...], path: Union[str, "os.PathLike[str]"], *, kwargs: Optional[Mapping[str, Any]] = None,
           input_names: Optional[Sequence[str]] = None, output_names: Optional[Sequence[str]] = None, dynamic_batch: bool = True,
           lint: bool = True, **options: Any) -> str:
    """Writes `model` (a torch.nn.Module) as an ONNX file to train from, and returns the path.

    The file is exported in training mode, with every parameter as a tensor of its own under its own name; dimension 0 of every
    tensor input is left open unless `dynamic_batch` is false. `args` and `kwargs` are example inputs. The model's mode is put
    back afterwards. Other options go to torch.onnx.export. With `lint`, raises KedgeError if `kedge lint` finds damage in the
    file, and warns of its warnings. The model must return logits, or its loss.
    """
    import torch

    args = args if isinstance(args, tuple) else (args,)
    kwargs = dict(kwargs or {})
    options.setdefault("optimize", False)
    options.setdefault("opset_version", 20)
    names = _names(input_names, model, args, kwargs)
    if dynamic_batch and "dynamic_shapes" not in options:
        # AUTO: a dimension that the model itself ties to a number stays that number.
        batch = lambda value: {0: torch.export.Dim.AUTO} if isinstance(value, torch.Tensor) and value.dim() else None
        options["dynamic_shapes"] = {name: batch(value) for name, value in zip(names, [*args, *kwargs.values()])} \
            if input_names is None else tuple(batch(value) for value in [*args, *kwargs.values()])
    was_training = model.training
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Exporting a model while it is in training mode")
            program = torch.onnx.export(model.train(), args, dynamo=True, kwargs=kwargs or None, input_names=names,
                                        output_names=list(output_names) if output_names else None, **options)
    finally:
        model.train(was_training)
    for node in program.model.graph:  # where each node came from on this machine: most of the file, and of no use elsewhere
        node.metadata_props.pop(_KEPT, None)
    program.save(str(path))
    if lint:
        _check(str(path))
    return str(path)


def _check(path: str) -> None:
    import subprocess

    from ._tools import executable

    done = subprocess.run([str(executable()), "lint", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise KedgeError(f"kedge lint {path}:\n{done.stdout.strip()}")
    for line in done.stdout.splitlines():
        if "warning: " in line:
            warnings.warn(line, stacklevel=3)
