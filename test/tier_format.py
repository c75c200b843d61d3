"""The formats of lit's tests: shell tests of the tier that is asked for, and unit programs. A module of its own, since workers look
the classes up."""
import os

import lit.formats


class Tier(lit.formats.ShTest):
    def __init__(self, left_out):
        super().__init__(execute_external=False)
        self.left_out = left_out

    def getTestsInDirectory(self, *place):
        return (test for test in super().getTestsInDirectory(*place) if "/".join(test.path_in_suite) not in self.left_out)


class UnitPrograms(lit.formats.GoogleTest):
    """The longest in shards; in others tests may rest on what the tests before them have seen."""
    SHARDED = {"kedge-unit-gpu", "kedge-unit-runtime", "kedge-unit-cuda"}

    def get_num_tests(self, path, *configuration):
        if path.endswith(".json"): # a report of another run
            return 0
        number = super().get_num_tests(path, *configuration)
        return number if number is None or os.path.basename(path) in self.SHARDED else min(number, 1)
