"""One allocation of `kedge compile` fails, the first, a later one, ...: out_of_memory.py LIBRARY FOLDER COMMAND... Each run ends
with exit code 0 or 1, and leaves the whole program or nothing."""
import os
import subprocess
import sys

library, folder, command = sys.argv[1], sys.argv[2], sys.argv[3:]
errors = whole = 0
number, step = 1, 1
while whole < 3:
    program = os.path.join(folder, "program")
    environment = {**os.environ, "LD_PRELOAD": library, "KEDGE_FAIL_ALLOCATION": str(number), "TMPDIR": folder}
    done = subprocess.run([*command, "-o", program], env=environment, capture_output=True)
    left = os.listdir(folder)
    if done.returncode not in (0, 1) or left != (["program"] if done.returncode == 0 else []):
        sys.exit(f"allocation {number}: exit code {done.returncode}, left {left}\n{done.stderr.decode()[-1000:]}")
    if done.returncode == 0:
        os.unlink(program)
    errors, whole = errors + done.returncode, whole if done.returncode else whole + (step > 1000)
    step = 1 + number // 3
    number += step
print(f"out of memory in {'many' if errors >= 20 else errors} places, no crash")
