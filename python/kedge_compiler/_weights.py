"""What PyTorch's state_dict() has beyond the weights of a file: the order, tied names, small buffers that are no part of the graph, and the
versions of modules (`_metadata`), which some classes ask for in load_state_dict."""
import json
import os
import sys
from collections import OrderedDict
from typing import Any, Dict, Mapping, Optional, Union

import numpy as np

from ._onnx import initializers, metadata

RECORD = "kedge.state_dict"  # metadata of a model that `export` wrote (docs/guide/python.md)
_SMALL = 1024  # elements of a tensor whose values are in the record


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "data_ptr")


def _place_of(tensor: Any) -> Any:
    """Equal for two names of one tensor; a view of a part is another."""
    return tensor.data_ptr(), tuple(tensor.shape), tensor.stride()


def _versions_of(state: Any) -> Dict[str, Any]:
    """`_metadata` as far as it is plain: versions are."""
    found = getattr(state, "_metadata", None) or {}
    return {prefix: {key: value for key, value in entry.items() if isinstance(value, (int, str, bool))} for prefix, entry in found.items()}


def _values_of(tensor: Any) -> Optional[Dict[str, Any]]:
    if not _is_tensor(tensor) or tensor.numel() > _SMALL or tensor.is_complex():
        return None
    return {"type": str(tensor.dtype).rpartition(".")[2], "shape": list(tensor.shape), "values": tensor.detach().flatten().tolist()}


def record_of(module: Any, names: Any) -> str:
    """For the metadata of a file with the initializers `names`: how the module's state_dict() is made of them."""
    own = module.state_dict(keep_vars=True)
    by_place = {_place_of(tensor): name for name, tensor in own.items() if _is_tensor(tensor) and name in names}
    tensors: Dict[str, Any] = {}
    for name, tensor in own.items():
        if name in names:
            tensors[name] = None
        elif _is_tensor(tensor) and tensor.numel() and _place_of(tensor) in by_place:
            tensors[name] = by_place[_place_of(tensor)]
        elif (values := _values_of(tensor)) is not None:
            tensors[name] = values
    return json.dumps({"tensors": tensors, "versions": _versions_of(own)})


def read_record(path: Union[str, "os.PathLike[str]"]) -> Optional[Dict[str, Any]]:
    """None: no export of a module wrote the file."""
    text = metadata(path).get(RECORD)
    return None if text is None else json.loads(text)


def _as_torch(array: Any) -> Any:
    torch = sys.modules.get("torch")
    return torch.from_numpy(np.array(array)) if torch and isinstance(array, np.ndarray) else array


def _from_record(entry: Mapping[str, Any]) -> Any:
    torch = sys.modules.get("torch")
    if torch:
        return torch.tensor(entry["values"], dtype=getattr(torch, entry["type"])).reshape(entry["shape"])
    kind = {"bfloat16": "float32"}.get(entry["type"], entry["type"])
    return np.array(entry["values"], dtype=kind).reshape(entry["shape"])


def as_state_dict(arrays: Mapping[str, np.ndarray], module: Any = None, record: Optional[Mapping[str, Any]] = None,
                  path: Optional[Union[str, "os.PathLike[str]"]] = None) -> "OrderedDict[str, Any]":
    """The arrays as torch tensors where torch is loaded, and what `module`, or else the record of the file at `path`, has beyond them."""
    state = {name: _as_torch(array) for name, array in arrays.items()}
    if module is not None:
        return _of_module(state, module)
    return OrderedDict(state) if record is None else _of_record(state, record, path)


def _of_module(state: Mapping[str, Any], module: Any) -> "OrderedDict[str, Any]":
    own = module.state_dict(keep_vars=True)
    by_place = {_place_of(tensor): name for name, tensor in own.items() if _is_tensor(tensor) and name in state}
    found: "OrderedDict[str, Any]" = OrderedDict()
    for name, tensor in own.items():
        if name in state:
            found[name] = state[name]
        elif _is_tensor(tensor):
            found[name] = state[by_place[_place_of(tensor)]] if _place_of(tensor) in by_place else tensor.detach()
        else:
            found[name] = tensor  # get_extra_state(): whatever it is
    return _with_versions(found, getattr(own, "_metadata", None))


def _of_record(state: Mapping[str, Any], record: Mapping[str, Any], path: Optional[Union[str, "os.PathLike[str]"]]) -> "OrderedDict[str, Any]":
    found: "OrderedDict[str, Any]" = OrderedDict()
    constants: Optional[Dict[str, np.ndarray]] = None
    for name, entry in record["tensors"].items():
        source = entry if isinstance(entry, str) else name
        if isinstance(entry, dict):
            found[name] = _from_record(entry)
        elif source in state:
            found[name] = state[source]
        elif path is not None and os.path.exists(path):  # a constant of the graph, which no program keeps as a state
            constants = initializers(path) if constants is None else constants
            if source in constants:
                found[name] = _as_torch(constants[source])
    found.update((name, value) for name, value in state.items() if name not in found)
    return _with_versions(found, record["versions"])


def _with_versions(found: "OrderedDict[str, Any]", versions: Optional[Mapping[str, Any]]) -> "OrderedDict[str, Any]":
    if versions is not None:
        found._metadata = OrderedDict((prefix, dict(entry)) for prefix, entry in versions.items())  # type: ignore[attr-defined]
    return found
