#!/usr/bin/env python3
"""The conformance suite of --target cuda, on a GPU machine: what scripts/gpu/gpu_pack.py packed, run and judged.

gpu_conformance.py [PACK] [--round 1|2|3 | --only golden,step,...] [--tune] [--seconds N] [--golden-steps N] [--jobs N]
                   [--out FOLDER] [--work FOLDER]
gpu_conformance.py --join OUT [OUT...]

Needs Python with numpy (and onnx, for the norms of exported models; torch, for the device's copy bandwidth and the
baseline), NVIDIA's driver, cuBLAS and cuDNN; compute-sanitizer where it is to run. Parts, in their order:
  golden     every fp32 run against PyTorch's trace, gradients of step 0
  low        the same in bf16 and fp16, autocast and master
  step       GPT-2 124M, B8 T1024, in every precision, recomputed, with logits in chunks and whole, with tokens as frequent as
             words: seconds, peak bytes, the longest kernels
  baseline   the same step by pytorch_step.py (eager, compiled, tuned; bf16, fp32, TF32; a larger batch), those of `models` by
             pytorch_models.py (eager, compiled), and by llm.c
  models     a step of ResNet-50, Llama-1B and BERT
  apart      16-bit steps with cuBLASLt's epilogues, and with kernels in their place
  ncu        device times of the ten longest launches, beside --profile
  ranks      two ranks, on one GPU where there is one, with every ZeRO stage: losses of one rank
  features   the golden gpt with many options and on meshes: losses of the CPU
  kills      one of two ranks is killed, or stops: the other one ends and says why
  bandwidth  launches that move more than 200 MB: bytes a second as a share of a device copy's
  tune       times the products; what runs after it uses the table (algorithms.json in --out)
  bits       recomputation and budgets: equal bits
  resume     stop after 7 of 12 steps, go on: equal bits
  sanitizer  compute-sanitizer over two steps of gpt2, resnet and unet, the generated kernels alone; for memcheck every
             operand is an allocation of its own (KEDGE_CUDA_BLOCKS=1)
--round 1 is golden,step,baseline; 2 is low,models,ranks,features,kills,bandwidth,bits; 3 is tune,step,apart,ncu,resume,sanitizer: each fits the
ten minutes of one command.
--tune puts tune first. --seconds (540 in a round): what has not run by then is left out and said so. --golden-steps: golden
runs whose schedule allows it are cut to so many steps. --programs: those alone whose names this
regular expression finds. --jobs: golden runs at a time (a quarter of the processors).
--out (gpu-results) gets table.md, for docs/rationale/history/cuda.md, what failed programs said, and what --join makes one table
of, printed, from the folders of several rounds; exit code 1 when something that ran failed. Everything else lies in --work, a
temporary folder.
"""
import argparse
import concurrent.futures
import csv
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

# Beside this file in a pack, under test/tools in the repository.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "test/tools"))
from gpu_beside import Beside
from gpu_features import Features
from gradients import gradients_differ

TIMINGS = ("seconds", "tokens_per_second", "samples_per_second", "memory_bytes")
ROUNDS = {1: "golden,step,baseline", 2: "low,models,ranks,features,kills,bandwidth,bits", 3: "tune,step,apart,ncu,resume,sanitizer"}
# Timed models with large generated kernels.
WIDE = ("wide-rows", "wide-parameter", "gpt2")
OK, FAILED, NOT_RUN, KNOWN = "ok", "FAILED", "not run", "known"
# Runs where another order of sums leaves the norms of PyTorch's gradients, how far at most, and why: measured without a GPU,
# before one was there. Losses, weights and gradients of step 0 have to follow all the same.
KNOWN_DEVIATIONS = {("gpt2", "wsd"): (1e-3, "a spike that magnifies the order of sums: 1.4e-4 on the CPU, 4.0e-4 with plain "
                                            "sums of products"),
                    ("gpt-fp8", "fp8"): (1e-1, "rounding to 8 bits magnifies the order of sums: 4.8e-2 on the stand-ins; on the CPU 2.5e-2 "
                                               "to 4.1e-2 when initial weights change by 1e-6")}


class OutOfTime(Exception):
    pass


