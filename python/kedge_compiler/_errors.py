"""What tools, programs and sessions refuse, as exceptions."""
import re
from typing import Type


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
