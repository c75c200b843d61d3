# Unit programs (GoogleTest), each in shards. They run in the environment of the caller.
import glob
import os

import lit.formats

config.name = "kedge-unit"
config.test_format = lit.formats.GoogleTest(".", "", test_prefix="kedge-unit")
config.test_source_root = os.path.join(config.kedge_binary_dir, "bin")
config.test_exec_root = os.path.join(config.kedge_binary_dir, "test/unit")
config.environment.update(os.environ)
# Reports of a run that was stopped would be taken for programs.
for report in glob.glob(os.path.join(config.test_source_root, "kedge-unit*.json")):
    os.remove(report)
