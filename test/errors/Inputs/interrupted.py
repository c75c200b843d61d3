"""`kedge compile` ended by signals at moments all over its run: interrupted.py FOLDER COMMAND... The whole program is there, or
nothing, also of the temporary folder."""
import os
import signal
import subprocess
import sys
import time

folder, command = sys.argv[1], [*sys.argv[2:], "-o", os.path.join(sys.argv[1], "program")]
environment = {**os.environ, "TMPDIR": folder}
begin = time.monotonic()
subprocess.run(command, env=environment, check=True, capture_output=True)
length, ended = time.monotonic() - begin, 0
with open(command[-1], "rb") as file:
    whole = file.read()
os.unlink(command[-1])


def is_whole():
    with open(command[-1], "rb") as file:
        return file.read() == whole


MOMENTS = 14
for moment in range(MOMENTS):
    number = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)[moment % 3]
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(length * (moment + 1) / (MOMENTS + 1))
    child.send_signal(number)
    code, left = child.wait(), os.listdir(folder)
    # A signal may come when the program has its name and the command has not ended.
    if code not in (0, -number) or (left != ["program"] or not is_whole()) and (code == 0 or left):
        sys.exit(f"{number.name} after {moment + 1} of {MOMENTS} parts: exit code {code}, left {left}")
    ended += not left
    if left:
        os.unlink(command[-1])
print("nothing left behind" if ended else "no run was ended")
