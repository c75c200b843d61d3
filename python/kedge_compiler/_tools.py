"""Words of the tools: options of Python as flags, what they note as notes, what they refuse as exceptions."""
import os
import re
import warnings
from typing import Any, Iterable, List, Mapping, Optional, Sequence

from ._compiler import answer_of
from ._errors import KedgeFileNotFoundError, KedgeTypeError, KedgeWarning, error_of


def said(text: str) -> str:
    """The errors in a program's output, else all of it."""
    lines = [line for line in text.splitlines() if "error: " in line]
    return "\n".join(lines) or text.strip()


def notes_in(text: str) -> List[str]:
    """What standard error says beside errors: a note or a warning each. Warnings are also Python's."""
    notes: List[str] = []
    for line in text.splitlines():
        if line.startswith("kedge: note: "):
            notes.append(line[len("kedge: note: "):])
        elif re.match(r"(kedge: warning: |warning\[|note\[)", line):
            notes.append(re.sub(r"^kedge: ", "", line))
        elif notes and line.startswith("  ") and line.strip():
            notes[-1] += "\n" + line
    for note in notes:
        if note.startswith("warning"):
            warnings.warn(re.sub(r"^warning: ", "", note), KedgeWarning, stacklevel=4)
    return notes


def run_tool(words: Sequence[str], notes: Optional[List[str]] = None, in_process: Optional[bool] = None) -> str:
    """Runs `kedge WORDS`; returns its standard output, and adds what it notes to `notes`. Raises KedgeError with the tool's text."""
    done = answer_of(words, in_process)
    if done.code != 0:
        raise error_of(done.errors.strip() or done.output.strip() or f"kedge {words[0]} ended with exit code {done.code}")
    if notes is not None:
        notes += notes_in(done.errors)
    return done.output


def tool_version() -> str:
    return run_tool(["--version"]).strip()


def flag_of(name: str) -> str:
    return "--" + name.replace("_", "-")


def model_file(path: Any) -> str:
    if not os.path.exists(path):
        raise KedgeFileNotFoundError(f"the model '{path}' does not exist")
    return str(path)


def shape_words(shape: Optional[Mapping[str, Iterable[int]]]) -> List[str]:
    if shape is None:
        return []
    if not isinstance(shape, Mapping):
        raise KedgeTypeError(f"shape: expected the sizes of each input, such as {{'input': (8, 4)}}, found {shape!r}")
    words = []
    for name, sizes in shape.items():
        if isinstance(sizes, (str, bytes)) or not isinstance(sizes, Iterable):
            raise KedgeTypeError(f"shape['{name}']: expected sizes, such as (8, 4), found {sizes!r}")
        words += ["--shape", f"{name}={'x'.join(str(int(size)) for size in sizes)}"]
    return words


def words_of(options: Mapping[str, Any]) -> List[str]:
    """weight_decay=0.1 is --weight-decay 0.1; True is a flag alone, None and False are left out, a list repeats the option."""
    words: List[str] = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        if name == "betas" and not isinstance(value, str):
            value = ",".join(repr(float(beta)) for beta in value)
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words.append(flag_of(name))
            if one is not True:
                words.append(repr(one) if isinstance(one, float) else str(one))
    return words
