#!/usr/bin/env python3
"""Checks how pages are written: prose.py ROOT.

A page uses none of the `PATTERNS`, outside code, tables of options made from --help, and the pages of history, which stay
as they were written; nor do help texts, messages and summaries of ops and passes. A path that a page names in code exists. No file cites a document that is not in the tree.
"""
import pathlib
import re
import sys

UNITS = (r"(?:bytes|seconds|milliseconds|microseconds|ms|us|ns|clocks|[KMG]i?B|G?FLOP/s|FLOPs|launches|rows|numbers|elements|"
         r"threads|registers|warps?|files?|keys?)")
THINGS = r"(?:step|core|element|parameter|rank|section|clock|slab|point|row|column|layer|launch|thread|block|pass|tensor)"
# "the elements a rank has" is no distribution.
THINGS += r"(?! (?:has|holds|keeps|reads|writes|sends|makes|needs|takes|runs|computes|shares|starts|can|may|must)\b)"
# What a regular expression can tell without false alarms, and what to write instead.
PATTERNS = [
    (r"[Bb]eside", "'compared with', 'at the same time as', 'in addition to' or 'next to'"),
    (r"[Bb]ehind", "'after'"),
    (r"[Ll]ies?", "'is', 'is stored' or 'is kept'"),
    (r"[Ss]tands?(?! for|-)", "'is'"),
    (UNITS + " an? " + THINGS, "'per'"),
    (r"(?:an?|one) (?:number|element|file|row|block|warp|kernel|launch|product|folder) an? " + THINGS, "'one ... per ...'"),
]
OLD = ("docs/rationale/history/",)
# Made from the tools' own texts, which other tests compare.
PRINTED = ("docs/guide/flags.md",)
# Names the folders of an installed Kedge.
INSTALLED = "docs/guide/install.md"
ROOMS = "lib|passes|driver|runtime|tools|test|scripts|docs|examples|bench|cmake"
# A name of a document, put together here so that this file does not cite it.
ELSEWHERE = re.compile(r"\b" + "contract, " + r"section \d|\b" + "the contract" + r"('s)? (says|has it|promises)|\b" + "design" + r"\.md\b")
TEXTS = (".md", ".cpp", ".h", ".inc", ".td", ".py", ".sh", ".mlir", ".test", ".txt", ".cmake")


def pages(root):
    return sorted(path for path in [root / "README.md", *root.glob("docs/**/*.md")] if path.is_file())


def page_lines(text):
    """Numbered lines outside code blocks."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def prose_lines(text):
    """Numbered lines without code, which may go over the end of a line, and without the targets of links."""
    lines = dict(page_lines(text))
    whole = "\n".join(lines.get(number, "") for number in range(1, text.count("\n") + 2))
    code_out = re.sub(r"`[^`]*`|\]\([^)]*\)", lambda code: "\n" * code.group().count("\n"), whole)
    return enumerate(code_out.split("\n"), 1)


def check_patterns(name, text):
    if name.startswith(OLD) or name in PRINTED:
        return
    for number, line in prose_lines(text):
        for pattern, instead in PATTERNS:
            for found in re.finditer(rf"(?<![\w-]){pattern}(?!\w)", line):
                yield f"{name}:{number}: '{found.group()}', expected {instead}"


def check_messages(root):
    """Literals of several words in what the tools and programs are made of."""
    for room in ("lib", "passes", "driver", "runtime", "tools"):
        for path in sorted((root / room).glob("**/*")):
            if path.suffix not in (".cpp", ".h", ".td"):
                continue
            for number, line in enumerate(path.read_text().split("\n"), 1):
                for text in re.findall(r'"((?:[^"\\\n]|\\.)* (?:[^"\\\n]|\\.)*)"', line.split(" // ")[0]):
                    for pattern, instead in PATTERNS:
                        for found in re.finditer(rf"(?<![\w-]){pattern}(?!\w)", text):
                            yield f"{path.relative_to(root)}:{number}: '{found.group()}', expected {instead}"


def check_paths(root, name, text):
    if name.startswith(OLD):
        return
    for number, line in page_lines(text):
        # Pages about programs name files from runtime/ on.
        for path in re.findall(rf"`((?:{ROOMS})/[\w./-]+|[\w/-]+/[\w.]+\.(?:cpp|h|td))`", line):
            installed = name == INSTALLED and path.startswith(("lib/kedge", "include/kedge"))
            if not installed and not (root / path).exists() and not (root / "runtime" / path).exists():
                yield f"{name}:{number}: found no {path}"
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", line):
            if not ((root / name).parent / link).exists():
                yield f"{name}:{number}: links to {link}, which is not there"


def check_citations(root):
    for room in [*ROOMS.split("|"), "README.md", "CHANGELOG.md"]:
        files = [root / room] if (root / room).is_file() else sorted((root / room).glob("**/*"))
        for path in files:
            if path.suffix not in TEXTS or not path.is_file():
                continue
            for number, line in enumerate(path.read_text(errors="replace").split("\n"), 1):
                if ELSEWHERE.search(line):
                    yield f"{path.relative_to(root)}:{number}: cites a document that is not in the tree"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    problems = []
    for path in pages(root):
        name, text = str(path.relative_to(root)), path.read_text()
        problems += [*check_patterns(name, text), *check_paths(root, name, text)]
    problems += [*check_messages(root), *check_citations(root)]
    print("\n".join(problems) or "the pages are in plain English")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
