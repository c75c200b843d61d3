"""A compiled model inside this process: the library of `kedge compile --emit lib`."""
import ctypes
import os
import threading
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

import numpy as np

from ._data import array_of
from ._errors import KedgeError, KedgeFileNotFoundError, KedgeKeyError, KedgeTypeError, KedgeValueError
from ._tools import flag_of
from ._weights import as_state_dict

_TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16,
          11: np.float64, 12: np.uint32, 13: np.uint64}


_WRONG_CALL = 2  # kedge_code of the C header


class _Option(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class _Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("rank", ctypes.c_size_t), ("shape", ctypes.POINTER(ctypes.c_int64))]


class _Result(ctypes.Structure):
    _fields_ = [("step", ctypes.c_int64), ("loss", ctypes.c_double), ("learning_rate", ctypes.c_double),
                ("gradient_norm", ctypes.c_double), ("skipped", ctypes.c_int)]


class SessionStep(NamedTuple):
    """`loss` is that before the update; `skipped`: values were not finite, and nothing was updated."""
    step: int
    loss: float
    lr: float
    grad_norm: float
    skipped: bool


class Session:
    """One model that learns. A step, an evaluation or a prediction of one thread ends before that of another begins; several sessions
    may run side by side.

    Options are flags of the compiled program: Session(path, lr=1e-3, threads=2).
    """

    def __init__(self, library: Union[str, "os.PathLike[str]"], **options: Any) -> None:
        self._handle: Optional[ctypes.c_void_p] = None
        self._inputs: Dict[str, np.ndarray] = {}
        self._lock = threading.RLock()
        if not os.path.exists(library):
            raise KedgeFileNotFoundError(f"the library '{library}' does not exist; kedge compile --emit lib makes one")
        self._library = ctypes.CDLL(str(library))
        self._library.kedge_error.restype = ctypes.c_char_p
        self._library.kedge_notes.restype = ctypes.c_char_p
        given = [(flag_of(name), value) for name, value in options.items() if value is not None and value is not False]
        words = [_Option(name.encode(), None if value is True else _text(value).encode()) for name, value in given]
        handle = ctypes.c_void_p()
        code = self._library.kedge_open((_Option * (len(words) + 1))(*words, _Option(None, None)), ctypes.byref(handle))
        self._handle = handle
        if code != 0:
            error = self._error(code)
            self.close()
            raise error

    def _error(self, code: int) -> KedgeError:
        kind = KedgeValueError if code == _WRONG_CALL else KedgeError
        return kind(self._library.kedge_error(self._handle).decode())

    def close(self) -> None:
        with self._lock:
            if self._handle is not None:
                self._library.kedge_close(self._handle)
                self._handle = None

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()

    def _call(self, function: str, *args: Any) -> None:
        with self._lock:
            if self._handle is None:
                raise KedgeValueError("the session is closed")
            code = getattr(self._library, function)(self._handle, *args)
            if code != 0:
                raise self._error(code)

    def _tensors(self, function: str) -> Dict[str, Tuple[type, Tuple[int, ...]]]:
        found, tensor = {}, _Tensor()
        if self._handle is None:
            raise KedgeValueError("the session is closed")
        while getattr(self._library, function)(self._handle, ctypes.c_size_t(len(found)), ctypes.byref(tensor)) == 0:
            found[tensor.name.decode()] = (_TYPES[tensor.type], tuple(tensor.shape[: tensor.rank]))
        return found

    @property
    def inputs(self) -> Dict[str, Tuple[type, Tuple[int, ...]]]:
        """Types and shapes by name; dimension 0 is the rows of a micro-batch."""
        return self._tensors("kedge_input_at")

    @property
    def outputs(self) -> Dict[str, Tuple[type, Tuple[int, ...]]]:
        return self._tensors("kedge_output_at")

    @property
    def states(self) -> Dict[str, Tuple[type, Tuple[int, ...]]]:
        """Parameters and buffers by their names in the model, then the optimizer's: moment1/NAME, moment2/NAME, momentum/NAME."""
        return self._tensors("kedge_state_at")

    @property
    def notes(self) -> List[str]:
        return self._library.kedge_notes(self._handle).decode().splitlines()

    def set_inputs(self, rows: Mapping[str, np.ndarray]) -> None:
        """For all later calls, until set_inputs or the rows of a call replace an input. An array of the input's type in C order is
        read where it is, without a copy, each time: what the caller changes in it counts."""
        with self._lock:
            self._inputs.update(self._checked(rows))

    def clear_inputs(self) -> None:
        """Forgets what set_inputs was given."""
        with self._lock:
            self._inputs = {}

    def _read_inputs(self, rows: Optional[Mapping[str, np.ndarray]], function: str, *args: Any) -> None:
        """The call, which reads what stays and `rows` in its place; the library forgets both."""
        with self._lock:
            given = {**self._inputs, **self._checked(rows if rows is not None else {})}
            try:
                for name, array in given.items():
                    self._call("kedge_set_input", name.encode(), array.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(len(array) if array.ndim else 1))
            except BaseException:
                for name in given:
                    self._call("kedge_set_input", name.encode(), None, ctypes.c_int64(0))
                raise
            self._call(function, *args)

    def _checked(self, rows: Mapping[str, np.ndarray]) -> Dict[str, np.ndarray]:
        inputs = self.inputs
        if not isinstance(rows, Mapping):
            raise KedgeTypeError(f"expected the rows of each input by its name ({', '.join(inputs)}), found {type(rows).__name__}")
        checked = {}
        for name, array in rows.items():
            if name not in inputs:
                raise KedgeKeyError(f"the model has no input '{name}'; it has {', '.join(inputs)}")
            dtype, shape = inputs[name]
            array = array_of(array)
            if not np.can_cast(array.dtype, dtype, "same_kind"):
                raise KedgeTypeError(f"the input '{name}' is {np.dtype(dtype)}, and was given {array.dtype}")
            array = np.ascontiguousarray(array, dtype=dtype)
            if array.shape[1:] != shape[1:]:
                raise KedgeValueError(f"the input '{name}' has rows of shape {list(shape[1:])}, and was given {list(array.shape[1:])}")
            checked[name] = array
        return checked

    def step(self, rows: Optional[Mapping[str, np.ndarray]] = None) -> SessionStep:
        """One optimizer step on `rows`, and on what set_inputs gave of other inputs."""
        result = _Result()
        self._read_inputs(rows, "kedge_step", ctypes.byref(result))
        return _step(result)

    def compute_gradients(self, rows: Optional[Mapping[str, np.ndarray]] = None) -> SessionStep:
        """The loss and the gradients of the rows that the next step would take, for get_gradients. Nothing is updated, but that running
        statistics of BatchNormalization move."""
        result = _Result()
        self._read_inputs(rows, "kedge_compute_gradients", ctypes.byref(result))
        return _step(result)

    def apply_gradients(self, gradients: Union[np.ndarray, Mapping[str, np.ndarray]]) -> SessionStep:
        """The optimizer's step with these gradients of the loss: one array, as get_gradients has them, or all by name. It reads no rows;
        its loss is NaN."""
        if isinstance(gradients, Mapping):
            gradients = self._joined(gradients)
        values, result = np.ascontiguousarray(gradients, np.float32), _Result()
        self._call("kedge_apply_gradients", values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes), ctypes.byref(result))
        return _step(result)

    def _joined(self, by_name: Mapping[str, np.ndarray]) -> np.ndarray:
        parameters = self.parameters
        if set(by_name) != set(parameters):
            odd = sorted(set(by_name) ^ set(parameters))
            raise KedgeKeyError(f"expected the gradients of {', '.join(parameters)}; missing or unknown: {', '.join(odd)}")
        for name, shape in parameters.items():
            if np.shape(by_name[name]) != shape:
                raise KedgeValueError(f"the gradient of '{name}' is {list(shape)}, and was given {list(np.shape(by_name[name]))}")
        return np.concatenate([np.ravel(by_name[name]) for name in parameters]) if parameters else np.empty(0, np.float32)

    def evaluate(self, rows: Optional[Mapping[str, np.ndarray]] = None) -> float:
        loss = ctypes.c_double()
        self._read_inputs(rows, "kedge_evaluate", ctypes.byref(loss))
        return loss.value

    def predict(self, output: str, rows: Optional[Mapping[str, np.ndarray]] = None) -> np.ndarray:
        """An output of all rows, in evaluation mode."""
        with self._lock:
            if output not in self.outputs:
                raise KedgeKeyError(f"the model has no float output '{output}'; it has {', '.join(self.outputs)}")
            dtype, shape = self.outputs[output]
            inputs, given = self.inputs, {**self._inputs, **self._checked(rows if rows is not None else {})}
            count = next((len(array) for name, array in given.items() if inputs[name][1]), shape[0])
            values = np.empty((count, *shape[1:]), dtype)
            self._read_inputs(rows, "kedge_predict", output.encode(), values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes))
            return values

    def _described(self, name: str) -> Tuple[type, Tuple[int, ...]]:
        states = self.states
        if name not in states:
            raise KedgeKeyError(f"the model has no state '{name}'")
        return states[name]

    def get_state(self, name: str) -> np.ndarray:
        dtype, shape = self._described(name)
        values = np.empty(shape, dtype)
        self._call("kedge_get_state", name.encode(), values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes))
        return values

    def set_state(self, name: str, values: np.ndarray) -> None:
        dtype, shape = self._described(name)
        values = np.ascontiguousarray(values, dtype=dtype)
        if values.shape != shape:
            raise KedgeValueError(f"'{name}' is {list(shape)}, and was given {list(values.shape)}")
        self._call("kedge_set_state", name.encode(), values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes))

    def state_dict(self, module: Any = None) -> Dict[str, Any]:
        """Parameters and buffers as arrays; with `module` as tensors, complete for module.load_state_dict (as Program.state_dict)."""
        arrays = {name: self.get_state(name) for name in self.states if not _is_optimizers(name)}
        return arrays if module is None else as_state_dict(arrays, module)

    def optimizer_state(self) -> Dict[str, np.ndarray]:
        return {name: self.get_state(name) for name in self.states if _is_optimizers(name)}

    @property
    def parameters(self) -> Dict[str, Tuple[int, ...]]:
        """The shapes of what trains, in the order of the flat arrays."""
        return {name: shape for name, (_, shape) in self._tensors("kedge_parameter_at").items()}

    def _flat(self, function: str) -> np.ndarray:
        values = np.empty(sum(int(np.prod(shape)) for shape in self.parameters.values()), np.float32)
        self._call(function, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes))
        return values

    def get_parameters(self) -> np.ndarray:
        """All parameters, one after the other, as one array of float32."""
        return self._flat("kedge_get_parameters")

    def set_parameters(self, values: np.ndarray) -> None:
        values = np.ascontiguousarray(values, np.float32)
        self._call("kedge_set_parameters", values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes))

    def keep_gradients(self, keep: bool = True) -> None:
        """Steps from the next one on keep their gradients, for get_gradient and get_gradients."""
        self._call("kedge_keep_gradients", ctypes.c_int(keep))

    def get_gradient(self, name: str) -> np.ndarray:
        """A parameter's gradient of the loss that the last step returned, before clipping."""
        parameters = self.parameters
        if name not in parameters:
            raise KedgeKeyError(f"the model has no parameter '{name}' that trains")
        values = np.empty(parameters[name], np.float32)
        self._call("kedge_get_gradient", name.encode(), values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes))
        return values

    def get_gradients(self) -> np.ndarray:
        """The gradients of all parameters, as get_parameters has these."""
        return self._flat("kedge_get_gradients")

    def split(self, flat: np.ndarray) -> Dict[str, np.ndarray]:
        """A flat array as views of it by name, in the parameters' shapes."""
        shapes = self.parameters
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes.values())])
        if np.shape(flat) != (ends[-1],):
            raise KedgeValueError(f"all parameters together have {ends[-1]} elements, and the array has the shape {list(np.shape(flat))}")
        return {name: flat[first:last].reshape(shape) for (name, shape), first, last in zip(shapes.items(), ends, ends[1:])}

    @property
    def steps_done(self) -> int:
        steps = ctypes.c_int64()
        self._call("kedge_steps_done", ctypes.byref(steps))
        return steps.value

    @steps_done.setter
    def steps_done(self, steps: int) -> None:
        self._call("kedge_set_steps_done", ctypes.c_int64(steps))

    def set(self, **options: Any) -> None:
        """Changes lr, min_lr, schedule, warmup, decay_steps, weight_decay, betas, eps or steps, from the next step on."""
        for name, value in options.items():
            self._call("kedge_set_option", flag_of(name).encode(), _text(value).encode())

    def checkpoint(self, folder: Union[str, "os.PathLike[str]"]) -> None:
        self._call("kedge_checkpoint", str(folder).encode())

    def resume(self, folder: Union[str, "os.PathLike[str]"]) -> None:
        self._call("kedge_resume", str(folder).encode())

    def export_onnx(self, path: Union[str, "os.PathLike[str]"]) -> None:
        self._call("kedge_export_onnx", str(path).encode())


def _step(result: _Result) -> SessionStep:
    return SessionStep(result.step, result.loss, result.learning_rate, result.gradient_norm, bool(result.skipped))


def _is_optimizers(name: str) -> bool:
    return name.split("/")[0] in ("moment1", "moment2", "momentum")


def _text(value: Any) -> str:
    return ",".join(map(repr, value)) if isinstance(value, (tuple, list)) else str(value)
