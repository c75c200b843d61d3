"""What a terminal, and what a pipe, gets from a long search: solver_progress.py COMMAND..."""
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
shown = text.decode().split("\x1b[K")
assert re.fullmatch(r"\rchoosing what to compute again: 0%", shown[0]), shown
assert all(re.fullmatch(r"\r(choosing what to compute again: \d+%)?", line) for line in shown[:-1]), shown
assert shown[-2:] == ["\r", ""], "the line is not removed: " + repr(shown)
assert not subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
print("one line, rewritten, removed; nothing in a pipe")
