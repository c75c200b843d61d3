"""Where the installation keeps what programs in C, C++ and CMake are built with."""
import pathlib

from ._compiler import executable
from ._errors import KedgeFileNotFoundError


def _there(folder: pathlib.Path, file: str) -> str:
    if not (folder / file).exists():
        raise KedgeFileNotFoundError(f"this installation of kedge has no '{folder / file}': headers and the CMake package come with the wheel and "
                                     "with the package kedge-dev")
    return str(folder)


def include() -> str:
    """The folder of the headers, as a C compiler's -I takes it: kedge/session.h, kedge/compiler.h."""
    return _there(executable().resolve().parent.parent / "include", "kedge/session.h")


def cmake_dir() -> str:
    """The folder of the CMake package: find_package(Kedge) finds it with CMAKE_PREFIX_PATH or Kedge_DIR."""
    return _there(executable().resolve().parent.parent / "lib/cmake/Kedge", "KedgeConfig.cmake")
