"""Progress in a terminal of several widths: terminal.py PROGRAM DATA-FOLDER.

A pseudo-terminal plays the screen: lines that wrap or scroll would be seen.
"""
import fcntl
import os
import pathlib
import pty
import re
import struct
import sys
import termios

program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
STEPS, EVERY = 4000, 1000


def screen(columns):
    """What stands on the screen at the end, line by line; a line longer than the screen is one of its own."""
    pid, terminal = pty.fork()
    if pid == 0:
        words = [word for name in ("input", "labels") for flag in ("--data", "--eval-data")
                 for word in (flag, f"{name}={folder / name}.npy")]
        fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execv(program, [program, *words, "--lr", "0.05", "--steps", str(STEPS), "--eval-every", str(EVERY), "--metric", "mae"])
    text = b""
    try:
        while piece := os.read(terminal, 65536):
            text += piece
    except OSError:
        pass
    assert os.waitpid(pid, 0)[1] == 0, text
    lines = text.decode().replace("\r\n", "\n").split("\n")
    return [[part.replace("\x1b[K", "") for part in line.split("\r")] for line in lines]


for columns in (60, 80, 100, 120):
    lines = screen(columns)
    longest = max(len(part) for line in lines[1:] for part in line)
    assert longest < columns, (columns, longest)
    kept = [line[-1] for line in lines if re.match(r"step \d+/\d+  loss [\d.]+  eval loss [\d.]+", line[-1])]
    assert len(kept) == STEPS // EVERY, (columns, kept)
    assert lines[0][-1].startswith("training 4 tensors with 339 elements (0 frozen) by sgd, steps 1 to 4000"), lines[0]
    bars = [part for line in lines for part in line if re.search(r"\d+/4000  loss", part) and not part.startswith("step")]
    assert len(lines) == 1 + len(kept) + 2 and bars, (columns, len(lines))
    assert f"{STEPS}/{STEPS}  loss" in bars[-1] and ("samples/s" in bars[-1]) == (columns >= 60), bars[-1]
    assert all(bar.startswith("[") for bar in bars) or columns < 100, bars[0]
    print(f"{columns}: {len(bars)} bars of at most {longest} columns, {len(kept)} evaluations stay")
