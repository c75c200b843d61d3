#!/usr/bin/env python3
"""axis.py MODEL FOLDER: ranks with positions of their own. Losses and norms are one rank's on every mesh; each rank holds and sends what was planned,
by formulas; what is not available says so; a killed rank ends in an error."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from golden import LAYERS, LENGTH, ROWS, WIDTH, Golden, check

case = Golden(*sys.argv[1:3])
one = case.run(case.compile("one"), "--steps", 20)

report = case.folder / "memory.json"
two = case.compile("two", "--mesh", "context=2")
check(case.run(two, "--steps", 20, "--memory-report", report, ranks=2), one, "context=2")
plan = json.loads(case.do(two, "--plan"))
for rank in range(2):
    own = json.loads((report if rank == 0 else report.with_name(f"memory.rank-{rank}.json")).read_text())
    for key in ("arena_bytes", "state_bytes", "communication"):
        assert own[key] == plan[key], (rank, key, own[key], plan[key])

# Keys and values go to all ranks, and their gradients come back; gradients of parameters go as over `data`.
parameters = plan["state_bytes"]["parameters"] // 4
tensor = ROWS * LENGTH * WIDTH
sent = {row["collective"]: row["elements"] for row in plan["communication"] if row["axis"] == "context" and row["type"] == "f32"}
assert sent["all_gather"] == parameters + 2 * LAYERS * tensor, (sent, parameters)
assert sent["reduce_scatter"] == parameters + 2 * LAYERS * tensor, (sent, parameters)

check(case.run(case.compile("four", "--mesh", "data=2,context=2", rows=2), "--steps", 20, ranks=4), one, "data=2,context=2")


def is_rank_1(process):
    try:
        return (os.readlink(f"/proc/{process}/exe") == str(two)
                and b"OMPI_COMM_WORLD_RANK=1" in pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0"))
    except OSError:
        return False


log = case.folder / "killed.jsonl"
job = subprocess.Popen(case.launched(two, 2, "--steps", 1000000, "--log", log), stderr=subprocess.PIPE, text=True)
end = time.time() + 60
while time.time() < end and not (log.exists() and log.read_text().count("\n") > 3):
    time.sleep(0.05)
victim = next(number for number in map(int, filter(str.isdigit, os.listdir("/proc"))) if is_rank_1(number))
os.kill(victim, signal.SIGKILL)
_, said = job.communicate(timeout=120)
assert job.returncode != 0 and "rank 1" in said, said

for options, words in ((["--mesh", "context=5"], "do not divide"), (["--mesh", "context=2,tensor=2"], "'tensor' is not available yet"),
                       (["--mesh", "context=2,pipeline=2"], "'pipeline' is not available yet"), (["--mesh", "context=2", "--documents"], "--documents is not available yet"),
                       (["--mesh", "context=2", "--same-bits", 2], "--same-bits is not available yet"),
                       (["--mesh", "context=2", "--target", "cuda"], "--target cuda is not available yet")):
    said = case.refused(*options)
    assert words in said, (options, said)
print("ranks with positions of their own train as one does")
