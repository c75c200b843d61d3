"""Compiled programs: run them, and take their weights back."""
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple, Union

import numpy as np

from . import _safetensors
from ._session import Session
from ._tools import KedgeError, run_tool, said, shape_words, words_of

Path = Union[str, "os.PathLike[str]"]
Rows = Mapping[str, Union[np.ndarray, Path]]
Tokens = Union[np.ndarray, Path]
_MANY = 1_000_000_000  # steps of a session that is told none
_POLL = 0.02  # seconds between looks at the log


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


def lint(model: Path, **options: Any) -> str:
    """The findings of `kedge lint`, as text. Raises KedgeError if there are errors."""
    return run_tool(["lint", str(model), *words_of(options)])


def plan(model: Path, *, shape: Optional[Mapping[str, Iterable[int]]] = None, **options: Any) -> Dict[str, Any]:
    """The memory plan of a step, as `kedge plan --json` prints it (bytes; docs/guide/plan.md)."""
    return json.loads(run_tool(["plan", str(model), "--json", *shape_words(shape), *words_of(options)]))


def compile(model: Path, *, shape: Optional[Mapping[str, Iterable[int]]] = None, folder: Optional[Path] = None,
            **options: Any) -> "Program":
    """Compiles an ONNX model to a program. Options are those of `kedge compile`: loss="cross-entropy", optimizer="adamw",
    memory_budget="4GiB", precision="bf16", clip_norm=1.0 (`kedge compile --help`).

    `folder` holds the program, its data and its checkpoints; without one it is temporary, and goes with the Program.
    """
    return Program(model, shape, folder, options)


