#!/usr/bin/env python3
"""Long paths, names of any letters, Ctrl-C and files that others have open, of a program for Windows under wine.

windows_names.py PROGRAM MODEL_FOLDER FOLDER
"""
import pathlib
import shutil
import signal
import subprocess
import sys
import time


def main():
    program, model, folder = map(pathlib.Path, sys.argv[1:4])
    shutil.rmtree(folder, ignore_errors=True)
    deep = folder
    for part in range(4):
        deep /= f"Übung-{part}-学习-" + "x" * 80
    deep.mkdir(parents=True)
    # Longer than the 260 characters that most functions of Windows take.
    assert len(str(deep)) > 300, deep
    command = ["wine", program, "--data", f"input={model / 'input.npy'}", "--data", f"labels={model / 'labels.npy'}", "--lr", "0.1",
               "--checkpoint-dir", deep / "Prüfpunkte", "--log", deep / "log.jsonl"]
    exported = deep / "trained-é.onnx"
    subprocess.run([*command, "--steps", "5", "--export-onnx", exported], check=True, stderr=subprocess.DEVNULL)
    assert (deep / "Prüfpunkte" / "step-5" / "manifest.json").exists() and exported.stat().st_size > 100
    assert (deep / "log.jsonl").read_bytes().count(b"\n") == 5
    print(f"a checkpoint, an export and a log under a path of {len(str(deep))} characters")

    checkpoints, log = folder / "stopped", folder / "stopped.jsonl"
    command[command.index("--checkpoint-dir") + 1], command[command.index("--log") + 1] = checkpoints, log
    process = subprocess.Popen([*command, "--steps", "100000000"], stderr=subprocess.DEVNULL)
    while process.poll() is None and (not log.exists() or log.read_bytes().count(b"\n") < 20):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    code = process.wait()
    print(f"Ctrl-C: exit code {code}, checkpoints of steps {[int(at.name[5:]) for at in checkpoints.glob('step-*')]}")

    old = exported.read_bytes()
    with open(exported, "rb") as held:
        shutil.rmtree(deep / "Prüfpunkte")
        command[command.index("--checkpoint-dir") + 1] = deep / "Prüfpunkte"
        subprocess.run([*command, "--steps", "9", "--export-onnx", exported], check=True, stderr=subprocess.DEVNULL)
        assert held.read() == old and exported.read_bytes() != old
    print("an open file was replaced")


if __name__ == "__main__":
    main()
