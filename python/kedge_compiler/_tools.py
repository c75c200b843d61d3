"""The tools of the installation, as processes; what they refuse as exceptions, and what they note."""
import os
import pathlib
import re
import shutil
import subprocess
import warnings
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Type


class KedgeError(RuntimeError):
    """What a tool, a program or a session refused, in its own words. The classes below are also the built-in ones of their kind."""


class KedgeValueError(KedgeError, ValueError):
    """A value that an option, an input or a file cannot have."""


class KedgeTypeError(KedgeError, TypeError):
    """An argument of another kind than expected, or an option that does not exist."""


class KedgeKeyError(KedgeError, KeyError):
    """A name that the model does not have."""

    __str__ = KedgeError.__str__  # KeyError would quote the text


class KedgeFileNotFoundError(KedgeError, FileNotFoundError):
    """A file that is not there."""


class KedgeWarning(UserWarning):
    """What a tool or a program warns of."""


_KINDS = [(re.compile(r"there is no option -|would have no effect"), KedgeTypeError),
          (re.compile(r"cannot open '[^']*': No such file|No such file or directory|is missing: expected a file"), KedgeFileNotFoundError),
          (re.compile(r"has no such input|has no (float )?output '|has no input '|has no state '"), KedgeKeyError),
          (re.compile(r"error: (.*: )?--[\w-]+[^:]*: |expected |matches nothing|changes nothing| needs --|"
                     r"rows have shape|has shape|out of range|numbers of rows|holds elements|not an npy file|is an archive"), KedgeValueError)]


def error_of(text: str) -> KedgeError:
    """The exception for what a tool says."""
    kind: Type[KedgeError] = next((kind for pattern, kind in _KINDS if pattern.search(text)), KedgeError)
    return kind(text)


def executable() -> pathlib.Path:
    """The installation's executable, which is every tool; KEDGE_BIN names another folder of tools."""
    folder = os.environ.get("KEDGE_BIN")
    if folder:
        return pathlib.Path(folder) / "kedge"
    bundled = pathlib.Path(__file__).parent / "bin" / "kedge"
    if bundled.exists():
        return bundled
    found = shutil.which("kedge")
    if not found:
        raise KedgeFileNotFoundError(f"the tool 'kedge' was not found: expected {bundled}, or one on PATH, or its folder in KEDGE_BIN")
    return pathlib.Path(found)


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


def run_tool(words: Sequence[str], notes: Optional[List[str]] = None) -> str:
    """Runs `kedge WORDS`; returns its standard output, and adds what it notes to `notes`. Raises KedgeError with the tool's text."""
    done = subprocess.run([str(executable()), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise error_of(done.stderr.strip() or done.stdout.strip() or f"kedge {words[0]} ended with exit code {done.returncode}")
    if notes is not None:
        notes += notes_in(done.stderr)
    return done.stdout


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
