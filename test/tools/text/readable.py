#!/usr/bin/env python3
"""readable.py FOLDER MODEL OPTION... : whether IR of every phase of a compilation is for reading.

Each file of --save-ir is printed by kedge-translate --print-ir. No line has more than 160 characters, no value is called %arg,
the first function begins on the first screen; a text that is parsed is printed alike; --emit prints the same."""
import pathlib
import shutil
import subprocess
import sys

WIDTH, SCREEN = 160, 40
LEVELS = {"01-model": "onnx", "02-step": "train", "03-schedule": "schedule", "04-rematerialize": "schedule", "05-exec": "exec"}


def printed(path):
    done = subprocess.run(["kedge-translate", "--print-ir", path], capture_output=True, text=True)
    assert done.returncode == 0, f"{path}: {done.stderr[:2000]}"
    return done.stdout


def check(name, text):
    lines = text.splitlines()
    long = [line for line in lines if len(line) > WIDTH]
    assert not long, f"{name}: {len(long)} lines of more than {WIDTH} characters: {long[0][:300]}"
    nameless = [line for line in lines if "%arg" in line]
    assert not nameless, f"{name}: {nameless[0]}"
    assert any(line.startswith(("  func.func @", "  exec.function @")) for line in lines[:SCREEN]), f"{name}: no function in {lines[:SCREEN]}"
    assert " loc(" not in text and "kedge.place" not in text, f"{name}: places are printed"


def main():
    folder, model, *options = sys.argv[1:]
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run(["kedge", "compile", model, *options, "--save-ir", folder, "--emit", "exec", "-o", folder / "emitted"], check=True,
                   stderr=subprocess.DEVNULL)
    files = sorted(folder.glob("*.mlir"))
    for path in files:
        text = printed(path)
        check(path.name, text)
        again = folder / "again"
        again.write_text(text)
        assert printed(again) == text, f"{path.name}: printed again, the text differs"
    assert printed(files[-1]) == (folder / "emitted").read_text(), "--emit exec is another text"
    for name in ("01-model", "02-step"):
        emitted = subprocess.run(["kedge", "compile", folder / f"{name}.mlir", "--emit", LEVELS[name]], check=True, capture_output=True,
                                 text=True).stdout
        assert emitted == printed(folder / f"{name}.mlir"), f"{name}: --emit is another text"
    print(f"{len(files)} phases are readable")


if __name__ == "__main__":
    main()
