"""The tools of the installation, as processes."""
import os
import pathlib
import shutil
import subprocess
from typing import Any, Iterable, List, Mapping, Optional, Sequence


class KedgeError(RuntimeError):
    """What a tool, a program or a session refused, in its own words."""


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
        raise KedgeError(f"the tool 'kedge' was not found: expected {bundled}, or one on PATH, or its folder in KEDGE_BIN")
    return pathlib.Path(found)


def said(text: str) -> str:
    """The errors in a program's output, else all of it."""
    lines = [line for line in text.splitlines() if "error: " in line]
    return "\n".join(lines) or text.strip()


def run_tool(words: Sequence[str]) -> str:
    """Runs `kedge WORDS`; returns its standard output. Raises KedgeError with the tool's text."""
    done = subprocess.run([str(executable()), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise KedgeError(done.stderr.strip() or done.stdout.strip() or f"kedge {words[0]} ended with exit code {done.returncode}")
    return done.stdout


def tool_version() -> str:
    return run_tool(["--version"]).strip()


def flag_of(name: str) -> str:
    return "--" + name.replace("_", "-")


def shape_words(shape: Optional[Mapping[str, Iterable[int]]]) -> List[str]:
    words = []
    for name, sizes in (shape or {}).items():
        words += ["--shape", f"{name}={'x'.join(str(size) for size in sizes)}"]
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
