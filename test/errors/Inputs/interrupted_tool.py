"""`kedge` ended by a signal while a tool that it runs has files open in the temporary folder and leaves them there:
interrupted_tool.py FOLDER TOOL COMMAND... Nothing may be left, and the tool has ended, too."""
import os
import signal
import subprocess
import sys
import time

folder, tool = os.path.abspath(sys.argv[1]), sys.argv[2]
temporary, tools, started = (os.path.join(folder, name) for name in ("temporary", "bin", "started"))
os.makedirs(temporary)
os.makedirs(tools)
SCRIPT = """#!/bin/sh
echo object > "$TMPDIR/ccAbCdEf.cdtor.c"
mkdir -p "$TMPDIR/inner/folder" && echo text > "$TMPDIR/inner/folder/file"
echo $$ > {started}.part && mv {started}.part {started}
exec sleep 600
"""
with open(os.path.join(tools, tool), "w") as file:
    file.write(SCRIPT.format(started=started))
os.chmod(file.name, 0o755)
environment = {**os.environ, "TMPDIR": temporary, "PATH": tools + ":" + os.environ["PATH"], "CUDA_HOME": folder}
child = subprocess.Popen([*sys.argv[3:], "-o", os.path.join(folder, "program")], env=environment, stderr=subprocess.PIPE, text=True)
while not os.path.exists(started):
    if child.poll() is not None:
        sys.exit(f"{tool} was not started: exit code {child.returncode}: {child.stderr.read()}")
    time.sleep(0.01)
before = sum(len(files) for _, _, files in os.walk(temporary))
child.send_signal(signal.SIGTERM)
code, left = child.wait(), os.listdir(temporary)
if code != -signal.SIGTERM or left or os.path.exists(os.path.join(folder, "program")):
    sys.exit(f"exit code {code}, left {left}")
deadline = time.time() + 10
while os.path.exists(f"/proc/{open(started).read().strip()}/exe"):
    if time.time() > deadline:
        sys.exit(f"{tool} still runs")
    time.sleep(0.01)
print(f"{before} files are gone")