class Program:
    """A compiled program with the state that its runs leave. The model's file must stay where it is, or be embedded
    (embed_weights=True)."""

    def __init__(self, model: Path, shape: Optional[Mapping[str, Iterable[int]]], folder: Optional[Path], options: Mapping[str, Any]) -> None:
        self._temporary = None if folder else tempfile.TemporaryDirectory(prefix="kedge-")
        self.folder = pathlib.Path(folder or self._temporary.name).absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.model = pathlib.Path(model).absolute()
        self.path = self.folder / "program"
        self._words = ["compile", str(self.model), *shape_words(shape)]
        self._options = dict(options)
        self._library: Optional[pathlib.Path] = None
        run_tool([*self._words, *words_of(options), "-o", str(self.path)])

    @property
    def _checkpoints(self) -> pathlib.Path:
        return self.folder / "checkpoints"

    def _newest(self) -> Optional[pathlib.Path]:
        found = [(int(match[1]), path) for path in self._checkpoints.glob("step-*") if (match := re.fullmatch(r"step-(\d+)", path.name))]
        return max(found)[1] if found else None

    @property
    def steps_done(self) -> int:
        newest = self._newest()
        return int(newest.name.partition("-")[2]) if newest else 0

    def _file_of(self, name: str, rows: Union[np.ndarray, Path]) -> str:
        if isinstance(rows, (str, os.PathLike)):
            return str(rows)
        path = self.folder / "data" / f"{re.sub('[^A-Za-z0-9_.-]', '_', name)}.npy"
        path.parent.mkdir(exist_ok=True)
        np.save(path, np.ascontiguousarray(rows))
        return str(path)

    def _data_words(self, kind: str, rows: Optional[Rows], tokens: Optional[Tokens]) -> List[str]:
        words = []
        for name, array in (rows or {}).items():
            words += [f"--{kind}data", f"{name}={self._file_of(kind + name, array)}"]
        if tokens is not None:
            words += [f"--{kind}tokens", self._file_of(kind + "tokens", tokens)]
        return words

    def _begin_words(self) -> List[str]:
        return ["--resume"] if self._newest() else []

    def run(self, *, steps: int, data: Optional[Rows] = None, tokens: Optional[Tokens] = None, eval_data: Optional[Rows] = None,
            eval_tokens: Optional[Tokens] = None, callback: Optional[Callable[[StepResult], Optional[bool]]] = None,
            launcher: Iterable[str] = (), **options: Any) -> List[StepResult]:
        """Trains `steps` further steps and returns their results.

        `data`: rows of each input by name, as arrays or .npy files; `tokens`: a stream of tokens that windows are cut from. Options
        are the program's: lr=1e-3, schedule="cosine", eval_every=100 (`Program.help()`). `callback` is called after each step; when it
        returns False, training ends. `launcher`: words before the program, such as ["mpirun", "-n", "2"].

        Ctrl-C lets the program finish its step and write its checkpoint, then raises KeyboardInterrupt; the next run goes on from
        there. Raises KedgeError with the program's text.
        """
        log = self.folder / "log.jsonl"
        log.unlink(missing_ok=True)
        words = [*launcher, str(self.path), "--steps", str(self.steps_done + steps), "--log", str(log), *self._begin_words(),
                 "--checkpoint-dir", str(self._checkpoints), "--export-safetensors", str(self._trained),
                 *self._data_words("", data, tokens), *self._data_words("eval-", eval_data, eval_tokens), *words_of(options)]
        with tempfile.TemporaryFile("w+") as errors:
            # Its own session: Ctrl-C in a terminal reaches this process, which passes it on once.
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True)
            results, ended_early, interrupted = self._follow(process, log, callback)
            if process.returncode not in ((0, 130) if ended_early or interrupted else (0,)):
                errors.seek(0)
                text = errors.read()
                raise KedgeError(said(text) if "error: " in text else f"the program ended with exit code {process.returncode}: {text[-2000:]}")
        if interrupted:
            raise interrupted
        return results

    def _follow(self, process: "subprocess.Popen[bytes]", log: pathlib.Path,
                callback: Optional[Callable[[StepResult], Optional[bool]]]) -> Tuple[List[StepResult], bool, Optional[BaseException]]:
        results: List[StepResult] = []
        at, stops, reason = 0, False, None
        while True:
            try:
                ended = process.poll() is not None
                fresh, at = _lines_after(log, at)
                for line in fresh:
                    results.append(_result_of(line))
                    if callback and not stops and callback(results[-1]) is False:
                        stops = True
                        process.send_signal(signal.SIGINT)
                if ended:
                    return results, stops, reason
                time.sleep(_POLL)
            except BaseException as error:  # Ctrl-C, or the callback's own: the program saves what it has
                reason, callback = error, None
                if not stops:
                    process.send_signal(signal.SIGINT)
                stops = True

    @property
    def _trained(self) -> pathlib.Path:
        return self.folder / "trained.safetensors"

    def help(self) -> str:
        """The program's own options."""
        return subprocess.run([str(self.path), "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout

    def state_dict(self, module: Any = None) -> Dict[str, Any]:
        """The weights by their names in the model: parameters and buffers, as torch tensors where torch is loaded, else as arrays.

        With `module`, what its state_dict() has beyond them (tied names, buffers that the export made constants) is added, so that
        module.load_state_dict takes the result as it is.
        """
        if not self._trained.exists():
            with self.session() as session:
                arrays = session.state_dict()
        else:
            arrays = _safetensors.load(self._trained)
        torch = sys.modules.get("torch")
        state: Dict[str, Any] = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()} if torch else dict(arrays)
        return state if module is None else _completed(state, module)

    def optimizer_state(self) -> Dict[str, np.ndarray]:
        """moment1/NAME, moment2/NAME (of Adam and its kin) or momentum/NAME, of the newest checkpoint."""
        newest = self._newest()
        if newest is None:
            return {}
        if list(newest.glob("optimizer.rank-*")):
            raise KedgeError(f"{newest}: the optimizer's state is in parts of several ranks")
        return _safetensors.load(newest / "optimizer.safetensors")

    def load_state_dict(self, state: Mapping[str, Any], *, optimizer: Optional[Mapping[str, Any]] = None, steps: int = 0) -> None:
        """Begins anew from these weights: tensors of torch or arrays, by their names in the model. Names that the model lacks (tied
        ones, constants) are left out.

        `optimizer`: moment1/NAME and moment2/NAME, or momentum/NAME (see `torch_optimizer_state`), after `steps` steps.
        """
        with Session(self._compiled_library()) as session:
            known = {name for name in session.states if name in state}
            missing = [name for name in session.states if name not in state and "/" not in name]
            if not known:
                raise KedgeError(f"no name of the given state is one of the model's; the model has {', '.join(list(session.states)[:3])} ...")
            for name in known:
                session.set_state(name, _array(state[name]))
            for name, values in (optimizer or {}).items():
                session.set_state(name, _array(values))
            session.steps_done = steps
            shutil.rmtree(self._checkpoints, ignore_errors=True)
            session.checkpoint(self._checkpoints)
            _safetensors.save({name: session.get_state(name) for name in known | set(missing)}, self._trained)

    def session(self, **options: Any) -> Session:
        """The model inside this process, step by step (compiled on first use). It begins from the program's newest checkpoint, and
        keeps what it learns to itself: Session.checkpoint."""
        options.setdefault("steps", _MANY)  # a checkpoint brings the steps of its run along
        session = Session(self._compiled_library(), **options)
        if self._newest():
            session.resume(self._checkpoints)
        return session

    def _compiled_library(self) -> pathlib.Path:
        if self._library is None:
            kept = {name: value for name, value in self._options.items() if name not in ("ranks", "target", "mesh", "zero")}
            run_tool([*self._words, *words_of(kept), "--emit", "lib", "-o", str(self.folder / "session")])
            self._library = self.folder / "libsession.so"
        return self._library


def torch_optimizer_state(optimizer: Any, module: Any) -> Dict[str, np.ndarray]:
    """The state of torch.optim's Adam, AdamW or SGD under Kedge's names, for Program.load_state_dict."""
    kinds = {"exp_avg": "moment1", "exp_avg_sq": "moment2", "momentum_buffer": "momentum"}
    names = {id(parameter): name for name, parameter in module.named_parameters()}
    found = {}
    for parameter, state in optimizer.state.items():
        for key, kind in kinds.items():
            if state.get(key) is not None:
                found[f"{kind}/{names[id(parameter)]}"] = _array(state[key])
    return found


def load_torch_optimizer(optimizer: Any, module: Any, state: Mapping[str, np.ndarray], steps: int) -> None:
    """Puts `state` (Program.optimizer_state) into torch.optim's Adam, AdamW or SGD, as after `steps` steps."""
    import torch

    kinds = {"moment1": "exp_avg", "moment2": "exp_avg_sq", "momentum": "momentum_buffer"}
    parameters = dict(module.named_parameters())
    for name, values in state.items():
        kind, _, parameter = name.partition("/")
        if kind not in kinds or parameter not in parameters:
            continue
        entry = optimizer.state[parameters[parameter]]
        entry[kinds[kind]] = torch.from_numpy(np.array(values)).to(parameters[parameter])
        if kind != "momentum":
            entry["step"] = torch.tensor(float(steps))


def _array(values: Any) -> np.ndarray:
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        return values.float().numpy() if str(values.dtype) == "torch.bfloat16" else values.numpy()
    return np.asarray(values)


def _completed(state: Dict[str, Any], module: Any) -> Dict[str, Any]:
    own = module.state_dict(keep_vars=True)
    by_storage = {tensor.data_ptr(): name for name, tensor in own.items() if name in state}
    return {name: state[name] if name in state else state[by_storage[tensor.data_ptr()]] if tensor.data_ptr() in by_storage else tensor.detach()
            for name, tensor in own.items()}


def _lines_after(log: pathlib.Path, at: int) -> Tuple[List[str], int]:
    """Whole lines only: the program may be writing one."""
    try:
        with open(log, "rb") as file:
            file.seek(at)
            text = file.read()
    except FileNotFoundError:
        return [], at
    whole = text[: text.rfind(b"\n") + 1]
    return whole.decode().splitlines(), at + len(whole)


def _result_of(line: str) -> StepResult:
    raw = json.loads(line)
    return StepResult(raw["step"], float("nan") if raw["loss"] is None else raw["loss"], raw.get("lr"), raw.get("grad_norm"),
                      bool(raw.get("skipped")), raw.get("eval_loss"), raw)

