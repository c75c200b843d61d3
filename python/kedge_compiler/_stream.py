"""Training from a loader or an iterator: batches go to a session in this process."""
import os
import warnings
from typing import Any, Dict, Mapping, Optional, TYPE_CHECKING, Union

import numpy as np

from ._data import Stream, array_of, by_input, is_file
from ._history import History, ProgressLine, StepResult
from ._errors import KedgeTypeError, KedgeValueError, KedgeWarning

if TYPE_CHECKING:
    from ._program import Callback, Program

_MANY = 1_000_000_000


def _length(data: Any, rows: int, steps: Optional[int], epochs: Optional[int]) -> Optional[int]:
    """Steps of the run, as far as the loader tells."""
    if steps is not None:
        return steps
    dataset = getattr(data, "dataset", None)
    try:
        count = len(dataset)  # type: ignore[arg-type]
    except TypeError:
        return None
    if getattr(data, "drop_last", False) or getattr(data, "batch_size", None) is None:
        return None
    return (epochs or 1) * count // rows


def _evaluation(program: "Program", eval_data: Any, options: Dict[str, Any]) -> "tuple[Optional[Dict[str, np.ndarray]], int]":
    every = int(options.pop("eval_every", 0))
    if eval_data is None:
        if every:
            raise KedgeValueError("run: eval_every needs eval_data")
        return None, 0
    rows = by_input(eval_data, list(program.inputs), "eval_data")
    return {name: np.load(values) if is_file(values) else array_of(values) for name, values in rows.items()}, every


def run_stream(program: "Program", data: Any, steps: Optional[int], epochs: Optional[int], eval_data: Any, callback: Optional["Callback"],
               progress: bool, resume: Union[None, bool, str, "os.PathLike[str]"], options: Mapping[str, Any]) -> History:
    """`Program.run` on batches. The same state as a run of the program leaves: a checkpoint at the end."""
    given = dict(options)
    known = program._known()
    passes = epochs if epochs is not None else None if steps is not None else 1
    stream = Stream(data, list(known.inputs), known.rows, passes)
    evaluated, eval_every = _evaluation(program, eval_data, given)
    save_every = int(given.pop("checkpoint_every", 0))
    begin, done = program._resume_words(resume)
    if len(begin) == 2:
        raise KedgeTypeError("run: a loader goes on from the newest checkpoint, or begins anew (resume=False); load_state_dict starts from others")
    if done:
        program._note(f"the run goes on at step {done}; the rows before it cannot be skipped in a loader or an iterator: it begins where it stands", warn=True)
    total = _length(data, known.rows, steps, epochs)
    if total is None and given.get("schedule", "constant") != "constant" and given.get("decay_steps") is None:
        raise KedgeValueError("run: a schedule needs an end: give steps, or decay_steps, with a loader whose length is not known")
    program._ran = True
    shown = ProgressLine(done, total) if progress else None
    results = History()
    with program.session(steps=done + total if total is not None else _MANY, **given) as session:
        try:
            if steps != 0:
                for rows in stream.steps():
                    step = session.step(rows)
                    program.notes += session.notes
                    due = evaluated is not None and ((eval_every and (step.step + 1) % eval_every == 0) or len(results) + 1 == total)
                    results.append(_result(step, session.evaluate(evaluated) if due else None))
                    if shown:
                        shown.step(results[-1])
                    if save_every and (step.step + 1) % save_every == 0:
                        session.checkpoint(program._checkpoints)
                    if (callback and callback(results[-1]) is False) or len(results) == total:
                        break
        finally:  # also after Ctrl-C, and after an error of the loader
            if results:
                session.checkpoint(program._checkpoints)
                program._trained.unlink(missing_ok=True)
            if shown:
                shown.end()
    if steps is not None and len(results) < steps:
        warnings.warn(f"the data ended after {len(results)} of {steps} steps", KedgeWarning, stacklevel=3)
    return results


def _result(step: Any, eval_loss: Optional[float]) -> StepResult:
    norm = None if step.grad_norm != step.grad_norm else step.grad_norm
    raw: Dict[str, Any] = {"step": step.step, "loss": step.loss, "lr": step.lr, "grad_norm": norm, "skipped": step.skipped}
    if eval_loss is not None:
        raw["eval_loss"] = eval_loss
    return StepResult(step.step, step.loss, step.lr, norm, step.skipped, eval_loss, raw)
