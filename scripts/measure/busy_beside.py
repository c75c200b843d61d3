#!/usr/bin/env python3
"""Steps of a model while the machine is idle, and while one other process is busy: what threads lose to a displaced one.

busy_beside.py --model gpt2.onnx [--kedge build/release/bin/kedge[,OTHER]] [--shapes 4x64,1x1024] [--rounds 3] [--steps 6]
               [--threads 2] [--precision fp32] [--limit 1.1]

--model: what scripts/make/make_gpt2.py writes. Several compilers, say of two builds, are measured in turn, round by round, alone
and beside a process that spins (started here, niceness 0). A run's number is the median of its steps after two; the table has
the least of the rounds. Fair share: the busy process takes half of one processor from one of the threads, so a step
may take T/(T - 1/2) times as long. Exit code 1 when a program takes more than --limit times that. Needs an idle machine;
the load is printed beside each run.
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile

SPIN = [sys.executable, "-c", "while True: pass"]


def write_tokens(path, rows, length, below):
    """An int64 .npy file."""
    generator = random.Random(7)
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({rows}, {length}), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    values = [generator.randrange(below) for _ in range(rows * length)]
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                     struct.pack(f"<{len(values)}q", *values))


class Contender:
    def __init__(self, o, kedge, shape, folder):
        self.o, self.name = o, f"{shape} {kedge}"
        batch, length = map(int, shape.split("x"))
        self.program, self.data = folder / "program", folder / "tokens.npy"
        folder.mkdir(parents=True)
        subprocess.run([kedge, "compile", o.model, "--shape", f"input_ids={shape}", "--loss", "cross-entropy",
                        "--precision", o.precision, "-o", self.program], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        write_tokens(self.data, 4 * batch, length, o.vocabulary)
        self.log = folder / "log.jsonl"
        self.seconds = {"alone": [], "beside": []}

    def run(self, company):
        busy = [subprocess.Popen(SPIN)] if company == "beside" else []
        try:
            subprocess.run([self.program, "--data", f"input_ids={self.data}", "--data", f"labels={self.data}", "--steps",
                            str(self.o.steps), "--threads", str(self.o.threads), "--log", self.log], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        finally:
            for process in busy:
                process.kill()
                process.wait()
        steps = [json.loads(line)["seconds"] for line in self.log.read_text().splitlines()][2:]
        self.seconds[company].append(statistics.median(steps))
        print(f"{self.name} {company:6} {self.seconds[company][-1]:8.3f} s (load {os.getloadavg()[0]:.1f})", flush=True)

    def row(self):
        alone, beside = (min(self.seconds[company]) for company in ("alone", "beside"))
        fair = alone * self.o.threads / (self.o.threads - 0.5)
        print(f"| {self.name} | {alone:.3f} | {beside:.3f} | {fair:.3f} | {beside / fair:.2f} |")
        return beside / fair


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--kedge", default=str(root / "build/release/bin/kedge"))
    parser.add_argument("--shapes", default="4x64,1x1024")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--limit", type=float, default=1.1)
    for name, value in dict(rounds=3, steps=6, threads=2, vocabulary=50257).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    o = parser.parse_args()
    if o.steps < 3 or o.threads < 1:
        parser.error("--steps must be 3 at least: two are left out; --threads 1 at least")
    with tempfile.TemporaryDirectory() as folder:
        contenders = [Contender(o, kedge, shape, pathlib.Path(folder) / f"{number}-{shape}")
                      for shape in o.shapes.split(",") for number, kedge in enumerate(o.kedge.split(","))]
        for _ in range(o.rounds):
            for company in ("alone", "beside"):
                for contender in contenders:
                    contender.run(company)
        print("\n| shape, compiler | alone | beside a busy process | fair share | of it |\n|---|---|---|---|---|")
        worst = max([contender.row() for contender in contenders])
    sys.exit(worst > o.limit)


if __name__ == "__main__":
    main()
