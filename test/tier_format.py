"""The format of lit's tests: shell tests of the tier that is asked for. A module of its own, since workers look the class up."""
import lit.formats


class Tier(lit.formats.ShTest):
    def __init__(self, left_out):
        super().__init__(execute_external=False)
        self.left_out = left_out

    def getTestsInDirectory(self, *place):
        return (test for test in super().getTestsInDirectory(*place) if "/".join(test.path_in_suite) not in self.left_out)
