#!/usr/bin/env python3
"""Files for offloaded states that fail: offload_files.py GOLDEN TEMP.

A directory that is not there, and a disk without room, are errors before the first step. A file that loses its bytes in the middle of
a run is an error that names the directory; the run goes on from its newest checkpoint, in another directory, to the same losses.
kill -9 leaves nothing behind.
"""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

golden, temp = map(pathlib.Path, sys.argv[1:])
shutil.rmtree(temp, ignore_errors=True)
for name in ("files", "elsewhere"):
    (temp / name).mkdir(parents=True)
subprocess.run(["kedge", "compile", golden / "model.onnx", "--shape", "input_ids=4x24", "--loss", "cross-entropy", "--offload",
                f"optimizer={temp}/files,params={temp}/files", "-o", temp / "program"], check=True)
PROGRAM = [temp / "program", "--data", f"input_ids={golden}/input_ids.npy", "--data", f"labels={golden}/labels.npy", "--lr", "1e-3",
           "--threads", "1"]
SAVING = ["--checkpoint-dir", temp / "checkpoints", "--checkpoint-every", "4", "--log", temp / "log.jsonl"]


def said(*arguments, **more):
    done = subprocess.run([*PROGRAM, "--steps", "1", *arguments], capture_output=True, text=True, **more)
    return f"exit code {done.returncode}, {done.stderr.strip().splitlines()[-1]}".replace(str(temp), "TEMP")


def openFile(process):
    """The descriptor of the file without a name, through which it can be reached."""
    for entry in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
        target = os.readlink(entry)
        if target.startswith(f"{temp}/files/") and target.endswith("(deleted)"):
            return entry


def started():
    process = subprocess.Popen([*PROGRAM, *SAVING, "--steps", "1000000"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not list((temp / "checkpoints").glob("step-*/manifest.json")):
        time.sleep(0.005)
    return process


def losses(log):
    return {row["step"]: row["loss"] for row in map(json.loads, open(log))}


print("no directory:", said("--offload-dir", f"{temp}/none"))
print("no room:", said(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536)), restore_signals=False))

process = started()
os.truncate(openFile(process), 4096)
errors = process.communicate(timeout=60)[1].replace(str(temp), "TEMP")
print(f"no bytes: exit code {process.returncode}, {errors.strip().splitlines()[-1]}")
last = max(int(folder.name.split("-")[1]) for folder in (temp / "checkpoints").glob("step-*"))
end = ["--steps", str(last + 4)]
subprocess.run([*PROGRAM, *SAVING, *end, "--resume", "--offload-dir", temp / "elsewhere"], check=True, capture_output=True)
subprocess.run([*PROGRAM, *end, "--log", temp / "whole.jsonl"], check=True, capture_output=True)
whole, resumed = losses(temp / "whole.jsonl"), losses(temp / "log.jsonl")
print("resumed:", all(resumed[step] == whole[step] for step in whole))

shutil.rmtree(temp / "checkpoints")
process = started()
process.kill()
process.wait()
print("left behind:", os.listdir(temp / "files") + os.listdir(temp / "elsewhere"))
