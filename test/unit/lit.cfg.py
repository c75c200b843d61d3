# Unit programs (GoogleTest). They run in the environment of the caller.
import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(__file__)))
import tier_format

config.name = "kedge-unit"
config.test_format = tier_format.UnitPrograms(".", "", test_prefix="kedge-unit")
config.test_source_root = os.path.join(config.kedge_binary_dir, "bin")
config.test_exec_root = os.path.join(config.kedge_binary_dir, "test/unit")
config.environment.update(os.environ)
