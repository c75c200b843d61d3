#!/usr/bin/env python3
"""Compiles sources one by one, without the unity builds that hide a missing #include. What all files of a room include first
(kedge_sees_mlir of cmake/KedgeTargets.cmake) they need not include themselves.

    scripts/check/each_file.py runtime/calls passes/Memory      every source of these rooms
    scripts/check/each_file.py --since main lib passes          those that differ from a commit
    scripts/check/each_file.py --tidy runtime/exec              what clang-tidy says of them (.clang-tidy)

It looks at syntax and templates and makes no objects. It takes flags and generated headers from a build (--build build/release).
clang-tidy reads sources as the build joins them: most of its time goes into headers (`pip install clang-tidy==22.1.8` in the tests' environment). scripts/check/static.sh reads
all rooms by both.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = "22"
FINDING = re.compile(r"^(\S+?:\d+:\d+): (?:warning|error|fatal error): (.*)$", re.M)
JOINED = re.compile(r'^#include "([^"]+)"', re.M)


def git(*words):
    """What git says; nothing where there is none."""
    return subprocess.run(["git", *words], capture_output=True, text=True, cwd=ROOT).stdout


def flags_of(command):
    """Compiler and flags, without the launcher, the source and the output."""
    words = shlex.split(command)
    words = words[next(at for at, word in enumerate(words) if word.endswith(("++", "cc"))):]
    at = words.index("-o")
    return [word for word in words[:at] + words[at + 2:] if word != "-c"][:-1]


def compiled_files(build):
    """The files that the build gives to the compiler: name, flags and the sources it joins, or itself."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = pathlib.Path(entry["file"])
        joined = JOINED.findall(file.read_text()) if "Unity" in file.parts else [file]
        sources = [os.path.relpath(source, ROOT) for source in joined]
        yield str(file), flags_of(entry["command"]), [name for name in sources if not name.startswith(("..", "build"))]


def one_by_one(build):
    """The flags of each source; those of the first target where several compile it."""
    found = {}
    for _, flags, sources in compiled_files(build):
        for source in sources:
            found.setdefault(source, (flags, [source]))
    return found


def joined(build):
    """The flags and sources of each file that the build compiles, without those whose sources another target has compiled."""
    found, seen = {}, set()
    for file, flags, sources in compiled_files(build):
        if not seen.issuperset(sources):
            found[file] = flags, sources
            seen.update(sources)
    return found


def clang_tidy():
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    venv = os.environ.get("KEDGE_TEST_VENV", f"{cache}/kedge/test-venv")
    for tool in (f"{venv}/bin/clang-tidy", f"clang-tidy-{VERSION}", f"/usr/lib/llvm-{VERSION}/bin/clang-tidy", "clang-tidy"):
        try:
            said = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
        except OSError:
            continue
        if f"version {VERSION}." in said:
            return tool
    sys.exit(f"each_file.py: expected clang-tidy {VERSION}: pip install 'clang-tidy==22.1.8'")


def tidied(tidy, file, flags):
    """clang-tidy's command; clang would take the header that gcc has compiled for its own."""
    flags = [f"{word}.txt" if word.endswith("cmake_pch.hxx") else word for word in flags[1:]]
    return [tidy, "--quiet", file, "--", *flags]


def findings(source, flags, tidy):
    """What the compiler, or clang-tidy, says of one file."""
    asked = tidied(tidy, source, flags) if tidy else [*flags, "-w", "-fsyntax-only", source]
    done = subprocess.run(asked, capture_output=True, text=True, errors="replace", cwd=ROOT)
    said = [f"{os.path.relpath(place, ROOT)}: {text}" for place, text in FINDING.findall(done.stdout + done.stderr)
            if place.startswith(source) and "/Unity/" not in source or "/build/" not in place and not place.startswith("/usr/")]
    return said or ([f"{source}: {done.stderr.strip()[-300:]}"] if done.returncode else [])


def chosen_files(args):
    """The files to look at, with their flags."""
    files = (joined if args.tidy and not args.like else one_by_one)(args.build.resolve())
    if args.like:
        files = {args.rooms[0]: (files[args.like][0], args.rooms)}
    rooms = tuple(room.rstrip("/") + "/" for room in args.rooms)
    inside = {file: flags for file, (flags, sources) in sorted(files.items())
              if any(f"{source}/".startswith(rooms) for source in sources)}
    if args.since:
        changed = set(git("diff", "--name-only", args.since).split())
        inside = {file: flags for file, flags in inside.items() if changed.intersection(files[file][1])}
        if not inside:
            sys.exit(f"each_file.py: no source of these rooms differs from {args.since}")
    if not inside:
        sys.exit("each_file.py: found no source that is compiled; expected rooms, such as runtime/calls lib/Analysis")
    return inside


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="*", help="folders of sources, or single ones; --tidy without any says which clang-tidy it asks")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="a build of this tree")
    parser.add_argument("--since", metavar="COMMIT", help="files that differ from this commit alone")
    parser.add_argument("--as", dest="like", metavar="SOURCE", help="the one file that is named is compiled as this source is")
    parser.add_argument("--tidy", action="store_true", help="ask clang-tidy")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    tidy = clang_tidy() if args.tidy else None
    if tidy and not args.rooms:
        return print(tidy)
    chosen = chosen_files(args)
    if tidy:
        for header in args.build.resolve().rglob("cmake_pch.hxx"):
            header.with_suffix(".hxx.txt").write_text(header.read_text())
    said = set()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for lines in pool.map(lambda one: findings(*one, tidy), chosen.items()):
            for line in sorted(set(lines) - said):  # a header's, once
                print(line, flush=True)
            said.update(lines)
    if not said:
        print(f"each of {len(chosen)} files compiles by itself{', and clang-tidy has nothing to say' if tidy else ''}")
    sys.exit(bool(said))


if __name__ == "__main__":
    main()
