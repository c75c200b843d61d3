#!/usr/bin/env python3
"""Runs the blocks of the page of recipes, each in a Python of its own behind the first, and lets Kedge build the steps of what they
export: recipes.py PAGE OUT PYTHON. Blocks whose packages are not installed are named and left out."""
import pathlib
import re
import subprocess
import sys

page, out, python = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
first, *blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.S | re.M)
OPTIONS = {"norms": ["--train-mode"]}


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=out)
    return done.returncode, done.stdout + done.stderr


def main():
    models = []
    for block in blocks:
        name = re.search(r'"(\w+)\.onnx"', block)[1]
        packages = set(re.findall(r"^from (\w+)", block, re.M)) | {"torch"}
        script = out / f"{name}.py"
        script.write_text(first + "\n" + block)
        if run(python, "-c", f"import {', '.join(packages)}")[0]:
            print(f"{name}: not run, without {' or '.join(sorted(packages))}")
            continue
        code, said = run(python, "-W", "ignore", script)
        assert code == 0, f"{name}: the block fails: {said[-2000:]}"
        options = OPTIONS.get(name, [])
        code, said = run("kedge", "lint", f"{name}.onnx", *options)
        assert code == 0, f"{name}: lint: {said}"
        code, said = run("kedge", "compile", f"{name}.onnx", *options, "--loss", "cross-entropy", "--emit", "train")
        assert code == 0, f"{name}: compile: {said[-2000:]}"
        models.append(name)
    print(f"{len(models)} of {len(blocks)} recipes run")


main()
