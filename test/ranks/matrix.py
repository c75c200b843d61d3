#!/usr/bin/env python3
"""Whether ranks train as one does: matrix.py FOLDER TEMP CASE...

FOLDER holds a golden model (model.onnx, its data, trace.json). A CASE is words: `ranks=3 rows=4 zero=2` (or, for a mesh,
`ranks=2x3`: 2 along replica, 3 along data), and if wanted
`accumulate=A`, `precision=bf16`, `norm=BOUND` (of gradient norms, instead of the losses' bound), and further options of compile after `--`, or after `++` those that one rank takes, too. `--all` stands for every stage over 1 x 12,
2 x 6, 3 x 4 and 4 x 3 rows in fp32, bf16 and fp16, plain, with two micro-batches, with a recomputation budget and with
offload; `--table` prints a row a case.

Each case trains as many steps on the same rows as one rank does with the same precision: losses and norms agree within
1e-5 (fp32) or the format's bound. Cases that differ in nothing but the stage agree to the last bit: all stages, or with
accumulation 0 with 1 and 2 with 3.
"""
import itertools
import json
import os
import shlex
import subprocess
import sys

STEPS = 20
BOUND = {"fp32": 1e-5, "bf16": 2e-2, "fp16": 4e-3}
BUCKET = "16KiB"  # several buckets even for small models


def words(value):
    return value if isinstance(value, list) else shlex.split(value)


class Case:
    def __init__(self, text):
        text, _, shared = text.partition(" ++ ")
        head, _, tail = text.partition(" -- ")
        facts = dict(word.split("=", 1) for word in head.split())
        replicas, _, data = facts["ranks"].rpartition("x")
        self.mesh = ["--mesh", f"replica={replicas},data={data}"] if replicas else ["--ranks", data]
        self.ranks, self.rows, self.stage = int(replicas or 1) * int(data), int(facts["rows"]), int(facts["zero"])
        self.accumulate = int(facts.get("accumulate", 1))
        self.precision = facts.get("precision", "fp32")
        self.norm = float(facts.get("norm", BOUND[self.precision]))
        self.options, self.shared = shlex.split(tail) + shlex.split(shared), shared.strip()
        self.name = f"{text.strip()} {shared}".strip()

    def alone(self):
        """The same rows of a step on one rank in one micro-batch."""
        rows = self.ranks * self.rows * self.accumulate
        return f"ranks=1 rows={rows} zero=0 precision={self.precision}" + (f" ++ {self.shared}" if self.shared else "")

    def kin(self):
        """Cases with which this one agrees to the bit."""
        pair = (0 if self.stage < 2 else 2) if self.accumulate > 1 else 0
        return *self.mesh, self.rows, self.accumulate, self.precision, self.shared, pair

    def key(self):
        return self.name


class Golden:
    def __init__(self, folder, temp):
        self.folder, self.temp, self.runs = folder, temp, {}
        trace = json.load(open(os.path.join(folder, "trace.json")))
        run = next(iter(trace.get("runs", {"": trace}).values()))
        self.compile, self.run = words(run["compile"]), run["run"]
        self.data = [w for k, v in trace["data"].items() for w in ("--data", f"{k}={folder}/{v}")]

    def shapes(self, rows):
        """The golden options with another number of rows."""
        options = list(self.compile)
        for at, word in enumerate(options):
            if options[at - 1] == "--shape":
                name, _, sizes = word.partition("=")
                options[at] = f"{name}={'x'.join([str(rows), *sizes.split('x')[1:]])}"
        return options

    def train(self, case):
        if case.key() in self.runs:
            return self.runs[case.key()]
        base = f"{self.temp}.{len(self.runs)}"
        golden = self.shapes(case.rows)
        replaced = ["--weight-decay-exclude"] if "--lora" in case.options else []  # what it names does not train
        for option in replaced + [word for word in case.options if word.startswith("--")]:
            if option in golden:
                at = golden.index(option)
                del golden[at:at + 2]
        command = ["kedge", "compile", f"{self.folder}/model.onnx", *golden, "--accumulate",
                   str(case.accumulate), "--precision", case.precision, *case.mesh, "--zero",
                   str(case.stage), "--bucket-bytes", BUCKET, *case.options, "-o", base]
        check(command)
        launcher = [] if case.ranks == 1 else ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(case.ranks)]
        check([*launcher, base, *self.data, "--steps", str(STEPS), "--lr", "1e-3", "--threads", "1", "--log",
               base + ".jsonl"])
        log = [json.loads(line) for line in open(base + ".jsonl")]
        os.remove(base)
        self.runs[case.key()] = log
        return log


def check(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def numbers(log):
    return [(line["loss"], line["grad_norm"], line["skipped"]) for line in log]


def apart(log, other):
    """The largest relative distances: of losses, of norms."""
    worst = {"loss": 0, "grad_norm": 0}
    for a, b in zip(log, other, strict=True):
        for key in worst:
            if a[key] is not None and b[key] is not None:
                worst[key] = max(worst[key], abs(a[key] - b[key]) / max(abs(b[key]), 1e-12))
    return worst.values()


def everything():
    for (ranks, rows), precision in itertools.product(((1, 12), (2, 6), (3, 4), (4, 3)), BOUND):
        for stage in range(4):
            head = f"ranks={ranks} rows={rows} zero={stage} precision={precision}"
            yield head
            yield head + " -- --recompute auto --memory-budget activations=90%"
            yield head + " -- --offload optimizer"
            if rows % 2 == 0:
                yield f"ranks={ranks} rows={rows // 2} zero={stage} precision={precision} accumulate=2"


def main():
    folder, temp, cases = sys.argv[1], sys.argv[2], sys.argv[3:]
    table = "--table" in cases
    cases = [case for case in cases if case != "--table"]
    golden = Golden(folder, temp)
    seen, failures = {}, []
    for case in map(Case, everything() if cases == ["--all"] else cases):
        log = golden.train(case)
        loss, norm = apart(log, golden.train(Case(case.alone())))
        first = seen.setdefault(case.kin(), (case, log))
        same = numbers(first[1]) == numbers(log)
        if table:
            print(f"| {case.name} | {max(loss, norm):.1e} | {'first of its kind' if first[0] is case else 'yes' if same else 'NO'} |",
                  flush=True)
        if loss > BOUND[case.precision] or norm > case.norm:
            failures.append(f"{case.name}: losses {loss:.2e} and norms {norm:.2e} from one rank, at most {BOUND[case.precision]} and {case.norm} expected")
        if not same:
            failures.append(f"{case.name}: not the bits of {first[0].name}: {distance_of_first(first[1], log)}")
    if failures:
        sys.exit("\n".join(failures))
    print(f"{len(golden.runs)} programs, all as one rank, stages to the bit")


def distance_of_first(log, other):
    for step, (a, b) in enumerate(zip(numbers(log), numbers(other))):
        if a != b:
            return f"step {step}: {a} and {b}"
    return "as many steps"


if __name__ == "__main__":
    main()
