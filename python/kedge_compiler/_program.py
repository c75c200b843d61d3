"""Compiled programs: run them, and take their weights back."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections import OrderedDict
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _safetensors
from ._data import array_of, by_input, is_file, is_stream, rows_in, windows
from ._history import History, ProgressLine, StepResult
from ._session import Session
from ._errors import KedgeError, KedgeFileNotFoundError, KedgeKeyError, KedgeTypeError, KedgeValueError, KedgeWarning, error_of
from ._weights import as_state_dict, read_record
from ._tools import model_file, notes_in, run_tool, said, shape_words, words_of

Path = Union[str, "os.PathLike[str]"]
Rows = Mapping[str, Union[np.ndarray, Path]]
Tokens = Union[np.ndarray, Path]
Callback = Callable[[StepResult], Optional[bool]]
_MANY = 1_000_000_000  # steps of a session that is told none
_POLL = 0.02  # seconds between looks at the log


class Facts(NamedTuple):
    """What a program says of itself. `rows`: of a step of one rank; shapes begin with None where they begin with the rows."""
    rows: int
    inputs: Dict[str, Tuple[Optional[int], ...]]
    outputs: Dict[str, Tuple[Optional[int], ...]]


def lint(model: Path, *, in_process: Optional[bool] = None, **options: Any) -> str:
    """The findings of `kedge lint`, as text. Raises KedgeError if there are errors. `in_process`: as `compile` has it."""
    return run_tool(["lint", model_file(model), *words_of(options)], None, in_process)


def plan(model: Path, *, shape: Optional[Mapping[str, Iterable[int]]] = None, in_process: Optional[bool] = None,
         **options: Any) -> Dict[str, Any]:
    """The memory plan of a step, as `kedge plan --json` prints it (bytes; docs/guide/plan.md). `in_process`: as `compile` has it."""
    return json.loads(run_tool(["plan", model_file(model), "--json", *shape_words(shape), *words_of(options)], None, in_process))


def compile(model: Path, *, shape: Optional[Mapping[str, Iterable[int]]] = None, folder: Optional[Path] = None,
            in_process: Optional[bool] = None, **options: Any) -> "Program":
    """Compiles an ONNX model to a program. Options are those of `kedge compile`: loss="cross-entropy", optimizer="adamw",
    memory_budget="4GiB", precision="bf16", clip_norm=1.0, train_only="head" (`kedge compile --help`).

    `folder` holds the program, its data and its checkpoints; without one it is temporary, and goes with the Program. `in_process`: whether
    the compiler is a library of this process (True) or a process of its own (False); None: as KEDGE_IN_PROCESS says (1 or 0), else the
    library where the installation has one.
    """
    return Program(model, shape, folder, options, in_process)


class Program:
    """A compiled program with the state that its runs leave. The model's file must stay where it is, or be embedded
    (embed_weights=True). `notes` has what the compiler and the runs noted; warnings are Python's, too."""

    def __init__(self, model: Path, shape: Optional[Mapping[str, Iterable[int]]], folder: Optional[Path], options: Mapping[str, Any],
                 in_process: Optional[bool] = None) -> None:
        self.notes: List[str] = []
        self._in_process = in_process
        words = shape_words(shape)
        self.model = pathlib.Path(model_file(model)).absolute()
        self._temporary = None if folder else tempfile.TemporaryDirectory(prefix="kedge-")
        self.folder = pathlib.Path(folder or self._temporary.name).absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / "program"
        self._words = ["compile", str(self.model), *words]
        self._options = dict(options)
        self._library: Optional[pathlib.Path] = None
        self._ran = False
        self._facts: Optional[Facts] = None
        run_tool([*self._words, *words_of(options), "-o", str(self.path)], self.notes, in_process)
        self._record = read_record(self.model)

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

    def _known(self) -> Facts:
        if self._facts is None:
            text = subprocess.run([str(self.path)], stdout=subprocess.PIPE, text=True, check=True).stdout
            found = [{}, {}]  # type: List[Dict[str, Tuple[Optional[int], ...]]]
            for line in text.splitlines():
                if line.startswith("outputs"):
                    found.reverse()
                if match := re.fullmatch(r"  (\S+) +\w+ \[([\w, ]*)\].*", line):
                    found[0][match[1]] = tuple(None if size == "rows" else int(size) for size in match[2].split(", ") if size)
            if "\noutputs" in text:
                found.reverse()
            self._facts = Facts(int(re.search(r"in steps of (\d+) rows", text)[1]), *found)  # type: ignore[index]
        return self._facts

    @property
    def inputs(self) -> Dict[str, Tuple[Optional[int], ...]]:
        """Shapes of the inputs by name; None stands for the rows."""
        return dict(self._known().inputs)

    @property
    def outputs(self) -> Dict[str, Tuple[Optional[int], ...]]:
        """Shapes of the outputs that `predict` gives."""
        return dict(self._known().outputs)

    def _file_of(self, name: str, rows: Union[np.ndarray, Path]) -> str:
        if is_file(rows):
            if not os.path.exists(rows):
                raise KedgeFileNotFoundError(f"the data file '{rows}' does not exist")
            return str(rows)
        path = self.folder / "data" / f"{re.sub('[^A-Za-z0-9_.-]', '_', name)}.npy"
        path.parent.mkdir(exist_ok=True)
        np.save(path, np.ascontiguousarray(array_of(rows)))
        return str(path)

    def _data_words(self, kind: str, rows: Optional[Rows], tokens: Optional[Tokens]) -> List[str]:
        words = []
        if rows is not None:
            for name, array in by_input(rows, list(self.inputs), f"{kind.replace('-', '_')}data").items():
                words += [f"--{kind}data", f"{name}={self._file_of(kind + name, array)}"]
        if tokens is not None:
            words += [f"--{kind}tokens", self._file_of(kind + "tokens", tokens)]
        return words

    def _resume_words(self, resume: Union[None, bool, str, Path]) -> Tuple[List[str], int]:
        """How the run begins, and the steps that are done then."""
        if resume is False:
            shutil.rmtree(self._checkpoints, ignore_errors=True)
            self._trained.unlink(missing_ok=True)
            return [], 0
        if resume is None or resume is True:
            if resume and self._newest() is None:
                raise KedgeFileNotFoundError(f"resume=True: '{self._checkpoints}' has no checkpoint")
            if resume is None and not self._ran and self.steps_done:
                self._note(f"'{self.folder}' holds step {self.steps_done} of an earlier run, and this one goes on from there; "
                           "resume=False begins anew", warn=True)
            return (["--resume"] if self._newest() else []), self.steps_done
        where = self._checkpoint_named(resume)
        step = json.loads((where / "manifest.json").read_text())["step"] if (where / "manifest.json").exists() else None
        if step is None:
            steps = [int(match[1]) for path in where.glob("step-*") if (match := re.fullmatch(r"step-(\d+)", path.name))]
            if not steps:
                raise KedgeFileNotFoundError(f"resume: '{where}' is no checkpoint, and has none")
            step = max(steps)
        return ["--resume", str(where)], int(step)

    def _checkpoint_named(self, which: Union[str, Path]) -> pathlib.Path:
        if which == "best":
            best = self._checkpoints / "best"
            if not best.exists():
                raise KedgeFileNotFoundError("there is no best checkpoint: run with keep_best=\"loss\" (or a metric) and eval_every=N")
            return best
        if which == "last":
            newest = self._newest()
            if newest is None:
                raise KedgeFileNotFoundError(f"'{self._checkpoints}' has no checkpoint")
            return newest
        if not os.path.exists(which):
            raise KedgeFileNotFoundError(f"the checkpoint '{which}' does not exist; expected \"best\", \"last\" or a folder")
        return pathlib.Path(which)

    def _note(self, text: str, warn: bool = False) -> None:
        self.notes.append(text)
        if warn:
            warnings.warn(text, KedgeWarning, stacklevel=4)

    def run(self, *, steps: Optional[int] = None, epochs: Optional[int] = None, data: Any = None, tokens: Optional[Tokens] = None,
            eval_data: Optional[Rows] = None, eval_tokens: Optional[Tokens] = None, callback: Optional[Callback] = None,
            progress: bool = False, resume: Union[None, bool, str, Path] = None, launcher: Iterable[str] = (), **options: Any) -> History:
        """Trains `steps` further steps, or `epochs` times all rows, and returns the results of the steps.

        `data`: rows of each input by name, as arrays (numpy, torch) or .npy files; or a torch.utils.data.DataLoader or another iterable
        of batches, which train in this process. `tokens`: a stream of tokens that windows are cut from. Options are the
        program's: lr=1e-3, schedule="cosine", eval_every=100 (`Program.help()`). `callback` is called after each step; when it returns
        False, training ends. `progress`: one line that shows how far it is. `launcher`: words before the program, such as
        ["mpirun", "-n", "2"].

        A run goes on where the last one ended. `resume=False` begins anew, "best" goes on from the best checkpoint (keep_best), and a
        folder from that checkpoint.

        Ctrl-C lets the program finish its step and write its checkpoint, then raises KeyboardInterrupt; the next run goes on from
        there. Raises KedgeError with the program's text.
        """
        if steps is not None and epochs is not None:
            raise KedgeTypeError("run: steps and epochs both say how long to train; give one of them")
        if is_stream(data):
            from ._stream import run_stream

            return run_stream(self, data, steps, epochs, eval_data, callback, progress, resume, options)
        if steps is None and epochs is None:
            raise KedgeTypeError("run: steps (or epochs) is missing: how long to train")
        if options.get("keep_best") is True:
            options["keep_best"] = "loss"
        words = self._data_words("", data, tokens)
        begin, done = self._resume_words(resume)
        length = self._length_words(steps, epochs, done, data, tokens, launcher)
        self._ran = True
        log = self.folder / "log.jsonl"
        log.unlink(missing_ok=True)
        words = [*launcher, str(self.path), *length, "--log", str(log), *begin,
                 "--checkpoint-dir", str(self._checkpoints), "--export-safetensors", str(self._trained),
                 *words, *self._data_words("eval-", eval_data, eval_tokens), *words_of(options)]
        shown = ProgressLine(done, int(length[1]) - done if length[0] == "--steps" else None) if progress else None
        return self._train(words, log, callback, shown)

    def _length_words(self, steps: Optional[int], epochs: Optional[int], done: int, data: Optional[Rows], tokens: Optional[Tokens],
                      launcher: Iterable[str]) -> List[str]:
        if steps is not None:
            return ["--steps", str(done + steps)]
        rows = None if list(launcher) else self._rows(data, tokens)
        if rows is not None:
            return ["--steps", str(done + -(-epochs * rows // self._known().rows))]  # type: ignore[operator]
        if done:
            raise KedgeValueError("run: epochs of several ranks, or of a token file without numpy's header, are not counted here in a run that "
                                  "goes on; give steps")
        return ["--epochs", str(epochs)]

    def _rows(self, data: Optional[Rows], tokens: Optional[Tokens]) -> Optional[int]:
        """Of an epoch; None: the program counts them."""
        inputs = self._known().inputs
        if tokens is None:
            return rows_in({name: values for name, values in (data or {}).items() if inputs[name][:1] == (None,)})
        if is_file(tokens) and not str(tokens).endswith(".npy"):
            return None
        return windows(tokens, next(int(shape[1] or 1) for shape in inputs.values() if len(shape) == 2))

    def _train(self, words: Sequence[str], log: pathlib.Path, callback: Optional[Callback], shown: Optional[ProgressLine]) -> History:
        with tempfile.TemporaryFile("w+") as errors:
            # Its own session: Ctrl-C in a terminal reaches this process, which passes it on once.
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True)
            results, ended_early, interrupted = self._follow(process, log, callback, shown)
            if shown:
                shown.end()
            errors.seek(0)
            text = errors.read()
            self.notes += notes_in(text)
            if process.returncode not in ((0, 130) if ended_early or interrupted else (0,)):
                raise error_of(said(text) if "error: " in text else f"the program ended with exit code {process.returncode}: {text[-2000:]}")
        if interrupted:
            raise interrupted
        return results

    def _follow(self, process: "subprocess.Popen[bytes]", log: pathlib.Path, callback: Optional[Callback],
                shown: Optional[ProgressLine]) -> Tuple[History, bool, Optional[BaseException]]:
        results = History()
        at, stops, reason = 0, False, None
        while True:
            try:
                ended = process.poll() is not None
                fresh, at = _lines_after(log, at)
                for line in fresh:
                    results.append(StepResult.of_log(line))
                    if shown:
                        shown.step(results[-1])
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

    def _without_training(self, which: Union[str, Path], words: Sequence[str]) -> str:
        """What the program says when it runs no step, from the state that `which` names."""
        begin = ["--resume", str(self._checkpoint_named(which))] if which != "last" or self._newest() else []
        done = subprocess.run([str(self.path), "--steps", "0", *begin, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise error_of(said(done.stderr))
        self.notes += notes_in(done.stderr)
        return done.stdout

    def predict(self, data: Rows, output: Optional[str] = None, *, which: Union[str, Path] = "last", **options: Any) -> np.ndarray:
        """An output (the first, unless it is named) for all rows of `data`, in evaluation mode; labels are not needed."""
        outputs = list(self.outputs)
        if not outputs:
            raise KedgeValueError("predict: the program has no float output of its own")
        output = output or outputs[0]
        if output not in outputs:
            raise KedgeKeyError(f"predict: the program has no output '{output}'; it has {', '.join(outputs)}")
        path = self.folder / "predicted.npy"
        self._without_training(which, ["--predict", f"{output}={path}", *self._data_words("eval-", data, None), *words_of(options)])
        values = np.load(path)
        path.unlink()
        return values

    def evaluate(self, data: Optional[Rows] = None, *, tokens: Optional[Tokens] = None, which: Union[str, Path] = "last",
                 **options: Any) -> Dict[str, float]:
        """The loss over all rows, in evaluation mode, and what `metric` names: evaluate(rows, metric=["accuracy"])["accuracy"]."""
        text = self._without_training(which, [*self._data_words("eval-", data, tokens), *words_of(options)])
        return {name: float(value) for name, value in re.findall(r"^eval (\w+) (\S+)$", text, re.M)}

    def help(self) -> str:
        """The program's own options."""
        return subprocess.run([str(self.path), "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout

    def state_dict(self, module: Any = None, *, which: Union[str, Path] = "last") -> "OrderedDict[str, Any]":
        """The weights by their names in the model: parameters and buffers, as torch tensors where torch is loaded, else as arrays.

        `which`: "last", "best" (of a run with keep_best), or the folder of a checkpoint. Of a file that `export` or `fit` wrote, the
        result is what the module's load_state_dict takes: in its order, with its tied names, its buffers that are no part of the graph, and
        the versions of its modules (`_metadata`). Of another file, `module` says these; buffers that the file lacks are then the module's own.
        """
        if which != "last":
            path = self.folder / "named.safetensors"
            self._without_training(which, ["--export-safetensors", str(path)])
            arrays = {name: np.array(array) for name, array in _safetensors.load(path).items()}
            path.unlink()
        elif not self._trained.exists():
            with self.session() as session:
                arrays = session.state_dict()
        else:
            arrays = _safetensors.load(self._trained)
        return as_state_dict(arrays, module, self._record, self.model)

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
        if not isinstance(state, Mapping):
            raise KedgeTypeError(f"load_state_dict: expected values by name, as of state_dict(), found {type(state).__name__}")
        self._ran = True
        with Session(self._compiled_library()) as session:
            known = {name for name in session.states if name in state}
            missing = [name for name in session.states if name not in state and "/" not in name]
            if not known:
                raise KedgeKeyError(f"no name of the given state is one of the model's; the model has {', '.join(list(session.states)[:3])} ...")
            for name in known:
                session.set_state(name, array_of(state[name]))
            for name, values in (optimizer or {}).items():
                session.set_state(name, array_of(values))
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
            # Its notes were those of the program.
            run_tool([*self._words, *words_of(kept), "--emit", "lib", "-o", str(self.folder / "session")], None, self._in_process)
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
                found[f"{kind}/{names[id(parameter)]}"] = array_of(state[key])
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
