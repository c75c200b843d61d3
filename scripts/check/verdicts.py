#!/usr/bin/env python3
"""What two builds say of the tensors of the same files: verdicts.py OLD NEW FILE|FOLDER... [--markdown].

OLD and NEW are `kedge` programs. Prints each tensor whose verdict differs, and how findings that are errors differ; ends with how many
tensors there were. Files that either build cannot read are named. Where a file compiles at all is not looked at.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys


def report(program, path):
    done = subprocess.run([program, "lint", str(path), "--json"], capture_output=True, text=True)
    try:
        found = json.loads(done.stdout)
    except json.JSONDecodeError:
        return None, done.stderr.strip().splitlines()[-1:] or ["no report"]
    return found, None


def errors(found):
    return collections.Counter(f["code"] for f in found["findings"] if f["severity"] == "error")


def undecided(found):
    return {f["tensor"] for f in found["findings"] if f["code"] == "undecided-verdict"}


def compare(path, old, new, rows):
    before = {t["name"]: t for t in old["initializers"]}
    asked = undecided(new)
    for tensor in new["initializers"]:
        was = before.get(tensor["name"], {"verdict": "absent", "reason": ""})
        now = "undecided" if tensor["name"] in asked else tensor["verdict"]
        if was["verdict"] != now:
            rows.append((path, tensor["name"], f'{was["verdict"]} ({was["reason"]})', f'{now} ({tensor["reason"]})'))
    lost, gained = errors(old) - errors(new), errors(new) - errors(old)
    for code, count in sorted(lost.items()):
        rows.append((path, "", f"{count} error {code}", ""))
    for code, count in sorted(gained.items()):
        rows.append((path, "", "", f"{count} error {code}"))
    return len(new["initializers"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()
    files = [f for word in given.files for f in (sorted(pathlib.Path(word).rglob("*.onnx")) if pathlib.Path(word).is_dir() else [pathlib.Path(word)])]
    rows, tensors, unread = [], 0, []
    for path in files:
        old, old_words = report(given.old, path)
        new, new_words = report(given.new, path)
        if old is None or new is None:
            unread.append((path, *(old_words or new_words)))
            continue
        tensors += compare(path, old, new, rows)
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |" if given.markdown else "\t".join(map(str, row)))
    for path, words in unread:
        print(f"not read: {path}: {words}", file=sys.stderr)
    print(f"{len(files)} files, {tensors} tensors, {sum(1 for r in rows if r[1])} verdicts differ", file=sys.stderr)


if __name__ == "__main__":
    main()
