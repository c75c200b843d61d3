#!/usr/bin/env python3
"""Whether recomputation changes nothing but memory.

recompute.py FOLDER[#RUN][+OPTIONS] TEMP OPTION... -- compiles the golden model in FOLDER (always with OPTIONS, such as
"+--precision bf16") without and with each OPTION (one string, as on the command line), runs both, and checks: equal numbers to the bit; the measured report has the plan's figures;
the transient peak is not above that of `none`. An option that ends in `!` must lower the peak and run launches again;
one that ends in `?` may be infeasible, and compiles at the budget that it then names.
"""
import json
import os
import re
import shlex
import subprocess
import sys

TIMINGS = ("seconds", "tokens_per_second", "samples_per_second", "memory_bytes")
STEPS = "12"
SAME_AS_PLAN = ("arena_bytes", "functions", "recompute", "peak_breakdown", "state_bytes", "unconstrained_peak_bytes")


def words(value):
    return value if isinstance(value, list) else shlex.split(value)


def kedge(*arguments):
    return subprocess.run(["kedge", *arguments], capture_output=True, text=True)


def transient(report):
    return max(f["transient_peak_bytes"] for f in report["functions"])


class Golden:
    def __init__(self, folder, temp):
        folder, _, always = folder.partition("+")
        folder, _, run = folder.partition("#")
        self.folder, self.temp = folder, temp
        trace = json.load(open(os.path.join(folder, "trace.json")))
        runs = trace.get("runs", {"": trace})  # ../shared has several a model
        self.run = runs[run or next(iter(runs))]
        self.run = {**self.run, "compile": words(self.run["compile"]) + words(always)}
        self.data = [w for k, v in trace["data"].items() for w in ("--data", f"{k}={folder}/{v}")]
        self.model = os.path.join(folder, "model.onnx")

    def train(self, name, options):
        program, log, memory = (f"{self.temp}.{name}{end}" for end in ("", ".jsonl", ".json"))
        done = kedge("compile", self.model, *words(self.run["compile"]), *options, "-o", program)
        if done.returncode == 2:
            return None, done.stderr
        if done.returncode:
            sys.exit(done.stderr)
        run = words(self.run["run"])
        run[run.index("--steps") + 1] = STEPS
        done = subprocess.run([program, *self.data, *run, "--log", log, "--memory-report", memory],
                              capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        steps = [{k: v for k, v in json.loads(line).items() if k not in TIMINGS} for line in open(log)]
        return steps, json.load(open(memory))

    def plan(self, options):
        done = kedge("plan", self.model, *words(self.run["compile"]), *options, "--json")
        return done.returncode, json.loads(done.stdout)


def smallest_budget(option, message):
    budget = re.fullmatch(r"smallest feasible budget: (\d+) bytes", message.strip().splitlines()[-1])
    if not budget:
        sys.exit(f"{option}: the last line is not the smallest feasible budget:\n{message}")
    return re.sub(r"--memory-budget \S+", f"--memory-budget {budget[1]}", option.rstrip("?"))


class Trained:
    """A run with an option, at the smallest feasible budget where the option allows for that and asks for less."""

    def __init__(self, golden, option):
        self.option, self.mark = option, option[-1] if option[-1] in "!?" else ""
        self.options = words(option.rstrip("!?"))
        self.steps, self.report = golden.train("with", self.options)
        if self.steps is not None:
            return
        if self.mark != "?":
            sys.exit(f"{option}: does not fit:\n{self.report}")
        self.__init__(golden, smallest_budget(option, self.report))

    def planned(self, golden, keys):
        """The plan, whose figures the program must report."""
        code, planned = golden.plan(self.options)
        for key in keys:
            if code or self.report.get(key) != planned.get(key):  # "offload" is there where states are moved
                sys.exit(f"{self.option}: exit {code}; the program reports {key} {self.report[key]}, "
                         f"the plan {planned[key]}")
        return planned


def check(golden, base, option):
    steps, none = base
    trained = Trained(golden, option)
    option, mark, report = trained.option, trained.mark, trained.report
    if trained.steps != steps:
        sys.exit(f"{option}: other numbers than without")
    planned = trained.planned(golden, SAME_AS_PLAN)
    # What sanitizers keep beside each allocation is measured, too, and no part of a plan.
    if report["peak_bytes"] > planned["peak_bytes"] and "ASAN_OPTIONS" not in os.environ:
        sys.exit(f"{option}: {report['peak_bytes']} bytes were held, {planned['peak_bytes']} planned: {report['reservations']}")
    if planned["budget_bytes"] and planned["peak_bytes"] > planned["budget_bytes"]:
        sys.exit(f"{option}: {planned['peak_bytes']} bytes in a budget of {planned['budget_bytes']}")
    if transient(report) > transient(none) or (mark == "!" and transient(report) == transient(none)):
        sys.exit(f"{option}: transient peak {transient(report)}, without {transient(none)}")
    if mark == "!" and not report["recompute"]["ops"]:
        sys.exit(f"{option}: nothing is computed again")
    print(f"{option}: equal, {transient(report)} of {transient(none)} transient bytes, "
          f"{report['recompute']['ops']} launches again")


def main():
    golden = Golden(sys.argv[1], sys.argv[2])
    base = golden.train("none", [])
    for option in sys.argv[3:]:
        check(golden, base, option)


if __name__ == "__main__":
    main()
