# Unit programs (GoogleTest). They run in the environment of the caller.
import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(__file__)))
import tier_format
import tiers

config.name = "kedge-unit"
config.test_format = tier_format.UnitPrograms(".", "", test_prefix="kedge-unit")
config.test_source_root = os.path.join(config.kedge_binary_dir, "bin")
config.test_exec_root = os.path.join(config.kedge_binary_dir, "test/unit")
config.environment.update(os.environ)
left_out = tiers.left_out(lit_config.params.get("tier", "all"), lit_config.params.get("since"))
if long_ones := sorted(test.partition("/")[2] for test in left_out if test.startswith("kedge-unit-")):
    config.environment["GTEST_FILTER"] = "-" + ":".join(long_ones)
