# Unit programs (GoogleTest). They run in the environment of the caller.
import glob
import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(__file__)))
import tier_format

config.name = "kedge-unit"
config.test_format = tier_format.UnitPrograms(".", "", test_prefix="kedge-unit")
config.test_source_root = os.path.join(config.kedge_binary_dir, "bin")
config.test_exec_root = os.path.join(config.kedge_binary_dir, "test/unit")
config.environment.update(os.environ)
# Reports that a run left when it was stopped would be taken for programs; each is named by the process of its run.
for report in glob.glob(os.path.join(config.test_source_root, "kedge-unit*-kedge-unit-*.json")):
    if not os.path.exists(f"/proc/{report.rsplit('-kedge-unit-', 1)[1].split('-')[0]}"):
        os.remove(report)
