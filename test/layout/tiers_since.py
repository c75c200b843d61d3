"""What a change asks for of the long tier."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import tiers

tiers.changed_since = lambda commit: ["passes/Rematerialize/Blocks.cpp", "README.md"]
everything, asked = tiers.left_out("quick"), tiers.left_out("quick") - tiers.left_out("quick", "some-commit")
assert everything == {row.test for row in tiers.long_tests()} and not tiers.left_out("all")
assert asked == {row.test for row in tiers.long_tests() if "passes/Rematerialize" in row.rooms} != set(), asked
print("a change of passes/Rematerialize asks for the tests of recomputation alone")
