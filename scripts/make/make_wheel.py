#!/usr/bin/env python3
"""Packs a build into a wheel: make_wheel.py BUILD -> BUILD/wheel/kedge_compiler-*.whl, and without Python into
BUILD/wheel/kedge-*.tar.xz (--tarball). scripts/wheel.sh builds what it needs.

Debian's packages have the licences of what is in it; they go into the wheel with ours. Equal contents give equal bytes.
"""
import base64
import hashlib
import io
import pathlib
import re
import subprocess
import sys
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME = "kedge_compiler"
ARCHIVES = ["libkedge_runtime.a", "libkedge_runtime_main.a", "libkedge_runtime_library.a", "libkedge_runtime_cuda.a", "libkedge_runtime_main_cuda.a"]
# What applications are built with; a plugin's headers are kedge-dev's, for these tools take none.
HEADERS = ["session.h", "session.hpp", "compiler.h", "compiler.hpp", "abi.h", "abi/LossNames.h", "abi/ProgramKeys.h", "abi/StateRoles.h", "abi/Streams.h"]
# What a C++ compiler adds when it links (lib/Link/BuiltInLinker.cpp).
PIECES = ["Scrt1.o", "rcrt1.o", "crti.o", "crtn.o", "crtbeginS.o", "crtendS.o", "libstdc++.a", "libgcc.a", "libgcc_eh.a", "libc_nonshared.a",
          "libc.a", "libm.a", "libmvec.a"]
LICENCES = ["libllvm22", "libstdc++6", "libc6", "libprotobuf-dev", "libfmt-dev", "nlohmann-json3-dev", "libcli11-dev", "zlib1g", "libzstd1"]
LIBRARY = "lib/libkedge-compiler.so.0"
COMMANDS = ["kedge", "kedge-opt", "kedge-translate", "kedge-bench"]


