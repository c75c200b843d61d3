"""The commands `kedge`, `kedge-opt`, `kedge-translate` and `kedge-bench` of a wheel: one executable, by its name."""
import os
import sys

from ._compiler import executable


def _become(name: str) -> None:
    path = executable()
    try:
        os.execv(path, [name, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{name}: error: {path} cannot be run: {error.strerror}")


def kedge() -> None:
    _become("kedge")


def kedge_opt() -> None:
    _become("kedge-opt")


def kedge_translate() -> None:
    _become("kedge-translate")


def kedge_bench() -> None:
    _become("kedge-bench")
