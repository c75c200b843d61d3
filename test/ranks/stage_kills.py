#!/usr/bin/env python3
"""A rank of a pipeline is lost: stage_kills.py GOLDEN TEMP. In every phase of a schedule the job ends in bounded time, and says which
stage is gone, and which transfer of which micro-batch another stage waited for.

A stopped rank (SIGSTOP) has all others wait for it where the schedule has them; then it is killed.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

GOLDEN, TEMP = (pathlib.Path(argument) for argument in sys.argv[1:3])
LAUNCH = ["mpirun", "--allow-run-as-root", "--oversubscribe"]
WITHIN = 40  # seconds, on a busy machine


def processes(program):
    """By rank, as the launcher numbers them."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "exe") == str(program):
                variables = (entry / "environ").read_bytes().split(b"\0")
                rank = next(v.split(b"=")[1] for v in variables if v.startswith(b"OMPI_COMM_WORLD_RANK="))
                found[int(rank)] = int(entry.name)
        except (OSError, StopIteration):
            pass
    return found


def lost(program, stages, rank, after):
    log = TEMP / "log.jsonl"
    log.unlink(missing_ok=True)
    data = [word for name in ("input_ids", "labels") for word in ("--data", f"{name}={GOLDEN / 'gpt' / name}.npy")]
    job = subprocess.Popen([*map(str, [*LAUNCH, "-np", stages, program, *data, "--steps", 10**7, "--threads", 1, "--log", log])],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        begin = time.time()
        while (not log.exists() or log.stat().st_size == 0) and time.time() - begin < WITHIN and job.poll() is None:
            time.sleep(0.05)
        time.sleep(after)
        victim = processes(program)[rank]
        os.kill(victim, signal.SIGSTOP)
        time.sleep(0.3)
        os.kill(victim, signal.SIGKILL)
        _, text = job.communicate(timeout=WITHIN)
    finally:
        job.kill()
    assert job.returncode != 0, text
    assert f"rank {rank} (stage {rank}) is gone" in text, text
    return re.findall(r"of (micro-batch \d+) at", text)


TEMP.mkdir(parents=True, exist_ok=True)
waited = []
for stages, schedule in ((2, "1f1b"), (4, "gpipe")):
    program = (TEMP / f"program-{stages}").absolute()
    subprocess.run(["kedge", "compile", GOLDEN / "gpt" / "model.onnx", "--shape", "input_ids=4x24", "--loss", "cross-entropy", "--accumulate",
                    "3", "--mesh", f"pipeline={stages}", "--pipeline-schedule", schedule, "-o", program], check=True, capture_output=True)
    for trial in range(6):
        waited += lost(program, stages, trial % stages, 0.013 * trial)
print(f"{len(waited) >= 6} and {len(set(waited)) >= 2}: others waited for a named micro-batch")
