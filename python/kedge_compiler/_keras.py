"""Trained values back into the Keras model that was exported."""
import os
import re
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Set, Tuple, Union

import numpy as np

from ._onnx import initializers
from ._errors import KedgeError

# How Keras' array becomes ONNX', and back.
_Way = Tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray, np.ndarray], np.ndarray]]


def _back_to(shape: Tuple[int, ...]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    return lambda values, _: values.reshape(shape)


def _gates(order: Tuple[int, ...]) -> _Way:
    """Gates along the last axis: Keras' order to ONNX'; a matrix is transposed, and a row of biases is not."""
    inverse = tuple(int(at) for at in np.argsort(order))

    def forth(array: np.ndarray) -> np.ndarray:
        parts = np.split(array, len(order), axis=-1)
        return np.concatenate([parts[k] for k in order], axis=-1).T

    def back(values: np.ndarray, like: np.ndarray) -> np.ndarray:
        parts = np.split(values.reshape(like.T.shape).T, len(order), axis=-1)
        return np.concatenate([parts[k] for k in inverse], axis=-1)
    return forth, back


def _ways(array: np.ndarray) -> Iterator[_Way]:
    yield lambda a: a, _back_to(array.shape)
    yield lambda a: -a, lambda values, like: -values.reshape(like.shape)  # PReLU's slope
    if array.ndim == 2:
        yield lambda a: a.T, lambda values, like: values.reshape(like.T.shape).T
    if array.ndim in (3, 4, 5):  # kernels of convolutions: Keras has space first, ONNX last
        for last in ((array.ndim - 1, array.ndim - 2), (array.ndim - 2, array.ndim - 1)):
            order = last + tuple(range(array.ndim - 2))
            yield (lambda a, order=order: a.transpose(order),
                   lambda values, like, order=order: values.reshape([like.shape[k] for k in order]).transpose(np.argsort(order)))
    if array.ndim <= 2 and array.shape[-1] % 4 == 0:
        yield _gates((0, 3, 1, 2))  # LSTM: i f c o -> i o f c
    if array.ndim <= 2 and array.shape[-1] % 3 == 0:
        yield _gates((0, 1, 2))


def _words(name: str) -> Set[str]:
    """Parts of a name; tracing a model again numbers its layers."""
    return {re.sub(r"_\d+$", "", word) for word in re.split(r"[/:.]", name)}


def _block_of(held: np.ndarray, wanted: np.ndarray) -> Optional[int]:
    """Where it begins: ONNX packs both directions of a recurrent layer, and two biases for Keras' one."""
    flat, size = held.reshape(-1), wanted.size
    if size == 0 or flat.size not in (size, 2 * size, 4 * size):
        return None
    return next((at for at in range(0, flat.size, size) if np.array_equal(flat[at:at + size], wanted.reshape(-1))), None)


_Place = Tuple[str, int, _Way]


def _place_of(path: str, array: np.ndarray, file: Mapping[str, np.ndarray], learned: Mapping[str, np.ndarray], taken: Set[Tuple[str, int]]) -> Optional[_Place]:
    """The tensor of the file with this variable's values, and where in it; of several the one that shares most words of its name, of this
    very size, and not taken yet."""
    found: List[Tuple[Tuple[int, bool, bool], _Place]] = []
    own = _words(path)
    for way in _ways(array):
        wanted = way[0](array)
        for name, held in file.items():
            at = _block_of(held, wanted) if held.dtype == array.dtype else None
            if at is not None:
                found.append(((len(own & _words(name)), held.size == array.size, (name, at) not in taken), (name, at, way)))
    if not found:
        return None
    score, best = max(found, key=lambda entry: entry[0])
    values = learned.get(best[0], file[best[0]])
    for other_score, other in found:
        if other_score == score and other[0] != best[0] and not np.array_equal(learned.get(other[0], file[other[0]]), values):
            raise KedgeError(f"{path}: '{best[0]}' and '{other[0]}' of the file had its values and learned others: set it by hand, from initializers(FILE)")
    return best


def to_keras(model: Any, trained: Any, exported: Union[str, "os.PathLike[str]", None] = None) -> List[str]:
    """Sets the weights of a Keras model to what its exported file has learned; returns the paths of those that the file does not have.

    `model` has the values that it was exported with. `trained` is a Program, or the trained ONNX file, and then `exported` the file that
    was compiled. tf2onnx names tensors by layers and reshapes, transposes and packs them: a weight is found by its layer's name and its values.
    """
    if hasattr(trained, "state_dict"):
        exported = exported or trained.model
        learned: Dict[str, np.ndarray] = {name: np.asarray(values) for name, values in trained.state_dict().items()}
    else:
        learned = initializers(trained)
    if exported is None:
        raise KedgeError("to_keras: give the file that the Keras model was exported to, as `exported`")
    before, missing, found = initializers(exported), [], []
    taken: Set[Tuple[str, int]] = set()
    for variable in model.weights:
        array = np.asarray(variable.numpy() if hasattr(variable, "numpy") else variable)
        place = _place_of(variable.path, array, before, learned, taken)
        if place is None:
            missing.append(variable.path)
            continue
        name, at, (_, back) = place
        taken.add((name, at))
        if name in learned:
            found.append((variable, back(np.asarray(learned[name]).reshape(-1)[at:at + array.size], array)))
    if not found:
        raise KedgeError(f"{exported}: no tensor has the values of the Keras model's weights: give the model that was exported, before it trains on")
    for variable, values in found:
        variable.assign(values.astype(variable.dtype if isinstance(variable.dtype, str) else "float32"))
    return missing
