"""Rows as users have them: arrays by input, batches of a loader or of any iterator."""
import itertools
import os
import queue
import threading
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from ._errors import KedgeKeyError, KedgeTypeError, KedgeValueError

_AHEAD = 4  # batches that wait in the queue


def array_of(values: Any) -> np.ndarray:
    """Of numpy, torch (wherever it lies) or anything that numpy takes; bfloat16 comes as float32."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        return values.float().numpy() if str(values.dtype) == "torch.bfloat16" else values.numpy()
    return np.asarray(values)


def is_file(values: Any) -> bool:
    return isinstance(values, (str, os.PathLike))


def is_stream(data: Any) -> bool:
    """A loader or an iterator of batches, and no arrays by name."""
    return data is not None and not isinstance(data, (Mapping, list, tuple, np.ndarray)) and not is_file(data) and not hasattr(data, "detach") \
        and hasattr(data, "__iter__")


def by_input(data: Any, inputs: Sequence[str], what: str) -> Dict[str, Any]:
    """`data` as rows by input name. Throws where it is no such thing, and names the inputs."""
    if not isinstance(data, Mapping):
        shown = ", ".join(f"'{name}': ..." for name in inputs)
        raise KedgeTypeError(f"{what}: expected the rows of each input by its name, {{{shown}}}, found {type(data).__name__}")
    for name in data:
        if name not in inputs:
            raise KedgeKeyError(f"{what}: the program has no input '{name}'; it has {', '.join(inputs)}")
    return dict(data)


def _rows_of(batch: Any, inputs: Sequence[str]) -> Dict[str, np.ndarray]:
    """One batch of a loader: a mapping, or its parts in the order of the inputs (labels last)."""
    if isinstance(batch, Mapping):
        return {name: array_of(values) for name, values in batch.items() if name in inputs}
    parts: List[Any] = []
    for part in batch if isinstance(batch, (list, tuple)) else [batch]:
        parts += list(part) if isinstance(part, (list, tuple)) else [part]
    if len(parts) != len(inputs):
        raise KedgeTypeError(f"data: a batch has {len(parts)} parts, and the program has the inputs {', '.join(inputs)}; "
                             "expected one part for each, in this order, or a dict by name")
    return {name: array_of(part) for name, part in zip(inputs, parts)}


class _End:
    def __init__(self, error: Optional[BaseException]) -> None:
        self.error = error


def _ahead(batches: Iterable[Any]) -> Iterator[Any]:
    """The same batches, drawn by a thread into a bounded queue."""
    waiting: "queue.Queue[Any]" = queue.Queue(_AHEAD)
    stopped = threading.Event()

    def put(entry: Any) -> bool:
        while not stopped.is_set():
            try:
                waiting.put(entry, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def draw() -> None:
        error: Optional[BaseException] = None
        try:
            for batch in batches:
                if not put(batch):
                    return
        except BaseException as reason:  # the reader raises it
            error = reason
        put(_End(error))

    thread = threading.Thread(target=draw, daemon=True)
    thread.start()
    try:
        while True:
            entry = waiting.get()
            if isinstance(entry, _End):
                if entry.error:
                    raise entry.error
                return
            yield entry
    finally:
        stopped.set()
        thread.join()


class Stream:
    """Batches as rows of steps: `rows` rows each, whatever the size of the loader's batches; what is left over begins the next step."""

    def __init__(self, data: Any, inputs: Sequence[str], rows: int, passes: Optional[int]) -> None:
        self._data, self._inputs, self._rows = data, inputs, rows
        self.once = iter(data) is data  # an iterator: it cannot begin again
        if self.once and passes is not None and passes > 1:
            raise KedgeValueError(f"data: {passes} epochs of an iterator that ends; give what can be iterated again, such as a DataLoader")
        self._passes = 1 if self.once else passes

    def _batches(self) -> Iterator[Any]:
        for _ in itertools.count() if self._passes is None else range(self._passes):
            any_batch = False
            for batch in self._data:
                any_batch = True
                yield batch
            if not any_batch:
                return

    def steps(self) -> Iterator[Dict[str, np.ndarray]]:
        kept: List[Dict[str, np.ndarray]] = []
        count = 0
        for batch in _ahead(self._batches()):
            rows = _rows_of(batch, self._inputs)
            if not rows:
                raise KedgeKeyError(f"data: a batch has none of the inputs {', '.join(self._inputs)}")
            kept.append(rows)
            count += len(next(iter(rows.values())))
            while count >= self._rows:
                joined = {name: np.concatenate([part[name] for part in kept]) if len(kept) > 1 else kept[0][name] for name in rows}
                yield {name: values[:self._rows] for name, values in joined.items()}
                count -= self._rows
                kept = [{name: values[self._rows:] for name, values in joined.items()}] if count else []


def windows(tokens: Any, length: int) -> int:
    """Rows that a stream of tokens is cut into."""
    return (len(np.load(tokens, mmap_mode="r") if is_file(tokens) else array_of(tokens)) - 1) // length


def rows_in(data: Mapping[str, Any]) -> int:
    first: Tuple[Any, ...] = tuple(data.values())
    return len(np.load(first[0], mmap_mode="r")) if is_file(first[0]) else len(array_of(first[0]))
