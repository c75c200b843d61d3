"""Commands of `kedge`: in this process by libkedge-compiler.so (kedge/compiler.h), or as a process of their own."""
import ctypes
import functools
import os
import pathlib
import shutil
import subprocess
import threading
from typing import List, NamedTuple, Optional, Sequence

from ._errors import KedgeError, KedgeFileNotFoundError, KedgeValueError

_API = 101  # KEDGE_COMPILER_API of the header that this was written for
_EXIT = {0: 0, 6: 2}  # KEDGE_OK, KEDGE_REFUSED; all others are exit code 1
_CANCELLED = 7


class Answer(NamedTuple):
    """What a command wrote, and its exit code."""
    code: int
    output: str
    errors: str


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


def library() -> pathlib.Path:
    """Where the compiler of the installation is as a library, beside its tools; whether it is there or not."""
    return executable().resolve().parent.parent / "lib" / "libkedge-compiler.so.0"


def is_in_process(chosen: Optional[bool] = None) -> bool:
    """`chosen`, else what KEDGE_IN_PROCESS says, else whether the installation has the library."""
    if chosen is None and os.environ.get("KEDGE_IN_PROCESS"):
        word = os.environ["KEDGE_IN_PROCESS"]
        if word not in ("0", "1"):
            raise KedgeValueError(f"KEDGE_IN_PROCESS={word}: expected 0 (kedge is a process of its own) or 1 (it is a library of this one)")
        chosen = word == "1"
    if chosen and not library().exists():
        raise KedgeFileNotFoundError(f"in_process=True: this installation of kedge has no library: '{library()}' does not exist; "
                                     "leave in_process out")
    return library().exists() if chosen is None else bool(chosen)


@functools.lru_cache(maxsize=None)
def _loaded(path: str) -> ctypes.CDLL:
    try:
        functions = ctypes.CDLL(path)
        functions.kedge_compiler_command  # an older library lacks it
    except (OSError, AttributeError) as error:
        raise KedgeError(f"'{path}' cannot be loaded: {error}; in_process=False, or KEDGE_IN_PROCESS=0, runs kedge as a process") from None
    text = ctypes.c_char_p
    functions.kedge_compiler_create.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_void_p)]
    functions.kedge_compiler_destroy.argtypes = functions.kedge_compiler_cancel.argtypes = [ctypes.c_void_p]
    functions.kedge_compiler_destroy.restype = functions.kedge_compiler_cancel.restype = None
    functions.kedge_compiler_command.argtypes = [ctypes.c_void_p, ctypes.POINTER(text), ctypes.POINTER(text), ctypes.POINTER(text)]
    return functions


class _Call:
    """One command on a compiler of its own. It works on another thread, so that Ctrl-C reaches this one."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = (ctypes.c_char_p * (len(words) + 1))(*[os.fsencode(word) for word in words], None)
        self.functions = _loaded(str(library()))
        self.compiler = ctypes.c_void_p()
        self.ended = threading.Event()
        self.answer: Optional[Answer] = None

    def _work(self) -> None:
        answered, said = ctypes.c_char_p(), ctypes.c_char_p()
        try:
            code = self.functions.kedge_compiler_command(self.compiler, self.words, ctypes.byref(answered), ctypes.byref(said))
            texts = [(text.value or b"").decode("utf-8", "replace") for text in (answered, said)]
            if code == _CANCELLED:
                texts[1] += "kedge: error: cancelled\n"
            self.answer = Answer(_EXIT.get(code, 1), *texts)
        finally:
            self.ended.set()

    def run(self) -> Answer:
        if self.functions.kedge_compiler_create(_API, ctypes.byref(self.compiler)) != 0:
            raise KedgeError(f"'{library()}' has no interface {_API}, which this module needs; in_process=False, or KEDGE_IN_PROCESS=0, runs "
                             "kedge as a process")
        threading.Thread(target=self._work, daemon=True).start()
        try:
            self.ended.wait()
        except BaseException:
            self.functions.kedge_compiler_cancel(self.compiler)
            self.ended.wait()
            raise
        finally:
            if self.ended.is_set():
                self.functions.kedge_compiler_destroy(self.compiler)
        assert self.answer is not None
        return self.answer


def answer_of(words: Sequence[str], in_process: Optional[bool] = None) -> Answer:
    """Runs `kedge WORDS`."""
    if is_in_process(in_process):
        return _Call(words).run()
    command: List[str] = [str(executable()), *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return Answer(done.returncode, done.stdout, done.stderr)
