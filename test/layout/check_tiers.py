"""Each test of the long tier is there, and so is its quick witness: check_tiers.py [TESTS]."""
import pathlib
import sys

TESTS = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
TESTS = TESTS if TESTS.is_dir() else TESTS.parents[1]
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import tiers


def findings():
    rows = tiers.long_tests(TESTS / "tiers.txt")
    names = [row.test for row in rows]
    for row in rows:
        if not tiers.exists(row.test, TESTS):
            yield f"{row.test}: there is no such test"
        if names.count(row.test) > 1:
            yield f"{row.test}: stands twice"
        if not tiers.exists(row.witness, TESTS):
            yield f"{row.test}: expected a quick witness, found '{row.witness}', which is no test"
        if row.witness in names:
            yield f"{row.test}: expected a quick witness, found '{row.witness}', which is long itself"
        for room in row.rooms or [""]:
            if not room or not (TESTS.parent / room).is_dir():
                yield f"{row.test}: expected rooms whose change asks for it, found '{room}'"


found = list(findings())
print("\n".join(found) or "each long test has a quick witness")
sys.exit(1 if found else 0)
