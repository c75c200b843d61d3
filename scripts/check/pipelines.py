#!/usr/bin/env python3
"""Golden models on stages of a pipeline, by every schedule and number of micro-batches, against one rank.

pipelines.py GOLDEN TEMP [--json FILE] [--models NAME...] [--stages 2 4] [--micro 1 2 ... 8] [--steps 6]

Each program trains with the flags of its model's trace. Losses are within 1e-5 and gradient norms within 1e-4 of one rank's
with as many micro-batches, and with 1 and 8 micro-batches each rank's arena is the planned one. A model with too few places to cut is counted
apart. Kedge and mpirun are taken from PATH.
"""
import argparse
import json
import pathlib
import subprocess
import sys

SCHEDULES = ["gpipe", "1f1b", "interleaved=2", "zero-bubble"]
MODELS = ["gpt", "perceptron", "convnet", "recurrent", "keras"]
LOSS, NORM = 1e-5, 1e-4


def run(command, code=0):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if code is not None and done.returncode != code:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}: {done.stdout[-500:]}{done.stderr[-2000:]}")
    return done


class Model:
    def __init__(self, folder, temp, steps):
        self.folder, self.temp, self.steps, self.logs = folder, temp, steps, {}
        self.trace = json.loads((folder / "trace.json").read_text())

    def compile(self, micro, *more):
        return run(["kedge", "compile", self.folder / "model.onnx", *self.trace["compile"], "--accumulate", micro, *more, "-o",
                    self.temp / "program"], code=None)

    def train(self, ranks):
        flags = dict(zip(self.trace["run"][::2], self.trace["run"][1::2])) | {"--steps": self.steps, "--threads": 1}
        data = [word for key, file in self.trace["data"].items() for word in ("--data", f"{key}={self.folder / file}")]
        launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", ranks] if ranks > 1 else []
        log, report = self.temp / "log.jsonl", self.temp / "memory.json"
        for old in self.temp.glob("*.json*"):
            old.unlink()
        run([*launcher, self.temp / "program", *data, *(word for pair in flags.items() for word in pair), "--log", log, "--memory-report", report])
        return [json.loads(line) for line in log.read_text().splitlines()]

    def one_rank(self, micro):
        if micro not in self.logs:
            done = self.compile(micro)
            if done.returncode:
                sys.exit(done.stderr)
            self.logs[micro] = self.train(1)
        return self.logs[micro]

    def check_memory(self, *options):
        """The arena of every rank is that of its row in the plan."""
        plan = json.loads(run(["kedge", "plan", self.folder / "model.onnx", *self.trace["compile"], *options, "--json"]).stdout)
        for row in plan["ranks"]:
            report = json.loads((self.temp / ("memory.json" if row["rank"] == 0 else f"memory.rank-{row['rank']}.json")).read_text())
            assert report["arena_bytes"] == row["arena_bytes"], (options, row, report["arena_bytes"])


def apart(a, b):
    return 0.0 if a == b else abs(a - b) / max(abs(a), 1e-30)


def check(model, schedule, stages, micro):
    """The largest distances of loss and norm; None: the model has too few places to cut."""
    cut = ["--mesh", f"pipeline={stages}", "--pipeline-schedule", schedule]
    done = model.compile(micro, *cut)
    if done.returncode:
        assert "has nothing to compute" in done.stderr, done.stderr
        return None
    found = model.train(stages)
    if micro in (1, 8):
        model.check_memory("--accumulate", micro, *cut)
    loss = max(apart(a["loss"], b["loss"]) for a, b in zip(model.one_rank_log, found, strict=True))
    norm = max(apart(a["grad_norm"], b["grad_norm"]) for a, b in zip(model.one_rank_log, found, strict=True))
    return loss, norm


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("golden", type=pathlib.Path)
    parser.add_argument("temp", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--stages", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--micro", nargs="+", type=int, default=list(range(1, 9)))
    parser.add_argument("--steps", type=int, default=6)
    options = parser.parse_args()
    options.temp.mkdir(parents=True, exist_ok=True)
    rows, programs, failed = [], 0, []
    for name in options.models:
        model = Model(options.golden / name, options.temp, options.steps)
        for stages in options.stages:
            for schedule in SCHEDULES:
                worst, cut = [0.0, 0.0], 0
                for micro in options.micro:
                    model.one_rank_log = model.one_rank(micro)
                    found = check(model, schedule, stages, micro)
                    if found is None:
                        continue
                    cut += 1
                    worst = [max(pair) for pair in zip(worst, found)]
                    if found[0] > LOSS or found[1] > NORM:
                        failed.append((name, stages, schedule, micro, *found))
                programs += cut
                rows.append([name, stages, schedule, cut, f"{worst[0]:.1e}", f"{worst[1]:.1e}"] if cut else
                            [name, stages, schedule, 0, "too few places to cut", ""])
                print(*rows[-1], flush=True)
    for one in failed:
        print("FAILED", *one)
    print(f"{programs} programs, {len(failed)} not as one rank")
    if options.json:
        options.json.write_text(json.dumps({"columns": ["model", "stages", "schedule", "programs", "loss apart", "norm apart"], "rows": rows}, indent=1) + "\n")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
