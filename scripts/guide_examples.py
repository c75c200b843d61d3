#!/usr/bin/env python3
"""Runs the examples of README.md and docs/guide, and writes what they print beside them.

    guide_examples.py [--check] [--bin FOLDER] [PAGE...]

An example is a block that begins with ```console: each line `$ COMMAND` is run by bash, and the lines behind it are what the
command prints. ```console lines=1-6,20- keeps these lines of it and leaves `...` in place of the others. The blocks of a page
run one after the other in one empty folder, where `examples`, `scripts` and LICENSE are those of the repository. Numbers that
depend on the machine are those of one core with AVX2.

Commands in other blocks are not run: the line before such a block says what they need that is not there, <!-- not run: WHAT -->.

--check writes nothing, and fails where a page does not show what the tools print. FOLDER has the tools: build/release/bin.
"""
import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ANY = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(\$ )?(kedge[ -]|\./|scripts/|mpirun|torchrun|python3?|apt|cmake|pip|~/|KEDGE_\w+=)", re.MULTILINE)
MARK = re.compile(r"<!-- not run: .+ -->")
BLOCK = re.compile(r"^```console(?: lines=([0-9,-]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(block):
    """The commands of a block, each as it stands there: the first line and those that it goes on in."""
    lines, found = block.splitlines(), []
    while lines:
        line = lines.pop(0)
        if not line.startswith("$ "):
            continue
        words = [line]
        while words[-1].endswith("\\") and lines:
            words.append(lines.pop(0))
        found.append("\n".join(words))
    return found


def run(command, folder, before):
    """What a command prints, and its exit code. `before` is the exit code that `$?` stands for."""
    script = f"(exit {before})\n{command.removeprefix('$ ')}"
    result = subprocess.run(["bash", "-c", script], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return [line.rstrip() for line in result.stdout.splitlines()], result.returncode


def shown(lines, ranges):
    """The lines that `ranges` ("1-6,20-") asks for, with `...` where others are left out."""
    if not ranges:
        return lines
    kept, last = [], 0
    for one in ranges.split(","):
        first, _, end = one.partition("-")
        begin, stop = int(first), int(end) if end else int(first) if "-" not in one else len(lines)
        kept += ["..."] * (begin > last + 1) + lines[begin - 1:stop]
        last = stop
    return kept + ["..."] * (last < len(lines))


def rewritten(page, folder):
    """The text of a page with the output of its commands, and how many there were."""
    code = count = 0

    def block(match):
        nonlocal code, count
        lines = []
        for command in commands(match[2]):
            printed, code = run(command, folder, code)
            lines += [command, *shown(printed, match[1])]
            count += 1
        opening = match[0].split("\n", 1)[0]
        return "\n".join([opening, *lines, "```"])

    return BLOCK.sub(block, page.read_text()), count


def unmarked(page):
    """The first lines of blocks that hold commands, are not run and do not say why."""
    text = page.read_text()
    for match in ANY.finditer(text):
        before = text[:match.start()].rsplit("\n", 2)[-2:-1]
        if match[1] in ("", "sh", "bash") and COMMAND.search(match[2]) and not (before and MARK.fullmatch(before[0])):
            yield f"{page}: line {text.count(chr(10), 0, match.start()) + 2}: {match[2].splitlines()[0]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    os.environ.update(PATH=f"{options.bin.resolve()}:{os.environ['PATH']}", KEDGE_CPU_ISA="avx2", LC_ALL="C.UTF-8")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    pages = count = wrong = 0
    chosen = options.pages or [ROOT / "README.md", *sorted((ROOT / "docs/guide").glob("*.md"))]
    if silent := [line for page in chosen for line in unmarked(page)]:
        sys.exit("\n".join(["commands that are not run, on pages that do not say why (<!-- not run: WHAT -->):", *silent]))
    for page in chosen:
        if not BLOCK.search(page.read_text()):
            continue
        with tempfile.TemporaryDirectory() as folder:
            for name in ("examples", "scripts", "LICENSE"):
                (pathlib.Path(folder) / name).symlink_to(ROOT / name)
            text, here = rewritten(page, folder)
        pages, count = pages + 1, count + here
        if not options.check:
            page.write_text(text)
        elif text != page.read_text():
            wrong += 1
            sys.stdout.writelines(difflib.unified_diff(page.read_text().splitlines(True), text.splitlines(True), str(page), "printed"))
    if wrong:
        sys.exit("these pages show something else than the tools print; scripts/guide_examples.py writes them anew")
    print(f"{count} commands on {pages} pages print what is shown")


if __name__ == "__main__":
    main()
