#!/usr/bin/env python3
"""Runs the example in the description of every pass, so that what documentation shows stays true.

    test/passes/examples.py ROOT

A pass of passes/*/*.td ends its description with

    Example: `--kedge-some-pass=option=1`       (without a flag in the line: the pass alone; files are those of ROOT)
    ```mlir                                     IR before
    ```mlir                                     what is printed after

The second block is matched line by line with FileCheck: `%names` stand for whatever the printer calls them, `...` for
any text, a line of `...` for any lines. A single block holds the diagnostics that it expects (--verify-diagnostics).
Either way the pass must count what it did (--kedge-statistics).
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

DEFINITION = re.compile(r'^def \w+\s*:[^{;]*?<"(kedge-[\w-]+)".*?(?=^(?:def|class|#endif)\b)', re.MULTILINE | re.DOTALL)
DESCRIPTION = re.compile(r"let description = \[\{(.*?)\}\];", re.DOTALL)
EXAMPLE = re.compile(r"^ *Example[^\n]*:(?P<line>[^\n]*)\n(?P<blocks>.*)", re.MULTILINE | re.DOTALL)
COUNTER = re.compile(r"^ *(\d+) +(kedge-[\w-]+) ", re.MULTILINE)
BLOCK = re.compile(r"^ *```mlir\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def run(command, text):
    return subprocess.run(command, input=text, capture_output=True, text=True)


class Pattern:
    """FileCheck's patterns for lines of IR: the first time a name is met it is captured, then it must be the same."""

    def __init__(self):
        self.known = set()

    def name(self, match):
        variable = "v" + re.sub(r"\W", "_", match[1])
        if variable in self.known:
            return f"%[[{variable}]]"
        self.known.add(variable)
        return f"%[[{variable}:[A-Za-z0-9_$.-]+]]"

    def line(self, text):
        return re.sub(r"%([A-Za-z0-9_]+)", self.name, text).replace("...", "{{.*}}")


def patterns(block):
    """The block's lines as FileCheck directives: each follows the one before, unless `...` stands between."""
    pattern, lines, kind = Pattern(), [], "CHECK"
    for text in filter(None, map(str.strip, block.splitlines())):
        if text == "...":
            kind = "CHECK"
            continue
        lines.append(f"{kind}: {pattern.line(text)}")
        kind = "CHECK-NEXT"
    return "\n".join(lines) + "\n"


def compare(flags, before, after):
    """What is wrong with the output, and what the passes counted."""
    diagnostics = after is None
    verify = ["--split-input-file", "--verify-diagnostics"] if diagnostics else []
    done = run(["kedge-opt", *flags, *verify, "--kedge-statistics"], before)
    if done.returncode or diagnostics:
        return done.stderr if done.returncode else None, done.stderr
    with tempfile.NamedTemporaryFile("w", suffix=".check") as file:
        file.write(patterns(after))
        file.flush()
        compared = run(["FileCheck", "--match-full-lines", file.name], done.stdout)
    printed = f"{compared.stderr}{shlex.join(['kedge-opt', *flags])} printed:\n{done.stdout}"
    return printed if compared.returncode else None, done.stderr


def check_counters(flag, statistics):
    if not any(int(value) for value, owner in COUNTER.findall(statistics) if owner == flag):
        return "no counter of its own counts what its example does"
    return None


def check(flag, text):
    """What is wrong with the example of pass `flag`, or None."""
    description = DESCRIPTION.search(text)
    example = EXAMPLE.search(description[1]) if description else None
    blocks = BLOCK.findall(example["blocks"]) if example else []
    if not blocks:
        return "its description has no example"
    command = re.search(r"`(--kedge-[^`]*)`", example["line"])
    flags = shlex.split(command[1]) if command else [f"--{flag}"]
    if not any(re.match(rf"--{flag}(=|$)", each) for each in flags):
        return f"its example does not run --{flag}"
    if len(blocks) != (1 if "expected-" in blocks[0] else 2):
        return f"its example has {len(blocks)} blocks, expected IR before and after, or expected diagnostics"
    error, statistics = compare(flags, blocks[0], blocks[1] if len(blocks) == 2 else None)
    return error or check_counters(flag, statistics)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    os.chdir(root)  # where the files of an example's options are
    passes = wrong = 0
    for path in sorted(root.glob("passes/*/*.td")):
        for definition in DEFINITION.finditer(path.read_text()):
            passes += 1
            if error := check(definition[1], definition[0]):
                wrong += 1
                print(f"{path.relative_to(root)}: {definition[1]}: {error}")
    if not wrong:
        print(f"the examples of {passes} passes hold")
    sys.exit(1 if wrong or not passes else 0)


if __name__ == "__main__":
    main()
