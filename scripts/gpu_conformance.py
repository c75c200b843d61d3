#!/usr/bin/env python3
"""The conformance suite of --target cuda, on a GPU machine: what scripts/gpu_pack.py packed, run and judged.

gpu_conformance.py [PACK] [--only golden,bits,resume,sanitizer,bandwidth,step] [--out FOLDER] [--tune] [--seconds N]

Needs Python with numpy (and onnx, for the norms of exported models; torch, for the device's copy bandwidth and the
baseline), NVIDIA's driver, cuBLAS and cuDNN; compute-sanitizer where it is to run. Parts:
  golden     every fp32 run against PyTorch's trace, gradients of step 0
  bits       recomputation and budgets: equal bits
  resume     stop after 7 of 12 steps, go on: equal bits
  sanitizer  compute-sanitizer over two steps of gpt2, resnet and unet
  bandwidth  launches that move more than 200 MB: bytes a second as a share of a device copy's
  step       GPT-2 124M, B8 T1024, beside pytorch_step.py in this very run: seconds, peak bytes, the longest kernels
Prints a table for docs/results.md; exit code 1 when a part that ran failed. --tune times the products first and uses the
table. --seconds: start no part's next program after so many.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import time

# Beside this file in a pack, under test/tools in the repository.
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "test/tools"))
from gradients import gradients_differ

TIMINGS = ("seconds", "tokens_per_second", "memory_bytes")


def steps_of(log):
    return [{k: v for k, v in json.loads(line).items() if k not in TIMINGS} for line in open(log)]


def with_steps(words, steps):
    words = list(words)
    words[words.index("--steps") + 1] = str(steps)
    return words


class Suite:
    def __init__(self, options):
        self.o, self.pack = options, pathlib.Path(options.pack).resolve()
        self.out = pathlib.Path(options.out).resolve()
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)
        self.manifest = json.loads((self.pack / "manifest.json").read_text())
        self.rows, self.details, self.begin = [], [], time.monotonic()
        self.environment = dict(os.environ, LD_LIBRARY_PATH=os.pathsep.join(
            filter(None, [str(self.pack / "lib"), os.environ.get("LD_LIBRARY_PATH", "")])))

    def late(self):
        return time.monotonic() - self.begin > self.o.seconds

    def note(self, part, name, result, ok):
        self.rows.append((part, name, result, ok))
        print(f"[{time.monotonic() - self.begin:6.1f} s] {part} {name}: {result}{'' if ok else '   <-- FAILED'}", flush=True)

    def trace(self, model):
        return json.loads((self.pack / "models" / model / "trace.json").read_text())

    def run(self, program, words, before=(), timeout=300):
        if not program:
            return "was not compiled"
        command = [*before, self.pack / "programs" / program, *words]
        try:
            done = subprocess.run([str(w) for w in command], cwd=self.out, env=self.environment, capture_output=True,
                                  text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return f"took more than {timeout} s"
        if done.returncode == 0:
            return ""
        lines = (done.stderr + done.stdout).strip().splitlines() or ["no message"]
        return f"exit {done.returncode}: {lines[-1]}"

    def data(self, model):
        folder = self.pack / "models" / model
        return [w for key, file in self.trace(model)["data"].items() for w in ("--data", f"{key}={folder / file}")]

    # Parts.

    def golden(self):
        for entry in self.manifest["golden"]:
            if self.late():
                return
            title = " ".join(filter(None, (entry["model"], entry["run"], entry.get("options"))))
            self.note("golden", title, *self.judge(entry))

    def judge(self, entry):
        model, name = entry["model"], entry["run"]
        trace, folder = self.trace(model), self.pack / "models" / model
        run = trace["runs"][name]
        dumps = (trace.get("gradients") or {}).get("run") == name
        dropout, logs, onnx = "loss_std" in run, [], self.out / f"{model}-{name}.onnx"
        source = folder / run.get("model", "model.onnx")
        for seed in range(8) if dropout else [None]:
            log = self.out / f"{model}-{name}-{seed}.jsonl"
            words = [*self.data(model), *run["run"], "--log", log, "--model", source, "--export-onnx", onnx]
            words += ["--seed", str(seed)] if dropout else []
            words += ["--dump-gradients", self.out / "gradients.safetensors", "--dump-step", "0"] if dumps else []
            if problem := self.run(entry["program"], words):
                return problem, False
            logs.append(log)
        checker = [sys.executable, self.pack / "check_trace.py", folder / "trace.json", name, *logs]
        done = subprocess.run([str(w) for w in checker + ([] if dropout else ["--onnx", onnx])], capture_output=True, text=True)
        wrong = [done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr[-200:]] if done.returncode else []
        if dumps:
            wrong += gradients_differ(folder / "gradients.safetensors", self.out / "gradients.safetensors",
                                      trace["parameters_not_in_file_under_their_name"])
        return "; ".join(wrong[:3]) or ("trace and gradients" if dumps else "trace"), not wrong

    def base(self, model, name, words=()):
        """Twelve steps of a golden run: the log without timings, or a problem."""
        entry = next(e for e in self.manifest["golden"] if e["model"] == model and e["run"] == name)
        return entry, with_steps(self.trace(model)["runs"][name]["run"], 12)

    def bits(self):
        for entry in self.manifest["same_bits"]:
            if self.late():
                return
            base, words = self.base(entry["model"], entry["run"])
            logs = []
            for program in (base["program"], entry["program"]):
                logs.append(self.out / f"bits-{program}.jsonl")
                if problem := self.run(program, [*self.data(entry["model"]), *words, "--log", logs[-1]]):
                    self.note("bits", f"{entry['model']} {entry['options']}", problem, False)
                    break
            else:
                same = steps_of(logs[0]) == steps_of(logs[1])
                self.note("bits", f"{entry['model']} {entry['options']}", "equal" if same else "other numbers", same)

    def resume(self):
        for model in ("gpt2", "resnet"):
            names = [e["run"] for e in self.manifest["golden"] if e["model"] == model]
            if self.late() or not names:
                continue
            base, words = self.base(model, names[0])
            whole, parts, folder = self.out / f"whole-{model}.jsonl", self.out / f"parts-{model}.jsonl", self.out / f"ck-{model}"
            common = self.data(model)
            problem = (self.run(base["program"], [*common, *words, "--log", whole]) or
                       self.run(base["program"], [*common, *with_steps(words, 7), "--log", parts, "--checkpoint-dir", folder]) or
                       self.run(base["program"], [*common, *words, "--log", parts, "--checkpoint-dir", folder, "--resume"]))
            same = not problem and steps_of(whole) == steps_of(parts)
            self.note("resume", model, problem or ("equal" if same else "other numbers"), same)

    def sanitizer(self):
        tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        if not os.path.exists(tool):
            return self.note("sanitizer", "all", "compute-sanitizer is not here: not run", True)
        for model in ("gpt2", "resnet", "unet"):
            names = [e["run"] for e in self.manifest["golden"] if e["model"] == model]
            for check in ("memcheck", "racecheck"):
                if self.late() or not names:
                    return
                base, words = self.base(model, names[0])
                before = [tool, "--tool", check, "--error-exitcode", "9"]
                problem = self.run(base["program"], [*self.data(model), *with_steps(words, 2)], before, timeout=400)
                self.note("sanitizer", f"{model} {check}", problem or "clean", not problem)

    def copy_bandwidth(self):
        """Bytes read and written a second by a device-to-device copy of 1 GiB, the best of ten."""
        import torch
        source = torch.empty(1 << 28, device="cuda").normal_()
        target, best = torch.empty_like(source), 0
        for _ in range(12):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            target.copy_(source)
            end.record()
            torch.cuda.synchronize()
            best = max(best, 2 * source.numel() * 4 / (begin.elapsed_time(end) / 1e3))
        del source, target
        torch.cuda.empty_cache()
        return best

    def make_inputs(self, entry):
        import numpy as np
        random, words = np.random.default_rng(0), []
        for name, what in entry["inputs"].items():
            path = self.out / f"{entry['name']}-{name}.npy"
            if what["kind"] == "tokens":
                np.save(path, random.integers(0, what["below"], what["shape"], dtype=np.int64))
            else:
                np.save(path, random.standard_normal(what["shape"], dtype=np.float32))
            words += ["--data", f"{name}={path}"]
        return [*words, "--init", ".*=normal:0.02"]

    def profile(self, name, steps):
        """Median seconds of each launch of @step by its number, or a problem."""
        entry = next((e for e in self.manifest["timed"] if e["name"] == name), None)
        if entry is None:
            return None, "is not in the pack"
        trace = self.out / f"{name}-trace.json"
        words = [*self.make_inputs(entry), "--steps", steps, "--profile", trace]
        if problem := self.run(entry["program"], words, timeout=600):
            return None, problem
        times = {}
        for event in json.loads(trace.read_text())["traceEvents"]:
            if event["cat"] == "step":
                times.setdefault(event["args"]["launch"], []).append(event["dur"] / 1e6)
        return {k: sorted(v)[len(v) // 2] for k, v in times.items()}, ""

    def launches(self, name):
        path = self.pack / "launches" / f"{name}.csv"
        return [row for row in csv.DictReader(path.open()) if row["function"] == "step"] if path.exists() else []

    def bandwidth(self):
        copy = self.copy_bandwidth()
        self.note("bandwidth", "copy", f"{copy / 1e9:.0f} GB/s read and written", True)
        for name in ("wide-rows", "wide-parameter", "gpt2"):
            if self.late():
                return
            times, problem = self.profile(name, 8)
            if problem:
                self.note("bandwidth", name, problem, False)
                continue
            for row in self.launches(name):
                moved = float(row["bytes_read"]) + float(row["bytes_written"])
                seconds = times.get(int(row["launch"]))
                if row["kind"].lower() != "vector" or moved < 200e6 or not seconds:
                    continue
                share = 100 * moved / seconds / copy
                self.note("bandwidth", f"{name} {row['launch']} {row['kernel']} {row['place']}",
                          f"{moved / 1e6:.0f} MB in {seconds * 1e3:.3f} ms, {share:.0f}% of a copy", True)

    def step(self):
        entry = next((e for e in self.manifest["timed"] if e["name"] == "gpt2"), None)
        if entry is None:
            return
        log, memory = self.out / "gpt2.jsonl", self.out / "gpt2-memory.json"
        words = [*self.make_inputs(entry), "--steps", 20, "--log", log, "--memory-report", memory]
        if problem := self.run(entry["program"], words, timeout=600):
            return self.note("step", "gpt2-124m", problem, False)
        seconds = sorted(json.loads(line)["seconds"] for line in log.open())[10]
        report = json.loads(memory.read_text())
        baseline = subprocess.run([sys.executable, self.pack / "pytorch_step.py", "--device", "cuda", "--precision", "fp32",
                                   "--batch", "8", "--length", "1024"], capture_output=True, text=True)
        self.note("step", "gpt2-124m", f"{seconds * 1e3:.2f} ms, {8192 / seconds:.0f} tokens/s, {report['peak_bytes']} bytes "
                  f"(arena {report['arena_bytes']})", True)
        for line in baseline.stdout.splitlines():
            other = json.loads(line)
            self.note("step", f"pytorch {other['mode']}", f"{other['seconds'] * 1e3:.2f} ms, {other['peak_bytes']} bytes; "
                      f"time {other['seconds'] / seconds:.2f} of ours, memory {other['peak_bytes'] / report['peak_bytes']:.2f}", True)
        times, problem = self.profile("gpt2", 8)
        if not problem:
            self.breakdown(times)

    def breakdown(self, times):
        rows, whole = {int(r["launch"]): r for r in self.launches("gpt2")}, sum(times.values())
        kinds = {}
        for launch, seconds in times.items():
            kind = rows[launch]["kernel"] if launch in rows else "?"
            kind = kind if "." in kind else "generated"
            kinds[kind] = kinds.get(kind, 0) + seconds
        self.details.append("GPT-2 124M, milliseconds by kernel: " + ", ".join(
            f"{k} {1e3 * s:.2f} ({100 * s / whole:.0f}%)" for k, s in sorted(kinds.items(), key=lambda e: -e[1])))
        for launch, seconds in sorted(times.items(), key=lambda e: -e[1])[:15]:
            row = rows.get(launch, {})
            self.details.append(f"launch {launch} {row.get('kernel', '?')} {row.get('place', '')}: {1e3 * seconds:.3f} ms")

    def tune(self):
        table = {"format": 1, "entries": []}
        for entry in self.manifest["timed"] + self.manifest["golden"]:
            part = self.out / "part.json"
            if not entry["program"] or self.run_tuning(entry["program"], part):
                continue
            table["entries"] += json.loads(part.read_text())["entries"]
        (self.out / "algorithms.json").write_text(json.dumps(table))
        self.environment["KEDGE_ALGORITHMS"] = str(self.out / "algorithms.json")
        self.note("tune", "products", f"{len(table['entries'])} algorithms", bool(table["entries"]))

    def run_tuning(self, program, part):
        self.environment["KEDGE_TUNE"] = str(part)
        problem = self.run(program, [])
        del self.environment["KEDGE_TUNE"]
        return problem

    def table(self):
        machine = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"],
                                 capture_output=True, text=True).stdout.strip() if shutil.which("nvidia-smi") else "unknown GPU"
        lines = [f"{machine}; programs for {self.manifest['arch']}", "", "| part | case | result | |", "|---|---|---|---|"]
        lines += [f"| {part} | {name} | {result} | {'ok' if ok else 'FAILED'} |" for part, name, result, ok in self.rows]
        return "\n".join(lines + [""] + self.details) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pack", nargs="?", default=pathlib.Path(__file__).resolve().parent)
    parser.add_argument("--only", default="golden,bits,resume,sanitizer,bandwidth,step")
    parser.add_argument("--out", default="gpu-results")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--seconds", type=float, default=math.inf)
    suite = Suite(parser.parse_args())
    if suite.o.tune:
        suite.tune()
    for part in suite.o.only.split(","):
        try:
            getattr(suite, part)()
        except Exception as problem:  # one part must not cost the others
            suite.note(part, "all", f"{type(problem).__name__}: {problem}", False)
    text = suite.table()
    (suite.out / "table.md").write_text(text)
    print(text)
    sys.exit(any(not ok for *_, ok in suite.rows))


if __name__ == "__main__":
    main()
