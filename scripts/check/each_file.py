#!/usr/bin/env python3
"""Compiles sources one by one, without unity builds and precompiled headers, which hide a missing #include.

    scripts/check/each_file.py runtime/calls passes/Memory      every source of these rooms
    scripts/check/each_file.py --checked --slice 4              a quarter of the rooms that were checked whole, another one with each commit
    scripts/check/each_file.py --tidy runtime/exec              what clang-tidy says of them (.clang-tidy), which compiles each, too

It looks at syntax and templates and makes no objects. Its folder is build/each. No test asks for clang-tidy:
`pip install clang-tidy==22.1.8` in the tests' environment.
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
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/each"
VERSION = "22"
# Rooms all of whose files were compiled by themselves. The list only grows.
CHECKED = []
GENERATED = re.compile(r"^(\S+\.(?:inc|h|hpp)): CUSTOM_COMMAND", re.M)
FINDING = re.compile(r"^(\S+?:\d+:\d+): (?:warning|error|fatal error): (.*)$", re.M)


def commands():
    """The command of each source, without output; the first one of a source that several targets compile."""
    subprocess.run(["cmake", "--preset", "release", "-B", BUILD, "-DCMAKE_UNITY_BUILD=OFF", "-DKEDGE_PRECOMPILED_HEADERS=OFF"],
                   cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        source = os.path.relpath(entry["file"], ROOT)
        if not source.startswith("build"):
            found.setdefault(source, entry["command"])
    return found


def make_headers():
    targets = subprocess.run(["ninja", "-C", BUILD, "-t", "targets", "all"], capture_output=True, text=True, check=True).stdout
    subprocess.run(["ninja", "-C", BUILD, *GENERATED.findall(targets)], check=True, stdout=subprocess.DEVNULL)


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


def findings(source, command, tidy):
    """What the compiler, or clang-tidy, says of one source."""
    if tidy:
        asked = [tidy, "-p", str(BUILD), "--quiet", source]
    else:
        words = shlex.split(command)
        output = words.index("-o")
        asked = [w for w in words[:output] + words[output + 2:] if w != "-c"][:-1] + ["-O0", "-w", "-fsyntax-only", source]
    done = subprocess.run(asked, capture_output=True, text=True, errors="replace", cwd=ROOT)
    said = [f"{os.path.relpath(place, ROOT)}: {text}" for place, text in FINDING.findall(done.stdout + done.stderr)
            if "/build/" not in place and not place.startswith("/usr/")]
    return said or ([f"{source}: {done.stderr.strip()[-300:]}"] if done.returncode else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="*", help="folders of sources, or single ones")
    parser.add_argument("--checked", action="store_true", help="the rooms that were checked whole")
    parser.add_argument("--slice", type=int, default=1, metavar="N", help="one file of N, others with another commit")
    parser.add_argument("--tidy", action="store_true", help="ask clang-tidy")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    rooms = args.rooms + (CHECKED if args.checked else [])
    all_commands = commands()
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=ROOT).stdout
    chosen = {source: command for source, command in sorted(all_commands.items())
              if any(source == room or source.startswith(room.rstrip("/") + "/") for room in rooms)
              and zlib.crc32((commit + source).encode()) % args.slice == 0}
    if not chosen and args.slice == 1:
        sys.exit("each_file.py: found no source that is compiled; expected rooms, such as runtime/calls lib/Analysis")
    make_headers()
    tidy = clang_tidy() if args.tidy else None
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        said = set()
        for lines in pool.map(lambda one: findings(*one, tidy), chosen.items()):
            for line in sorted(set(lines) - said): # a header's, once
                print(line, flush=True)
            said.update(lines)
    if not said:
        print(f"each of {len(chosen)} files compiles by itself{', and clang-tidy has nothing to say' if tidy else ''}")
    sys.exit(bool(said))


if __name__ == "__main__":
    main()
