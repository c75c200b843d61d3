"""What a terminal shows while rows are compared, and that a pipe shows nothing: compare_progress.py COMMAND..."""
import os
import pty
import re
import subprocess
import sys

pid, terminal = pty.fork()
if pid == 0:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execvp(sys.argv[1], sys.argv[1:])
text = b""
try:
    while piece := os.read(terminal, 65536):
        text += piece
except OSError:
    pass
assert os.waitpid(pid, 0)[1] == 0, text
rows = re.findall(r"comparing, (\d+) of (\d+): (\w+)", text.decode())
assert ("1", "6", "none") in rows and {row[1] for row in rows} == {"6"}, text
assert text.endswith(b"\r\x1b[K"), "the line is not removed: " + repr(text[-80:])
assert not subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
print("rows under way, line removed; nothing in a pipe")
