#!/usr/bin/env python3
"""Times a step of golden models by the Linux program on one thread, by --emit c, and by --emit web in node:
programs_in_c.py TEMP MODEL_FOLDER...

A folder has model.onnx, its data and trace.json with "compile" and "data" (test/golden), or with "runs" of such (../shared/models). Each form
makes the same steps on the same rows in turn, three times; the shortest step of each counts. Prints a table in Markdown, times as ratios to the program's.
"""
import json
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/embed"))
from in_c import InC, Result, array_of, trace_of  # noqa: E402

STEPS, ROUNDS = 30, 3
NODE = """
import { readFileSync } from "node:fs";
import { valuesOf } from "GOLDEN";
const [module, steps, ...data] = process.argv.slice(2);
const { Learner, model } = await import(module);
const learner = await Learner.load();
const rows = Object.fromEntries(data.map((pair) => {
  const [name, file] = pair.split("="), input = model.inputs.find((one) => one.name === name);
  return [name, valuesOf(new Uint8Array(readFileSync(file))).slice(0, input.shape.reduce((a, b) => a * b, 1))];
}));
let best = Infinity;
for (let step = 0; step < steps; ++step) {
  const begin = performance.now();
  learner.step(rows);
  best = Math.min(best, performance.now() - begin);
}
console.log(best / 1000);
"""


class Forms:
    def __init__(self, folder, out):
        self.folder, self.out, self.trace = folder, out, trace_of(folder)
        out.mkdir(parents=True, exist_ok=True)
        model, words = folder / "model.onnx", self.trace["compile"]
        subprocess.run(["kedge", "compile", model, *words, "-o", out / "program"], check=True, stderr=subprocess.DEVNULL)
        subprocess.run(["kedge", "compile", model, *words, "--emit", "web", "-o", out / "learner"], check=True, stderr=subprocess.DEVNULL)
        begin = time.monotonic()
        self.in_c = InC(folder, self.trace, out, ["-O3", "-march=native"])
        self.compile_seconds = time.monotonic() - begin
        self.rows = {name: data[:size * self.in_c.batch] for name, (size, _, data) in
                     ((name, array_of(folder / file)) for name, file in self.trace["data"].items())}
        (out / "time.mjs").write_text(NODE.replace("GOLDEN", (ROOT / "test/embed/golden.mjs").as_uri()))

    def data(self):
        return [f"{name}={self.folder / file}" for name, file in self.trace["data"].items()]

    def program(self):
        words = [word for pair in self.data() for word in ("--data", pair)]
        log = self.out / "log.jsonl"
        subprocess.run([self.out / "program", *words, "--steps", str(STEPS), "--threads", "1", "--log", log], check=True, stdout=subprocess.DEVNULL)
        return min(json.loads(line)["seconds"] for line in log.read_text().splitlines())

    def c(self):
        best = float("inf")
        for _ in range(STEPS):
            begin = time.perf_counter()
            assert isinstance(self.in_c.step(self.rows), Result)
            best = min(best, time.perf_counter() - begin)
        return best

    def web(self):
        words = ["node", self.out / "time.mjs", (self.out / "learner.mjs").resolve().as_uri(), str(STEPS), *self.data()]
        return float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def main():
    out = pathlib.Path(sys.argv[1])
    print("| model | program, one thread | `--emit c`, gcc -O3 | `--emit web`, node | bytes of .wasm | C compiled in |\n|---|---|---|---|---|---|")
    for folder in map(pathlib.Path, sys.argv[2:]):
        forms = Forms(folder, out / folder.name)
        times = [min(column) for column in zip(*((forms.program(), forms.c(), forms.web()) for _ in range(ROUNDS)))]
        size = (forms.out / "learner.wasm").stat().st_size
        print(f"| {folder.name} | {times[0] * 1e3:.3f} ms | {times[1] / times[0]:.1f} | {times[2] / times[0]:.1f} | {size:,} | {forms.compile_seconds:.0f} s |",
              flush=True)


if __name__ == "__main__":
    main()
