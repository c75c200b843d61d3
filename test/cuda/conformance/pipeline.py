#!/usr/bin/env python3
"""A mesh of pipeline x data on simulated GPUs against one rank's trace: pipeline.py GOLDEN TEMP STEPS SCHEDULE...."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "ranks"))
from others import expect_near  # noqa: E402
from meshes import near  # noqa: E402
from tensor import SGD, gpt  # noqa: E402


def main():
    golden, temp, steps = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
    options = [*SGD, "--clip-norm", "0.3", "--accumulate", "2"]
    log, weights = gpt(golden, temp).run("", *options, steps=steps)
    for schedule in sys.argv[4:]:
        (temp / schedule).mkdir(exist_ok=True)
        half = gpt(golden, temp / schedule, 2)
        found, own = half.run("pipeline=2,data=2", *options, "--zero", "2", "--bucket-bytes", "16KiB", "--pipeline-schedule", schedule, steps=steps)
        near(found, log)
        expect_near(own, weights)
        print(f"{schedule}: {len(found)} steps on four GPUs as on one")


if __name__ == "__main__":
    main()
