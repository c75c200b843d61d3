#!/usr/bin/env python3
"""A run that is killed again and again: kills.py PROGRAM [--kills N] [--seed K] -- PROGRAM-OPTIONS

PROGRAM is a compiled one, the options name its data. It trains under --keep 1 with a checkpoint after every step and is
killed (SIGKILL) at random moments; damaged and foreign step-N folders are mixed in. After every kill the newest checkpoint
must be whole and not older than the one before.
"""
import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time


def newest(folder):
    """The step that --resume takes, and what it says."""
    steps = [json.loads((path / "manifest.json").read_text())["step"] for path in folder.glob("step-*")
             if is_whole(path)]
    return max(steps, default=-1)


def is_whole(path):
    try:
        manifest = json.loads((path / "manifest.json").read_text())
        return path.name == f"step-{manifest['step']}" and \
            all((path / file["name"]).stat().st_size == file["bytes"] for file in manifest["files"])
    except (OSError, ValueError, KeyError):
        return False


def disturb(folder, step, choose):
    stray = folder / f"step-{step + choose.randint(1, 40)}"
    if stray.exists():
        return
    kind = choose.randrange(4)
    if kind == 0:
        stray.mkdir()
    elif kind == 1:
        shutil.copytree(folder / f"step-{step}", stray)
        (stray / "model.safetensors").write_bytes(b"damaged")
    elif kind == 2:
        shutil.copytree(folder / f"step-{step}", stray)
        (stray / "manifest.json").write_text("{")


def main():
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=18)
    given = parser.parse_args(sys.argv[1:at])
    choose = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place) / "checkpoints"
        command = [given.program, *sys.argv[at + 1:], "--checkpoint-dir", str(folder)]
        run = ["--steps", "1000000000", "--keep", "1", "--checkpoint-every", "1"]
        subprocess.run([*command, "--steps", "3", "--keep", "1"], check=True, capture_output=True)
        step = newest(folder)
        for kill in range(given.kills):
            disturb(folder, step, choose)
            child = subprocess.Popen([*command, *run, "--resume"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(choose.uniform(0.005, 0.15))
            child.kill()
            child.wait()
            now = newest(folder)
            resumes = subprocess.run([given.program, *sys.argv[at + 1:], "--steps", "0", "--resume", str(folder)], capture_output=True, text=True)
            if now < step or resumes.returncode != 0:
                sys.exit(f"after kill {kill}: the newest whole checkpoint is of step {now}, it was {step}; {resumes.stderr}")
            step = now
    print(f"{given.kills} kills, {step} steps: a whole newest checkpoint was always there")


if __name__ == "__main__":
    main()
