#!/usr/bin/env python3
"""Lists messages of dialects and passes that no test expects: messages.py ROOT.

A message counts as expected when what a test expects holds its longest piece of text or 25 characters of it: expected-error and the like in
.mlir, lines of FileCheck there and in .test, texts in quotes in .cpp and .py.
What no input can bring about is in GUARDS, with the reason; what stands there and is gone is an error, too.
"""
import pathlib
import re
import sys

CALL = re.compile(r"\bemit(?:OpError|Error|OptionalError)\s*\((.*?);", re.DOTALL)
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')

GUARDS = {
    "kernels could not be lowered to machine code": "LLVM takes all that our emitter makes",
    "is no function, but its": "MLIR asks dialects about arguments and results of functions alone",
    "which is made later: a pass that made one of them gave it the place of another": "stages are given so that values go on, and back",
    "makes the new value of": "the same",
    "cannot be decomposed": "every op that has a decomposition today has one in all its forms",
}


def messages(root):
    """(place, pieces of text) of every diagnostic."""
    for folder in ("lib/Dialect", "lib/Analysis", "passes"):
        for path in sorted((root / folder).rglob("*.cpp")):
            text = path.read_text()
            for call in CALL.finditer(text):
                pieces = [piece.replace('\\"', '"') for piece in TEXT.findall(call[1])]
                if pieces:
                    yield f"{path.relative_to(root)}:{text.count(chr(10), 0, call.start()) + 1}", pieces


CHECKED = re.compile(r"^\s*(?://|;|#)?\s*(?!RUN|REQUIRES|DEFINE|REDEFINE|UNSUPPORTED|XFAIL)[A-Z][A-Z0-9_-]*:(.*)$", re.MULTILINE)
DIAGNOSED = re.compile(r"expected-(?:error|warning|remark|note)(?:-re)?[^{\n]*\{\{(.*?)\}\}", re.DOTALL)


def expectations(path):
    """What the test asks for, without its commands, inputs and comments."""
    text = path.read_text()
    if path.suffix in (".cpp", ".py"):
        return TEXT.findall(re.sub(r'"\s*\n\s*"', "", text))
    return CHECKED.findall(text) + (DIAGNOSED.findall(text) if path.suffix == ".mlir" else [])


def is_expected(piece, tests):
    windows = [piece[at:at + 25] for at in range(max(1, len(piece) - 24))]
    return any(window in tests for window in windows)


def main():
    root = pathlib.Path(sys.argv[1])
    files = [path for path in (root / "test").rglob("*") if path.suffix in (".mlir", ".test", ".cpp", ".py") and path.is_file()]
    tests = "\n".join(text for path in files for text in expectations(path))
    found, missing, guards = 0, [], set(GUARDS)
    for place, pieces in messages(root):
        found += 1
        longest = max(pieces, key=len).strip(" ,:;()[]'")
        guards.discard(longest)
        if longest not in GUARDS and not is_expected(longest, tests):
            missing.append(f"{place}: no test expects '{'...'.join(pieces)}'")
    missing += [f"no message '{guard}' any more: take it out of GUARDS" for guard in sorted(guards)]
    print("\n".join(missing) if missing else f"tests expect all of {found} messages but {len(GUARDS)} guards")
    sys.exit(bool(missing))


if __name__ == "__main__":
    main()
