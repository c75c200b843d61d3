#!/usr/bin/env python3
"""Saved IR with edits, through every tool: mutate_ir.py MODEL FOLDER [--runs N | --seconds S] [--seed K] -- COMPILE-OPTIONS

Each run changes one or two places of a file of --save-ir and gives it to `kedge compile`, `kedge-opt` and, at level 1,
`kedge-translate --export-onnx`. An exit code beyond 0 to 2, or a minute without an end, is a finding: its file stays in
FOLDER. What a run does depends on the seed and its number alone.
"""
import argparse
import pathlib
import random
import re
import subprocess
import sys
import time

NUMBERS = ["0", "-1", "1", "2", "9223372036854775807", "-9223372036854775808", "4294967296", "1000000007"]
TYPES = ["tensor<?x4xf32>", "tensor<f32>", "tensor<0xf32>", "tensor<*xf32>", "tensor<9223372036854775807xf32>", "i64", "none",
         "tensor<4xi3>"]
VALUES = ['""', "7 : i64", '"nothing"', "[]", "unit", "@x", "dense<1.0> : tensor<2xf32>"]
LISTS = ["[]", "[-1]", "[9223372036854775807, 2]", "[0, 0]"]
# A pattern, and what may stand in its place.
CHANGES = [(r"(?<![\w%@#])-?\d+", NUMBERS), (r"[\w.]+ = [^,{}<>]+,? ?", [""]), (r"tensor<[^>]*>", TYPES), (r'"[^"]*"', VALUES),
           (r"\[[^\[\]]*\]", LISTS)]


def changed(text, choose):
    lines = text.split("\n")
    for _ in range(choose.randint(1, 2)):
        at = choose.randrange(len(lines))
        if lines[at].startswith("#loc"):
            at = choose.randrange(min(len(lines), 60))
        kind = choose.randrange(len(CHANGES) + 2)
        if kind == len(CHANGES):
            del lines[at]
        elif kind > len(CHANGES):
            lines.insert(choose.randrange(len(lines)), lines[at])
        else:
            pattern, others = CHANGES[kind]
            places = list(re.finditer(pattern, lines[at]))
            if places:
                place = choose.choice(places)
                lines[at] = lines[at][:place.start()] + choose.choice(others) + lines[at][place.end():]
        if not lines:
            return text
    return "\n".join(lines)


def commands(saved, file, folder):
    yield ["kedge", "compile", file, "-o", f"{folder}/program"]
    yield ["kedge-opt", file, "--canonicalize", "-o", "/dev/null"]
    if "import" in saved or "model" in saved:
        yield ["kedge-translate", "--export-onnx", file, "-o", f"{folder}/model.onnx"]


def main():
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(sys.argv[1:at])
    folder = pathlib.Path(given.folder)
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["kedge", "compile", given.model, *sys.argv[at + 1:], "--save-ir", folder / "saved", "-o", folder / "program"],
                   check=True)
    texts = {path.name: path.read_text() for path in sorted((folder / "saved").glob("*.mlir"))}
    begin, run, findings = time.monotonic(), 0, 0
    while time.monotonic() - begin < given.seconds if given.seconds else run < given.runs:
        choose = random.Random(given.seed * 1000003 + run)
        saved = choose.choice(list(texts))
        file = folder / f"{given.seed}-{run}.mlir"
        file.write_text(changed(texts[saved], choose))
        wrong = []
        for command in commands(saved, file, folder):
            try:
                code = subprocess.run(command, capture_output=True, timeout=60).returncode
            except subprocess.TimeoutExpired:
                code = "no end"
            if code not in (0, 1, 2):
                wrong.append(f"{command[0]}: {code}")
        if wrong:
            findings += 1
            print(f"finding: {file}, of {saved}: {', '.join(wrong)}", flush=True)
        else:
            file.unlink()
        run += 1
    print(f"{run} files, {findings or 'no'} finding{'s' if findings > 1 else ''}")
    sys.exit(findings != 0)


if __name__ == "__main__":
    main()