def said(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def version():
    return re.search(r"project\(kedge VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def glibc_of(paths):
    """The newest version of a symbol of glibc's that any of the files needs."""
    found = {(2, 17)}
    for path in paths:
        found |= {tuple(map(int, text.split("."))) for text in re.findall(r"GLIBC_(\d+\.\d+)", said("objdump", "-T", str(path)))}
    return max(found)


def compiled(build):
    """A program that the tools make: the archives in the wheel may need more of glibc than the tools."""
    program = build / "wheel" / "program"
    program.parent.mkdir(exist_ok=True)
    subprocess.run(["kedge", "compile", ROOT / "test/golden/perceptron/model.onnx", "--shape", "input=8x10", "--loss", "mse", "-o", program],
                   executable=build / "bin/kedge-all", check=True)
    return program


def piece(name):
    """The file of that name that g++ links with. Debian's libm.a is a text that names others."""
    path = pathlib.Path(said("g++", f"-print-file-name={name}").strip())
    if name != "libm.a" or path.read_bytes().startswith(b"!<arch>"):
        return path
    return pathlib.Path(re.search(r"\S+/libm-[0-9.]+\.a", path.read_text())[0])


def stripped(path, folder, what="--strip-debug"):
    """A program's debug information is of no use without its sources; archives keep the symbols that link."""
    copy = folder / path.name
    copy.write_bytes(path.read_bytes())
    subprocess.run(["strip", what, str(copy)], check=True)
    return copy.read_bytes()


def configured(build, name):
    """A file that CMake made of its template. Packing runs no build, so that of an earlier configuration would go in unnoticed."""
    text, template = (build / name).read_text(), ROOT / f"cmake/{name}.in"
    if template.exists():
        lines = template.read_text().splitlines()
        lines = lines[lines.index("@PACKAGE_INIT@") + 1:]
        pattern = [".*".join(map(re.escape, re.split(r"@\w+@", line))) for line in lines]
        if not all(map(re.fullmatch, pattern, text.splitlines()[-len(lines):])):
            sys.exit(f"make_wheel.py: {build / name} is of an earlier {template.name}: build first (scripts/wheel.sh does)")
    return text.encode()


def contents(build):
    """Paths in the wheel with their bytes, and whether they are executable."""
    scratch = build / "wheel"
    scratch.mkdir(exist_ok=True)
    for path in sorted((ROOT / "python" / NAME).glob("*")):
        if path.suffix in (".py", ".typed") or path.name == "py.typed":
            yield f"{NAME}/{path.name}", path.read_bytes(), False
    yield f"{NAME}/bin/kedge", (build / "bin/kedge-all").read_bytes(), True
    yield f"{NAME}/{LIBRARY}", stripped(build / "kedge-all/libkedge-compiler.so.0", scratch, "--strip-all"), True
    for name in HEADERS:
        yield f"{NAME}/include/kedge/{name}", (ROOT / "include/kedge" / name).read_bytes(), False
    for name in ("KedgeConfig.cmake", "KedgeConfigVersion.cmake"):
        yield f"{NAME}/lib/cmake/Kedge/{name}", configured(build, name), False
    for name in ARCHIVES:
        if (build / "runtime" / name).exists():
            yield f"{NAME}/lib/kedge/{name}", stripped(build / "runtime" / name, scratch), False
    for name in PIECES:
        yield f"{NAME}/lib/kedge/link/{name}", stripped(piece(name), scratch), False
    for path in [*scratch.glob("*.[ao]"), *scratch.glob("*.so.0")]:
        path.unlink()


def metadata(release, tag):
    folder = f"{NAME}-{release}.dist-info"
    yield f"{folder}/METADATA", (f"Metadata-Version: 2.1\nName: kedge-compiler\nVersion: {release}\n"
                                 "Summary: compiles ONNX models into native training programs\nRequires-Python: >=3.9\nRequires-Dist: numpy\n"
                                 "Description-Content-Type: text/markdown\n\n" + (ROOT / "docs/guide/python.md").read_text()).encode()
    yield f"{folder}/WHEEL", f"Wheel-Version: 1.0\nGenerator: kedge\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    points = "".join(f"{name} = {NAME}._cli:{name.replace('-', '_')}\n" for name in COMMANDS)
    yield f"{folder}/entry_points.txt", f"[console_scripts]\n{points}".encode()
    yield f"{folder}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes()
    for package in LICENCES:
        text = pathlib.Path(f"/usr/share/doc/{package}/copyright")
        if text.exists():
            yield f"{folder}/licenses/{package}", text.read_bytes()


def write(path, entries):
    record, dist = [], None
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        def add(name, data, executable=False):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            wheel.writestr(entry, data)

        for name, data, executable in entries:
            add(name, data, executable)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}\n")
            if name.endswith("/WHEEL"):
                dist = name.rpartition("/")[0]
        add(f"{dist}/RECORD", ("".join(record) + f"{dist}/RECORD,,\n").encode())


def write_tarball(path, folder, entries, tools):
    """The tools of a wheel in a folder that runs wherever it is put. `tools`: the executable, with libc in it."""
    with tarfile.open(path, "w:xz") as tar:
        def add(name, data=b"", executable=False, link=""):
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.mode, entry.size, entry.linkname = 0o755 if executable else 0o644, len(data), link
            entry.type = tarfile.SYMTYPE if link else tarfile.REGTYPE
            tar.addfile(entry, io.BytesIO(data))

        for name, data, executable in entries:
            inner = name.split("/", 1)[1]
            if inner.startswith(("bin/", "lib/", "licenses/", "include/")) and inner != LIBRARY:
                add(inner, tools if inner == "bin/kedge" else data, executable)
        for command in COMMANDS[1:]:
            add(f"bin/{command}", link="kedge")
    print(f"{path} {path.stat().st_size} bytes")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    release, (major, minor) = version(), glibc_of([build / "bin/kedge-all", build / "kedge-all/libkedge-compiler.so.0", compiled(build)])
    tag = f"py3-none-manylinux_{major}_{minor}_x86_64"
    path = build / "wheel" / f"{NAME}-{release}-{tag}.whl"
    entries = [*contents(build), *((name, data, False) for name, data in metadata(release, tag))]
    write(path, entries)
    print(f"{path} {path.stat().st_size} bytes")
    if "--tarball" in sys.argv:
        folder = f"kedge-{release}-linux-x86_64"
        write_tarball(build / "wheel" / f"{folder}.tar.xz", folder, entries, (build / "bin/kedge-all-static").read_bytes())


if __name__ == "__main__":
    main()
