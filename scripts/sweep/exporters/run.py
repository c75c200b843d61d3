#!/usr/bin/env python3
"""Trains the cases of the makers beside this file: run.py CASES OUT [NAME...]. Prints a row each: right, refused (by what), told or wrong.

'told': the losses are those of the framework's model without its biases of zeros, which the file does not have, and compile says so. Needs kedge in
PATH, numpy and onnx.
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "test/meaning"))
from check import Case  # noqa: E402

TOLD = re.compile(r"biases of zeros .* without a (bias|scale|shift)")


def reason_of(words):
    """The codes of lint's errors, or the message."""
    codes = sorted(set(re.findall(r"error\[([a-z-]+)\]", words)))
    if codes:
        return ", ".join(codes)
    found = re.search(r"kedge: error: (.*)", words)
    return re.sub(r"^\S*model\.onnx: ", "", found.group(1))[:150] if found else words.strip()[-150:]


def judge(folder, out):
    case = Case(folder, out)
    if not case.compile():
        return ("refused", reason_of(case.words)) if "kedge: error" in case.words or "error[" in case.words else ("wrong", "died: " + case.words[-150:])
    case.run()
    wrong = case.wrong(case.asked["expect"])
    if not wrong:
        return "right", ""
    held = case.asked.get("without_zeros")
    if held and TOLD.search(" ".join(case.words.split())) and not case.wrong({**case.asked["expect"], "loss": held}):
        return "told", "biases of zeros are not in the file"
    return "wrong", wrong[0]


def main():
    cases, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    names = sys.argv[3:] or sorted(at.parent.name for at in cases.glob("*/case.json"))
    rows = {}
    for name in names:
        try:
            rows[name] = judge(cases / name, out / name)
        except Exception as error:  # a row of its own
            rows[name] = "wrong", f"{type(error).__name__}: {error}"[:150]
        print(f"{name}: {rows[name][0]} {rows[name][1]}", flush=True)
    out.mkdir(parents=True, exist_ok=True)
    (out / "rows.json").write_text(json.dumps(rows, indent=1) + "\n")
    for kind in sorted({name.split("-")[0] for name in rows}):
        counts = {verdict: sum(row[0] == verdict for name, row in rows.items() if name.split("-")[0] == kind) for verdict in ("right", "refused", "told", "wrong")}
        print(kind, *(f"{verdict} {count}" for verdict, count in counts.items()))
    sys.exit(any(verdict == "wrong" for verdict, _ in rows.values()))


if __name__ == "__main__":
    main()
