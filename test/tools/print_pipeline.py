#!/usr/bin/env python3
"""print_pipeline.py FOLDER MODEL OPTION... [-- OPTION...]: whether `kedge compile` is what it prints.

Compiles with --save-ir, runs kedge-opt with the pipeline that --print-pipeline prints for each phase on the IR before that
phase, and compares the text with the IR after it. With options behind `--` the pipelines are those that are printed with
them instead."""
import pathlib
import shutil
import subprocess
import sys

SAVED = "kedge.saved = {"


def without_saved(text):
    """The module without the attribute that tells compile how to go on, which is no concern of a pass."""
    start = text.index(SAVED)
    depth, in_string, at = 0, False, start + len(SAVED) - 1
    while True:
        c = text[at]
        if c == '"':
            in_string = not in_string
        elif not in_string:
            depth += (c == "{") - (c == "}")
        at += 1
        if depth == 0:
            break
    rest = text[at:]
    return text[:start] + (rest[2:] if rest.startswith(", ") else rest)


def first_difference(expected, found):
    for number, (a, b) in enumerate(zip(expected.splitlines(), found.splitlines()), 1):
        if a != b:
            return f"line {number}:\n  compile:   {a[:400]}\n  kedge-opt: {b[:400]}"
    return "one is longer than the other"


def main():
    folder, model, *options = sys.argv[1:]
    at = options.index("--") if "--" in options else len(options)
    options, printed_with = options[:at], options[at + 1:] or options[:at]
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    compile_it = ["kedge", "compile", model, *options, "--emit", "exec", "--save-ir", folder, "-o", folder / "exec"]
    subprocess.run(compile_it, check=True, stderr=subprocess.DEVNULL)
    printed = subprocess.run(["kedge", "compile", model, *printed_with, "--print-pipeline"], check=True,
                             capture_output=True, text=True).stdout
    before, phases = folder / "00-import.mlir", []
    for line in printed.splitlines():
        phase, pipeline = line.split(" ", 1)
        after = next(folder.glob(f"*-{phase}.mlir"))
        done = subprocess.run(["kedge-opt", before, "--mlir-print-debuginfo", f"--pass-pipeline={pipeline}"],
                              capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{phase}: {pipeline}\n{done.stderr}")
        expected, found = without_saved(after.read_text()).rstrip(), without_saved(done.stdout).rstrip()
        if expected != found:
            print(f"{phase}: differs from {pipeline}\n{first_difference(expected, found)}")
            return 1
        phases.append(phase)
        before = after
    print(f"equal: {' '.join(phases)}")
    return 0


sys.exit(main())
