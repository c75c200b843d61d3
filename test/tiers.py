"""Which tests belong to the long tier (test/tiers.txt), and which of them a change asks for."""
import pathlib
import re
import subprocess
from typing import NamedTuple

TESTS = pathlib.Path(__file__).resolve().parent


class Long(NamedTuple):
    """A test of the long tier."""
    test: str
    witness: str
    rooms: list


def long_tests(path=TESTS / "tiers.txt"):
    rows = (line.split() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#"))
    return [Long(row[0], row[1] if len(row) > 1 else "", row[2:]) for row in rows]


def exists(test, place=TESTS):
    """Of a file: it is there; of a test in a unit program, PROGRAM/SUITE.NAME: a source of the program has it."""
    if not test.startswith("kedge-unit-"):
        return bool(test) and (place / test).exists()
    program, _, name = test.removeprefix("kedge-unit-").partition("/")
    suite, _, case = name.partition(".")
    declared = re.compile(rf"TEST(_F|_P)?\({re.escape(suite)},\s*{re.escape(case)}\)")
    return any(declared.search(file.read_text()) for folder in (place / "unit").glob("*") if folder.name.lower() == program
               for file in folder.rglob("*.cpp"))


def changed_since(commit):
    """The files that differ from a commit, with those that git does not know yet."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=TESTS.parent, check=True, capture_output=True, text=True).stdout.splitlines()
    return git("diff", "--name-only", commit, "--", ".") + git("ls-files", "--others", "--exclude-standard")


def left_out(tier, since=None):
    """The tests that a run leaves out: none of `all`, the long ones of `quick` but for those whose rooms differ from `since`."""
    if tier == "all":
        return set()
    changed = changed_since(since) if since else []
    asked = lambda row: any(file.startswith(room.rstrip("/") + "/") for file in changed for room in row.rooms)
    return {row.test for row in long_tests() if not asked(row)}
