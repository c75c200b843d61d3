"""The formats of lit's tests: shell tests of the tier that is asked for, and unit programs. A module of its own, since workers look
the classes up."""
import os
import pathlib
import shutil

import lit.formats
import lit.Test


class Tier(lit.formats.ShTest):
    def __init__(self, left_out, keep):
        super().__init__(execute_external=False)
        self.left_out, self.keep = left_out, keep

    def execute(self, test, lit_config):
        """What a test wrote is kept where it failed: all of it together is 8 GB."""
        result = super().execute(test, lit_config)
        if result.code is lit.Test.PASS and not self.keep:
            remove_written(pathlib.Path(test.getExecPath()))
        return result

    def getTestsInDirectory(self, *place):
        return (test for test in super().getTestsInDirectory(*place) if "/".join(test.path_in_suite) not in self.left_out)


def remove_written(test):
    for written in (test.parent / "Output").glob(f"{test.name}.*"):
        if written.is_dir() and not written.is_symlink():
            shutil.rmtree(written, ignore_errors=True)
        else:
            written.unlink(missing_ok=True)


class UnitPrograms(lit.formats.GoogleTest):
    """The longest in shards; in others tests may rest on what the tests before them have seen."""
    SHARDED = {"kedge-unit-gpu", "kedge-unit-runtime", "kedge-unit-cuda"}

    def get_num_tests(self, path, *configuration):
        if path.endswith(".json"): # a report of another run
            return 0
        number = super().get_num_tests(path, *configuration)
        return number if number is None or os.path.basename(path) in self.SHARDED else min(number, 1)