def steps_of(log):
    return [{k: v for k, v in json.loads(line).items() if k not in TIMINGS} for line in open(log)]


def with_steps(words, steps):
    words = list(words)
    words[words.index("--steps") + 1] = str(steps)
    return words


def cut(trace, name, steps):
    """The trace with the run's first steps alone; norms of its end go."""
    run = dict(trace["runs"][name])
    for key in ("loss", "lr", "grad_norm", "loss_scale"):
        if key in run:
            run[key] = run[key][:steps]
    if "skipped" in run:
        run["skipped"] = [step for step in run["skipped"] if step < steps]
    for key in ("parameter_norms", "buffer_norms"):
        run.pop(key, None)
    return {**trace, "runs": {name: run}}


class Suite(Beside, Features):
    def __init__(self, options):
        self.o, self.pack = options, pathlib.Path(options.pack).resolve()
        self.results = pathlib.Path(options.out).resolve()
        self.results.mkdir(parents=True, exist_ok=True)
        self.out = pathlib.Path(options.work or tempfile.mkdtemp(prefix="gpu-conformance-")).resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.manifest = json.loads((self.pack / "manifest.json").read_text())
        self.runs = self.manifest["golden"]  # all of them: parts look up what to compare with
        for part in ("golden", "same_bits", "timed", "ranks", "features"):
            self.manifest[part] = [e for e in self.manifest[part] if re.search(options.programs, str(e["program"]))]
        self.rows, self.details, self.profiles, self.measured, self.begin = [], [], {}, {}, time.monotonic()
        self.environment = dict(os.environ, LD_LIBRARY_PATH=os.pathsep.join(
            filter(None, [str(self.pack / "lib"), os.environ.get("LD_LIBRARY_PATH", "")])))

    def left(self):
        return self.o.seconds - (time.monotonic() - self.begin)

    def note(self, part, name, result, state):
        self.rows.append((part, name, result, state))
        print(f"[{time.monotonic() - self.begin:6.1f} s] {part} {name}: {result} ({state})", flush=True)

    def trace(self, model):
        return json.loads((self.pack / "models" / model / "trace.json").read_text())

    def process(self, command, timeout=600, **more):
        """A process that ends in time; raises OutOfTime when the suite's is over."""
        if self.left() <= 0:
            raise OutOfTime
        try:
            return subprocess.run([str(w) for w in command], cwd=self.out, capture_output=True, text=True,
                                  timeout=min(timeout, self.left()), **more)
        except subprocess.TimeoutExpired:
            if self.left() <= 0:
                raise OutOfTime from None
            return subprocess.CompletedProcess(command, 124, "", f"took more than {timeout} s")

    def run(self, program, words, timeout=300, **variables):
        """What went wrong, or nothing."""
        if not program:
            return "was not compiled"
        done = self.process([self.pack / "programs" / program, *words], timeout, env={**self.environment, **variables})
        if done.returncode:
            (self.results / f"{program}.txt").write_text(done.stderr + done.stdout)
        lines = (done.stderr + done.stdout).strip().splitlines() or ["no message"]
        return f"exit {done.returncode}: {lines[-1]}" if done.returncode else ""

    def data(self, model):
        folder = self.pack / "models" / model
        return [w for key, file in self.trace(model)["data"].items() for w in ("--data", f"{key}={folder / file}")]

    # Parts.

    def golden(self, part="golden"):
        def judged(entry):
            title = " ".join(filter(None, (entry["model"], entry["run"], entry.get("options"))))
            self.note(part, title, *self.judge(entry))

        entries = [entry for entry in self.manifest["golden"] if entry.get("low", False) == (part == "low")]
        with concurrent.futures.ThreadPoolExecutor(self.o.jobs) as pool:
            for done in [pool.submit(judged, entry) for entry in entries]:
                done.result()

    def low(self):
        self.golden("low")

    def judge(self, entry):
        """What is said of a golden run, and its state."""
        model, name = entry["model"], entry["run"]
        if missing := self.lacks_kernel(entry):
            return missing, FAILED
        trace, folder = self.trace(model), self.pack / "models" / model
        run, trace_file = trace["runs"][name], folder / "trace.json"
        dumps = (trace.get("gradients") or {}).get("run") == name
        own = self.out / "-".join([model, name, *entry.get("options", "").split()])  # runs at a time write their own files
        dropout, logs, onnx, gradients = "loss_std" in run, [], f"{own}.onnx", pathlib.Path(f"{own}-gradients.safetensors")
        words, short = run["run"], ""
        if self.o.golden_steps and not dropout and "--schedule" not in words:
            words, short = with_steps(words, self.o.golden_steps), f" of {self.o.golden_steps} steps"
            trace_file = pathlib.Path(f"{own}-trace.json")
            trace_file.write_text(json.dumps(cut(trace, name, self.o.golden_steps)))
        for seed in range(8) if dropout else [None]:
            log = pathlib.Path(f"{own}-{seed}.jsonl")
            log.unlink(missing_ok=True)
            line = [*self.data(model), *words, "--log", log, "--model", folder / run.get("model", "model.onnx")]
            line += ["--export-onnx", onnx] + (["--seed", str(seed)] if dropout else [])
            line += ["--dump-gradients", gradients, "--dump-step", "0"] if dumps else []
            if problem := self.run(entry["program"], line):
                return problem, FAILED
            logs.append(log)
        checker = [sys.executable, self.pack / "check_trace.py", trace_file, name, *logs]
        done = self.process(checker + ([] if dropout or short else ["--onnx", onnx]))
        wrong = list(gradients_differ(folder / "gradients.safetensors", gradients,
                                      trace["parameters_not_in_file_under_their_name"])) if dumps else []
        if done.returncode and not wrong and (known := self.known(model, name, run, done.stdout, logs[0])):
            return known, KNOWN
        if done.returncode:
            wrong = (done.stdout.strip().splitlines() or [done.stderr[-200:]])[-2:] + wrong
        return "; ".join(wrong[:3]) or ("trace" + short + (" and gradients" if dumps else "")), FAILED if wrong else OK

    def lacks_kernel(self, entry):
        """A row that is about a kernel says nothing of a program without it."""
        wanted, names = entry.get("kernel"), self.manifest["kernels"].get(entry["program"], [])
        if not wanted or not entry["program"] or any(wanted in name for name in names):
            return ""
        return f"its plan has no kernel '{wanted}', which this row is about: {len(names)} others"

    @staticmethod
    def known(model, name, run, said, log):
        """A deviation of gradient norms, and of nothing else, that is known before and within its own bound."""
        bound, why = KNOWN_DEVIATIONS.get((model, name), (0, ""))
        if not bound or not re.search(r"^outside tolerance: grad_norm at step \d+$", said, re.MULTILINE):
            return ""
        gaps = [abs(r["grad_norm"] - w) / max(w, 1e-3) for r, w in zip(steps_of(log), run["grad_norm"])]
        worst, allowed = max(gaps), 10 * run["tolerance"]["relative"] + 1e-4
        return "" if worst > bound else (f"trace, but the gradient's norm of step {gaps.index(worst)} is {worst:.1e} away, "
                                         f"{allowed:.0e} allowed and {bound:.0e} expected: {why}")

    def base(self, model, name):
        """The program of a golden run, and its words for few steps."""
        entry = next(e for e in self.runs if e["model"] == model and e["run"] == name)
        return entry["program"], with_steps(self.trace(model)["runs"][name]["run"], self.few())

    def few(self):
        return min(12, self.o.golden_steps or 12)

    def bits(self):
        logs = {}
        for entry in self.manifest["same_bits"]:
            base, words = self.base(entry["model"], entry["run"])
            title, problem = f"{entry['model']} {entry['options']}", ""
            for program in (base, entry["program"]):
                if program in logs or problem:
                    continue
                log = self.out / f"bits-{program}.jsonl"
                problem = self.run(program, [*self.data(entry["model"]), *words, "--log", log])
                logs[program] = "" if problem else steps_of(log)
            same = not problem and logs[base] == logs[entry["program"]]
            self.note("bits", title, problem or ("equal" if same else "other numbers"), OK if same else FAILED)

    def models_of(self, names):
        """Those that are in the pack, with their first run."""
        for model in names:
            if runs := [e["run"] for e in self.runs if e["model"] == model]:
                yield model, runs[0]

    def resume(self):
        for model, name in self.models_of(("gpt2", "resnet")):
            program, words = self.base(model, name)
            whole, parts, folder = self.out / f"whole-{model}.jsonl", self.out / f"parts-{model}.jsonl", self.out / f"ck-{model}"
            common, first = self.data(model), with_steps(words, self.few() * 7 // 12)
            problem = (self.run(program, [*common, *words, "--log", whole]) or
                       self.run(program, [*common, *first, "--log", parts, "--checkpoint-dir", folder]) or
                       self.run(program, [*common, *words, "--log", parts, "--checkpoint-dir", folder, "--resume"]))
            same = not problem and steps_of(whole) == steps_of(parts)
            self.note("resume", model, problem or ("equal" if same else "other numbers"), OK if same else FAILED)

    def sanitizer(self):
        tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        if not os.path.exists(tool):
            return self.note("sanitizer", "all", "compute-sanitizer is not here", NOT_RUN)
        choosing = "--kernel-name " in self.process([tool, "--help"]).stdout
        for model, name in self.models_of(("gpt2", "resnet", "unet")):
            for check in ("memcheck", "racecheck"):
                self.note("sanitizer", f"{model} {check}", *self.sanitize(tool, check, model, name, choosing))

    def sanitize(self, tool, check, model, name, choosing):
        program, words = self.base(model, name)
        report = self.out / f"{model}-{check}.json"
        command = [tool, "--tool", check, "--error-exitcode", "9"]
        if choosing:
            command += [w for kernel in self.manifest["kernels"][program] for w in ("--kernel-name", f"kernel_name={kernel}")]
        command += [self.pack / "programs" / program, *self.data(model), *with_steps(words, 2), "--memory-report", report]
        blocks = {"KEDGE_CUDA_BLOCKS": "1"} if check == "memcheck" else {}
        done = self.process(command, 400, env={**self.environment, **blocks})
        said = done.stdout + done.stderr
        summary = re.search(r"(?:ERROR|RACECHECK) SUMMARY: (.*)", said)
        if not summary:  # as on machines whose devices it does not take
            return f"compute-sanitizer does not work here: {(said.strip().splitlines() or ['no message'])[0]}", NOT_RUN
        if done.returncode:
            first = next((line for line in said.splitlines() if re.match(r"=+ *(Invalid|Error|Race|Hazard|Program)", line)), "")
            return f"exit {done.returncode}: {summary[1]} {first}".strip(), FAILED
        found = json.loads(report.read_text())["device"].get("own_blocks") if blocks else None
        if blocks and not found["launches"]:
            return "no launch had operands of its own", FAILED
        return "clean" + (f"; {found['launches']} launches on operands of their own, {found['others']} in the arena"
                          if found else ""), OK

    @staticmethod
    def torch():
        """PyTorch, where it is there and sees a GPU."""
        try:
            import torch
            return torch if torch.cuda.is_available() else None
        except ImportError:
            return None

    def copy_bandwidth(self):
        """Bytes read and written a second by a device-to-device copy of 1 GiB, the best of ten."""
        if not (torch := self.torch()):
            return None
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
            elif what["kind"] == "words":  # the n-th as often as 1 / (n + 2.7), as Zipf and Mandelbrot found of texts
                often = 1 / (np.arange(what["below"]) + 2.7)
                np.save(path, random.choice(what["below"], what["shape"], p=often / often.sum()))
            else:
                np.save(path, random.standard_normal(what["shape"], dtype=np.float32))
            words += ["--data", f"{name}={path}"]
        return [*words, "--init", ".*=normal:0.02"]

    def profile(self, entry):
        """Median seconds of each launch of @step by its number, or a problem; once for each table of algorithms."""
        key = entry["name"], self.environment.get("KEDGE_ALGORITHMS")
        if key not in self.profiles:
            self.profiles[key] = self.measure_launches(entry)
        return self.profiles[key]

    def measure_launches(self, entry):
        """The plan's table must name these launches."""
        name, trace = entry["name"], self.out / f"{entry['name']}-trace.json"
        words = [*self.make_inputs(entry), "--steps", self.manifest["profiled_steps"], "--profile", trace]
        if problem := self.run(entry["program"], words, timeout=600):
            return None, problem
        times, names = {}, {}
        for event in json.loads(trace.read_text())["traceEvents"]:
            if event["cat"] == "step":
                times.setdefault(event["args"]["launch"], []).append(event["dur"] / 1e6)
                names[event["args"]["launch"]] = event["name"]
        planned = {int(row["launch"]): row["kernel"] for row in self.launches(name)}
        if planned != names:
            other = next(k for k in sorted(planned.keys() | names.keys()) if planned.get(k) != names.get(k))
            return None, f"launch {other} is {names.get(other)}, and {planned.get(other)} in the plan's table"
        return {k: sorted(v)[len(v) // 2] for k, v in times.items()}, ""

    def launches(self, name):
        path = self.pack / "launches" / f"{name}.csv"
        return [row for row in csv.DictReader(path.open()) if row["function"] == "step"]

    def bandwidth(self):
        copy = self.copy_bandwidth()
        self.note("bandwidth", "copy", *((f"{copy / 1e9:.0f} GB/s read and written", OK) if copy else
                                         ("needs torch that sees a GPU", NOT_RUN)))
        for entry in sorted(self.manifest["timed"], key=lambda e: e["name"] == "gpt2"):
            if entry["name"] not in WIDE:
                continue
            times, problem = self.profile(entry)
            if problem:
                self.note("bandwidth", entry["name"], problem, FAILED)
                continue
            for row in self.launches(entry["name"]):
                moved = float(row["bytes_read"]) + float(row["bytes_written"])
                seconds = times[int(row["launch"])]
                if row["kind"].lower() != "vector" or moved < self.manifest["least_bytes"] or seconds <= 0:
                    continue
                rate = f"{moved / seconds / 1e9:.0f} GB/s" + (f", {100 * moved / seconds / copy:.0f}% of a copy" if copy else "")
                self.note("bandwidth", f"{entry['name']} {row['launch']} {row['kernel']} {row['place']}",
                          f"{moved / 1e6:.0f} MB in {seconds * 1e3:.3f} ms, {rate}", OK)

    def step(self):
        tuned = " tuned" if "KEDGE_ALGORITHMS" in self.environment else ""
        ours, first = None, ""
        for entry in self.manifest["timed"]:
            if not entry["name"].startswith("gpt2"):
                continue
            title = entry["name"] + tuned
            found, problem = self.measure(entry)
            if problem:
                self.note("step", title, problem, FAILED)
                continue
            ours, first = (ours, first) if ours else (found, entry["name"])
            self.measured[entry["name"]] = found
            seconds, peak, arena = found
            self.note("step", title, f"{seconds * 1e3:.2f} ms, {self.tokens(entry) / seconds:.0f} tokens/s, {peak} bytes (arena "
                      f"{arena}); time {seconds / ours[0]:.2f}, memory {peak / ours[1]:.2f} of {first}", OK)
        for entry in self.manifest["timed"]:
            if entry["name"].startswith("gpt2"):
                times, problem = self.profile(entry)
                if problem:
                    self.note("step", f"{entry['name']} launches", problem, FAILED)
                else:
                    self.breakdown(entry["name"] + tuned, self.launches(entry["name"]), times)

    @staticmethod
    def tokens(entry):
        return math.prod(next(iter(entry["inputs"].values()))["shape"])

    def measure(self, entry, **variables):
        """Median seconds, peak and arena bytes; or a problem."""
        log, memory = self.out / f"{entry['name']}.jsonl", self.out / f"{entry['name']}-memory.json"
        log.unlink(missing_ok=True)
        words = [*self.make_inputs(entry), "--steps", self.manifest["steps"], "--log", log, "--memory-report", memory]
        if problem := self.run(entry["program"], words, timeout=600, **variables):
            return None, problem
        seconds = sorted(json.loads(line)["seconds"] for line in log.open())
        report = json.loads(memory.read_text())
        return (seconds[len(seconds) // 2], report["peak_bytes"], report["arena_bytes"]), ""

    def breakdown(self, name, launches, times):
        rows, whole, kinds = {int(r["launch"]): r for r in launches}, sum(times.values()), {}
        for launch, seconds in times.items():
            kernel = rows[launch]["kernel"]
            kind = kernel if "." in kernel else "generated"
            kinds[kind] = kinds.get(kind, 0) + seconds
        self.details.append(f"{name}, milliseconds by kernel: " + ", ".join(
            f"{k} {1e3 * s:.2f} ({100 * s / whole:.0f}%)" for k, s in sorted(kinds.items(), key=lambda e: -e[1])))
        for launch, seconds in sorted(times.items(), key=lambda e: -e[1])[:15]:
            self.details.append(f"launch {launch} {rows[launch]['kernel']} {rows[launch]['place']}: {1e3 * seconds:.3f} ms")

    def tune(self):
        """One table of all programs' products: programs share them, and the first that timed one keeps it."""
        entries, device = {}, ""
        programs = dict.fromkeys((e["program"], "") for e in self.manifest["timed"] + self.manifest["golden"])
        programs |= dict.fromkeys((e["program"], "apart") for e in self.manifest["timed"] if e.get("precision") in ("bf16", "fp16"))
        try:
            for program, epilogues in programs:
                part = self.out / "part.json"
                if problem := self.run(program, [], KEDGE_TUNE=str(part), KEDGE_EPILOGUES=epilogues):
                    self.note("tune", program or "a program", problem, FAILED)
                    continue
                table = json.loads(part.read_text())
                device = table["device"]
                for one in table["entries"]:
                    entries.setdefault(one["key"], one)
        finally:  # what is there by then is used
            if entries:
                path = self.results / "algorithms.json"
                path.write_text(json.dumps({"format": 1, "device": device, "entries": list(entries.values())}, indent=1) + "\n")
                self.environment["KEDGE_ALGORITHMS"] = str(path)
            if device:
                self.note("tune", "products", f"{len(entries)} kinds of products of {len({program for program, _ in programs})} programs on '{device}'",
                          OK if entries else FAILED)

    def all(self):
        for part in self.o.only.split(","):
            try:
                getattr(self, part)()
            except OutOfTime:
                self.note(part, "the rest", f"{self.o.seconds:.0f} s are over", NOT_RUN)
            except Exception as problem:  # one part must not cost the others
                self.note(part, "all", f"{type(problem).__name__}: {problem}", FAILED)

    def table(self):
        machine = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"],
                                 capture_output=True, text=True).stdout.strip() if shutil.which("nvidia-smi") else "unknown GPU"
        result = {"head": f"{machine}; programs for {self.manifest['arch']}", "rows": self.rows, "details": self.details}
        (self.results / "rows.json").write_text(json.dumps(result, indent=1) + "\n")
        return table_of([result])


def table_of(results):
    """One table of what several rounds found."""
    lines = [*dict.fromkeys(result["head"] for result in results), "", "| part | case | result | |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for result in results for row in result["rows"]]
    return "\n".join(lines + [""] + [line for result in results for line in result["details"]]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pack", nargs="?", default=pathlib.Path(__file__).resolve().parent)
    parser.add_argument("--round", type=int, choices=ROUNDS)
    parser.add_argument("--only", default="golden,low,step,baseline,models,apart,ncu,ranks,features,kills,bandwidth,bits,resume,sanitizer")
    parser.add_argument("--out", default="gpu-results")
    parser.add_argument("--work")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--golden-steps", type=int)
    parser.add_argument("--programs", default="")
    parser.add_argument("--jobs", type=int, default=max(1, os.cpu_count() // 4))
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--join", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    if options.join:
        return print(table_of([json.loads((folder / "rows.json").read_text()) for folder in options.join]), end="")
    options.only = ROUNDS[options.round] if options.round else f"{'tune,' if options.tune else ''}{options.only}"
    options.seconds = options.seconds or (540 if options.round else math.inf)
    suite = Suite(options)
    suite.all()
    text = suite.table()
    (suite.results / "table.md").write_text(text)
    print(text)
    sys.exit(any(state == FAILED for *_, state in suite.rows))


if __name__ == "__main__":
    main()
