"""Trains the golden perceptron on a Cortex-M4 under QEMU: cortex_m.py GOLDEN_FOLDER OUT. Losses are those of the program for this processor,
to the bit. in_c.py has left learner.c, learner.h and log.jsonl in OUT.
"""
import json
import pathlib
import re
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MACHINE = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]


def rows_of(path, batch, steps):
    raw = path.read_bytes()
    length, = struct.unpack("<H", raw[8:10])
    rows, width = map(int, re.search(rb"'shape': \((\d+), (\d+)\)", raw[:10 + length]).groups())
    values = struct.unpack(f"<{rows * width}f", raw[10 + length:])
    return [[values[(step * batch + row) % rows * width + at] for row in range(batch) for at in range(width)] for step in range(steps)]


def array(name, steps):
    lines = ",\n".join("  {" + ", ".join(f"{float.hex(value)}f" for value in step) + "}" for step in steps)
    return f"static const float rows_{name}[][{len(steps[0])}] = {{\n{lines}}};\n"


def main():
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    log = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    batch = int(re.search(r"learner_batch = (\d+)", (out / "learner.h").read_text()).group(1))
    steps = len(log)
    text = "".join(array(name, rows_of(folder / f"{name}.npy", batch, steps)) for name in ("input", "labels"))
    (out / "rows.h").write_text(f"{text}enum {{ ROWS_STEPS = {steps} }};\n#define ROWS_LR {log[0]['lr']!r}\n")
    image = out / "learner.elf"
    subprocess.run(["arm-none-eabi-gcc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", *MACHINE, f"-I{out}", HERE / "cortex_m.c",
                    out / "learner.c", "-T", HERE / "cortex_m.ld", "-nostartfiles", "--specs=rdimon.specs", "-lm", "-o", image], check=True)
    said = subprocess.run(["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-semihosting-config", "enable=on,target=native", "-kernel", image],
                          check=True, capture_output=True, text=True, timeout=300).stdout.split()
    wanted = [struct.pack(">d", line["loss"]).hex() for line in log]
    assert said == wanted, f"{said}\n{wanted}"
    text, data, bss = map(int, subprocess.run(["arm-none-eabi-size", image], check=True, capture_output=True, text=True).stdout.splitlines()[1].split()[:3])
    print(f"{folder.name}: {steps} losses on a Cortex-M4, to the bit those of the program; {bss + data} bytes of memory")


main()
