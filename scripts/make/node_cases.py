#!/usr/bin/env python3
"""Runs the backend node cases that the installed onnx package generates, and says what became of them.

    node_cases.py KEDGE_UNIT_COMPILED [--keep DIR] [--beyond DIR] [--filter WORD] [--reasons N]

The cases are made in a temporary folder (or DIR, where a second run finds them) and compiled for the CPU by
kedge-unit-compiled, which compares the outputs with the data sets'; with --beyond, those alone that are no folder of that
name in DIR. Prints the counts, then the reasons of what did not
pass, most frequent first. Exit 1 when a case failed.
"""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def write_cases(root, known=frozenset()):
    """A folder a case that is not known: model.onnx, test_data_set_0/{input,output}_K.pb."""
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test.case.node import collect_testcases

    def proto(value, info):
        if isinstance(value, onnx.TensorProto):
            return value
        kind = info.type.WhichOneof("value")
        if kind == "sequence_type":
            return numpy_helper.from_list(value, info.name)
        if kind == "optional_type":
            return numpy_helper.from_optional(value, info.name)
        return numpy_helper.from_array(value, info.name)

    for case in collect_testcases():
        if case.name in known:
            continue
        folder = root / case.name
        data = folder / "test_data_set_0"
        data.mkdir(parents=True)
        (folder / "model.onnx").write_bytes(case.model.SerializeToString())
        inputs, outputs = case.data_sets[0]
        for word, values, infos in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
            for k, (value, info) in enumerate(zip(values, infos)):
                (data / f"{word}_{k}.pb").write_bytes(proto(value, info).SerializeToString())
    return onnx.__version__


def reason(message):
    """The message without what is this case's alone."""
    message = re.sub(r"^\S*model\.onnx: ", "", message)
    message = re.sub(r"node '[^']*'", "node", message)
    message = re.sub(r"'[^']*'", "'..'", message)
    return re.sub(r"-?\d[\d.e+-]*", "N", message)[:150]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--keep")
    parser.add_argument("--beyond")
    parser.add_argument("--filter")
    parser.add_argument("--reasons", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(options.keep or temporary) / "node"
        if not root.exists():
            root.mkdir(parents=True)
            write_cases(root, set(os.listdir(options.beyond)) if os.path.isdir(options.beyond or "") else set())
        report = pathlib.Path(temporary) / "report"
        environment = {**os.environ, "KEDGE_NODE_CASES_DIR": str(root), "KEDGE_NODE_CASES_REPORT": str(report)}
        if options.filter:
            environment["KEDGE_NODE_CASES"] = options.filter
        subprocess.run([options.program], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        rows = [line.split("\t") for line in report.read_text().splitlines()]
    counts = collections.Counter(status for status, _, _ in rows)
    print(f"{len(rows)} cases: {counts['passed']} passed, {counts['unsupported']} unsupported, {counts['failed']} failed")
    for wanted in ("failed", "unsupported"):
        groups = collections.defaultdict(list)
        for status, name, message in rows:
            if status == wanted:
                groups[reason(message)].append(name)
        for text, names in sorted(groups.items(), key=lambda group: -len(group[1]))[:options.reasons]:
            print(f"{wanted} {len(names):4}  {text}  ({names[0]}{', ...' if len(names) > 1 else ''})")
    sys.exit(counts["failed"] > 0 or not rows)


if __name__ == "__main__":
    main()
