#!/usr/bin/env python3
"""Writes docs/results.md from the records in bench/: results.py [--check].

A file of bench/ is one benchmark: a title, what its figures are, the page of its history, and records (date, machine,
command, commit where it is known, columns, rows). The page shows the last record of each; a benchmark with a headline
gets one row in the table at the end. --check writes nothing and fails where the page differs or is too long.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE_LINES = 150
KEYS = ("date", "machine", "command", "columns", "rows")
# The order of the page; a benchmark that is not listed follows, by name.
FIRST = ["gpt2-step", "convnet-step", "gpt2-16-bits", "adapters-step", "h100-step", "time-model", "zero-state",
         "collectives"]
INTRO = """# Measured results

Made by `scripts/make/results.py` from [bench](../bench): the latest records; earlier ones are in the history of each. Memory against time: [curves](memory-curves.md)."""


class BadRecord(Exception):
    """A file of bench/ that the page cannot be made from."""


def checked(path):
    """The benchmark in `path`, if it has all that the page needs."""
    benchmark = json.loads(path.read_text())
    name = path.relative_to(ROOT)
    for key in ("title", "about", "history", "records"):
        if key not in benchmark:
            raise BadRecord(f"{name}: expected the key '{key}'")
    if not (ROOT / "docs" / benchmark["history"]).is_file():
        raise BadRecord(f"{name}: found no page docs/{benchmark['history']}")
    for number, record in enumerate(benchmark["records"]):
        for key in KEYS:
            if key not in record:
                raise BadRecord(f"{name}: record {number}: expected the key '{key}'")
        for row in record["rows"]:
            if len(row) != len(record["columns"]):
                raise BadRecord(f"{name}: record {number}: expected {len(record['columns'])} cells, found {row}")
    dates = [record["date"] for record in benchmark["records"]]
    if not dates or dates != sorted(dates):
        raise BadRecord(f"{name}: expected records ordered by date, found {dates}")
    return benchmark


def read_all():
    paths = {path.stem: path for path in sorted((ROOT / "bench").glob("*.json"))}
    order = [name for name in FIRST if name in paths] + [name for name in paths if name not in FIRST]
    return {name: checked(paths[name]) for name in order}


def table(columns, rows):
    return "\n".join("| " + " | ".join(row).rstrip() + " |" for row in [columns, *rows]).replace(
        "|\n", "|\n|" + "---|" * len(columns) + "\n", 1)


def section(benchmark):
    record = benchmark["records"][-1]
    commit = f", commit \"{record['commit']}\"" if "commit" in record else ""
    if record["command"] == "not in the repository":
        command = "a program that is not in the repository"
    elif record["command"] == "not noted":
        command = "command not noted"
    else:
        command = f"`{record['command']}`"
    source = f"{record['date']}, {record['machine']}{commit}; {command}; [history]({benchmark['history']})."
    return f"## {benchmark['title']}\n\n{benchmark['about']} {source}\n\n{table(record['columns'], record['rows'])}"


def short_row(name, benchmark):
    record = benchmark["records"][-1]
    return [benchmark["title"], benchmark["headline"], f"{record['date']}, {record['machine']}",
            f"[records](../bench/{name}.json), [history]({benchmark['history']})"]


def page():
    benchmarks = read_all()
    sections = [section(benchmark) for benchmark in benchmarks.values() if "headline" not in benchmark]
    short = [short_row(name, benchmark) for name, benchmark in benchmarks.items() if "headline" in benchmark]
    last = "## Other benchmarks\n\n" + table(["benchmark", "result", "date, machine", "more"], short)
    return "\n\n".join([INTRO, *sections, last]) + "\n"


def main():
    path = ROOT / "docs/results.md"
    text = page()
    lines = text.count("\n")
    if lines > PAGE_LINES:
        raise BadRecord(f"docs/results.md: {lines} lines, expected {PAGE_LINES} at most")
    if "--check" not in sys.argv[1:]:
        path.write_text(text)
    elif path.read_text() != text:
        raise BadRecord("docs/results.md differs from the records: run scripts/make/results.py")
    print(f"docs/results.md: {lines} lines")


if __name__ == "__main__":
    try:
        main()
    except BadRecord as problem:
        sys.exit(str(problem))
