"""What a run returns, and the line that shows how far it is."""
import dataclasses
import json
import sys
import time
from typing import Any, Dict, List, Optional, Tuple


@dataclasses.dataclass(frozen=True)
class StepResult:
    """One line of the log. `loss` is that before the update; what a run does not compute is None."""
    step: int
    loss: float
    lr: Optional[float]
    grad_norm: Optional[float]
    skipped: bool
    eval_loss: Optional[float]
    raw: Dict[str, Any] = dataclasses.field(repr=False, compare=False)

    @staticmethod
    def of_log(line: str) -> "StepResult":
        raw = json.loads(line)
        return StepResult(raw["step"], float("nan") if raw["loss"] is None else raw["loss"], raw.get("lr"), raw.get("grad_norm"),
                          bool(raw.get("skipped")), raw.get("eval_loss"), raw)


class History(List[StepResult]):
    """The steps of a run, in order. `fit` adds the `program` that ran."""
    program: Any = None

    @property
    def loss(self) -> List[float]:
        return [result.loss for result in self]

    @property
    def lr(self) -> List[Optional[float]]:
        return [result.lr for result in self]

    @property
    def eval(self) -> List[Tuple[int, float]]:
        """Steps after which there was an evaluation, with its loss."""
        return [(result.step, result.eval_loss) for result in self if result.eval_loss is not None]

    def metric(self, name: str) -> List[Tuple[int, float]]:
        """The same of a metric, such as "accuracy"."""
        return [(result.step, result.raw[f"eval_{name}"]) for result in self if result.raw.get(f"eval_{name}") is not None]

    def to_pandas(self) -> Any:
        """A row a step, with all columns of the log. Needs pandas."""
        import pandas

        return pandas.DataFrame([result.raw for result in self])

    def __repr__(self) -> str:
        if not self:
            return "History of 0 steps"
        evaluated = f", eval loss {self.eval[-1][1]:.4f}" if self.eval else ""
        return f"History of {len(self)} steps: loss {self[0].loss:.4f} -> {self[-1].loss:.4f}{evaluated}"


class ProgressLine:
    """One line that is written over: in a terminal and in a notebook."""
    _EVERY = 0.2  # seconds

    def __init__(self, first: int, steps: Optional[int]) -> None:
        self._first, self._steps = first, steps
        self._begin = self._shown = time.monotonic()
        self._width = 0
        self._evaluated = ""

    def step(self, result: StepResult) -> None:
        if result.eval_loss is not None:
            self._evaluated = f"  eval loss {result.eval_loss:.4f}"
        now = time.monotonic()
        done = result.step + 1 - self._first
        if now - self._shown < self._EVERY and done not in (1, self._steps):
            return
        self._shown = now
        rate = done / max(now - self._begin, 1e-9)
        left = f"  {(self._steps - done) / rate:.0f} s left" if self._steps else ""
        of = f"/{self._first + self._steps}" if self._steps else ""
        line = f"step {result.step + 1}{of}  loss {result.loss:.4f}{self._evaluated}  {rate:.1f} steps/s{left}"
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)

    def end(self) -> None:
        if self._width:
            sys.stderr.write("\n")
            sys.stderr.flush()
