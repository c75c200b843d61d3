"""The export to train from."""
import json
import os
import warnings
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

from ._compiler import answer_of
from ._errors import KedgeError, KedgeTypeError, KedgeWarning
from ._weights import RECORD, record_of

_KEPT = "pkg.torch.onnx.stack_trace"
_GRADIENT = "kedge.requires_grad"  # metadata of an initializer: "true" or "false" (docs/guide/lint.md)
_MODES = ("frozen-batchnorm", "dropout-off")


def names_of_inputs(model: Any, args: Tuple[Any, ...], kwargs: Mapping[str, Any], given: Optional[Sequence[str]] = None) -> Sequence[str]:
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
        elif signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{name}_{at}" for at in range(len(value))]
        else:
            names.append(name)
    return names


def _set_modes(model: Any, train: Optional[bool]) -> Dict[Any, bool]:
    """Puts the modules into the modes of the export; returns those of before."""
    before = {module: module.training for module in model.modules()}
    if train:
        model.train()
    elif train is None and not any(before.values()):
        warnings.warn("the model was in evaluation mode, and is exported in training mode, as it will train; "
                      "train=False exports it as it is", KedgeWarning, stacklevel=3)
        model.train()
    return before


def _record_gradients(model: Any, initializers: Mapping[str, Any]) -> None:
    """What is frozen stays frozen: the file says of each parameter whether it requires a gradient."""
    lost = []
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if name in initializers:
            initializers[name].metadata_props[_GRADIENT] = "true" if parameter.requires_grad else "false"
        elif not parameter.requires_grad:
            lost.append(name)
    same = {parameter.data_ptr() for name, parameter in model.named_parameters(remove_duplicate=False) if name in initializers}
    lost = [name for name in lost if model.get_parameter(name).data_ptr() not in same]
    if lost:
        warnings.warn(f"{len(lost)} frozen parameters are not in the file under their names, such as '{lost[0]}': they are unused, or were "
                      "folded into others, which train; export without `optimize`, or freeze those by freeze=REGEX", KedgeWarning, stacklevel=3)


def export(model: Any, args: Tuple[Any, ...], path: Union[str, "os.PathLike[str]"], *, kwargs: Optional[Mapping[str, Any]] = None,
           input_names: Optional[Sequence[str]] = None, output_names: Optional[Sequence[str]] = None, dynamic_batch: bool = True,
           lint: bool = True, train: Optional[bool] = None, **options: Any) -> str:
    """Writes `model` (a torch.nn.Module) as an ONNX file to train from, and returns the path.

    Each module is exported in its own mode, or all in training mode if none is in it (and with `train=True`); `train=False` leaves
    them as they are. Every parameter is a tensor of its own under its own name; frozen ones (requires_grad=False) stay frozen. The
    file records how the model's state_dict() is made of its tensors, for Program.state_dict.
    Dimension 0 of every tensor input is left open unless `dynamic_batch` is false. `args` and `kwargs` are example inputs. The
    modes of all modules are put back afterwards. Other options go to torch.onnx.export. With `lint`, raises KedgeError if `kedge lint`
    finds damage in the file that compile does not mend, and warns of its warnings. The model must return logits, or its loss.
    """
    import torch

    if not isinstance(model, torch.nn.Module):
        raise KedgeTypeError(f"export: expected a torch.nn.Module, found {type(model).__name__}")
    args = args if isinstance(args, tuple) else (args,)
    kwargs = dict(kwargs or {})
    options.setdefault("optimize", False)
    options.setdefault("opset_version", 20)
    names = names_of_inputs(model, args, kwargs, input_names)
    kwargs = {**{name: kwargs[name] for name in names if name in kwargs}, **kwargs}  # in the order of forward()
    if dynamic_batch and "dynamic_shapes" not in options:
        # AUTO: a dimension that the model itself ties to a number stays that number.
        batch = lambda value: {0: torch.export.Dim.AUTO} if isinstance(value, torch.Tensor) and value.dim() else None
        options["dynamic_shapes"] = {name: batch(value) for name, value in zip(names, [*args, *kwargs.values()])} \
            if input_names is None else tuple(batch(value) for value in [*args, *kwargs.values()])
    modes = _set_modes(model, train)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Exporting a model while it is in training mode")
            program = torch.onnx.export(model, args, dynamo=True, kwargs=kwargs or None, input_names=names,
                                        output_names=list(output_names) if output_names else None, **options)
    finally:
        for module, mode in modes.items():
            module.training = mode
    for node in program.model.graph:  # where each node came from on this machine: most of the file, and of no use elsewhere
        node.metadata_props.pop(_KEPT, None)
    _record_gradients(model, program.model.graph.initializers)
    program.model.metadata_props[RECORD] = record_of(model, program.model.graph.initializers)
    program.save(str(path))
    if lint:
        _check(str(path), accepted=_MODES if train is False else ())
    return str(path)


def _check(path: str, accepted: Sequence[str]) -> None:
    """Raises for what compile would refuse by default. `accepted`: codes about modes that were asked for."""
    done = answer_of(["lint", path, "--json"])
    if done.code not in (0, 2):
        raise KedgeError(done.errors.strip() or f"kedge lint {path} ended with exit code {done.code}")
    findings = json.loads(done.output)["findings"]
    if any(one["severity"] == "error" and not one["mended"] and one["code"] not in accepted for one in findings):
        again = answer_of(["lint", path])
        raise KedgeError(f"kedge lint {path}:\n{(again.errors + again.output).strip()}")
    told = set()
    for one in findings:
        if one["severity"] == "warning" and (one["code"], one["remedy"]) not in told:
            told.add((one["code"], one["remedy"]))
            warnings.warn(f"warning[{one['code']}] {one['tensor'] or one['node']}: {one['reason']}; {one['remedy']}", KedgeWarning, stacklevel=3)
