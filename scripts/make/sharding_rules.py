#!/usr/bin/env python3
"""Writes docs/sharding-rules.md: how each operator can be cut over ranks.

    sharding_rules.py NODE_TESTS [--check]      NODE_TESTS: the folder of ONNX's backend node tests

kedge-translate and kedge-opt must be on the path. Of an operator's cases the one counts that shows most loops. `--check` writes nothing,
runs the cases that the page names, and fails where they say something else.
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/sharding-rules.md"
HEAD = """# Sharding rules

How the ops of level 1 can be cut over the ranks along `tensor`: what `scripts/make/sharding_rules.py` reads from the rules
(ShardingOpInterface, and the loop nests of ClusterableOpInterface) of ops that are imported from ONNX's node tests; a test compares. Of
several cases of an op the one is shown that has most loops, with its name; `kedge-opt --kedge-show-sharding-rules` prints those of a model.

Dimensions with one letter run along one loop, which ranks can cut into blocks. A dot is a dimension that is whole on every rank. Over loops
below *sums* results are sums: ranks add theirs up. Below *sections* the dimension is several tensors in a row, each of which is
cut by itself. `whole`: the op has no rule, and every rank computes all of it. Ops of level 2, such as gradients, attention and losses,
have rules of the same kind.

"""


def rules(folder):
    """Lines of kedge-show-sharding-rules for a case; none where it is not imported."""
    imported = subprocess.run(["kedge-translate", "--import-onnx", folder / "model.onnx"], capture_output=True, text=True)
    if imported.returncode != 0:
        return []
    shown = subprocess.run(["kedge-opt", "--kedge-show-sharding-rules", "-o", "/dev/null"], input=imported.stdout, capture_output=True, text=True)
    return [line for line in shown.stderr.splitlines() if re.match(r"(onnx|train)\.\w+:", line)] if shown.returncode == 0 else []


def row(name, rule, case):
    if rule == "whole":
        return f"| {name} | whole | | | {case} |"
    tensors, *rest = rule.split(", ")
    kinds = dict(part.split(" ", 1) for part in rest)
    return f"| {name} | `{tensors}` | {kinds.get('sums', '')} | {kinds.get('sections', '')} | {case} |"


def best_rules(cases):
    """{op: (rule, name of the first case that shows it)}."""
    best = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for case, lines in zip(cases, pool.map(rules, cases)):
            for line in lines:
                name, rule = line.split(": ", 1)
                key = (len(set(re.findall(r"\b[a-z]\b", rule))), rule.count("("), rule)
                if key > best.get(name, ((-1, 0, ""), ""))[0]:
                    best[name] = key, case.name
    return {name: (key[2], case) for name, (key, case) in best.items()}


def page(best):
    rows = [row(name, *best[name]) for name in sorted(best, key=str.lower)]
    cut = sum("| whole |" not in line for line in rows)
    return HEAD + f"{len(rows)} ops, {cut} with a rule.\n\n| op | tensors | sums | sections | case |\n|---|---|---|---|---|\n" + "\n".join(rows) + "\n"


def check(tests, text):
    """The cases that the page names: all of them take half a minute."""
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if re.match(r"\| (onnx|train)\.", line)]
    cases = {cells[0]: cells[-1] for cells in table}
    found = best_rules(sorted(tests / case for case in set(cases.values())))
    for name in sorted(found.keys() | cases.keys()):
        if name not in found or row(name, found[name][0], cases.get(name)) not in text:
            sys.exit(f"{name}: docs/sharding-rules.md says something else than its case shows; run scripts/make/sharding_rules.py")


def main():
    tests = pathlib.Path(sys.argv[1])
    if "--check" in sys.argv:
        text = PAGE.read_text()
        check(tests, text)
    else:
        text = page(best_rules(sorted(path for path in tests.iterdir() if (path / "model.onnx").exists())))
        PAGE.write_text(text)
    print(re.search(r"\d+ ops, \d+ with a rule", text)[0])


if __name__ == "__main__":
    main()
