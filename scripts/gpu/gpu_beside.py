"""What stands beside a program on a GPU day: other precisions and models, epilogues apart, ranks, Nsight Compute, PyTorch, llm.c.

Parts of gpu_conformance.py, which is the program to start.
"""
import array
import csv
import json
import os
import re
import shutil
import socket
import subprocess
import sys

OK, FAILED, NOT_RUN = "ok", "FAILED", "not run"
# Precision, modes, batch, whether fp32 products may be TF32's; the most telling first.
PYTORCH = (("bf16", "eager,compile,max-autotune", 1, False), ("fp32", "eager,compile", 1, False), ("fp32", "compile", 1, True),
           ("bf16", "compile", 4, False))
# pytorch_step.py asks for fp32 to the last bit; this lets its products be TF32's.
WITH_TF32 = ("import runpy, sys, torch; wide = torch.set_float32_matmul_precision; "
             "torch.set_float32_matmul_precision = lambda _: wide('high'); sys.argv = sys.argv[1:]; "
             "runpy.run_path(sys.argv[0], run_name='__main__')")
LLM_C_STEP = re.compile(r"^step +\d+/\d+ .*?([0-9.]+) ms\b", re.MULTILINE)
LONGEST = 10


def median(values):
    return sorted(values)[len(values) // 2]


class Beside:
    """Needs a Suite's note, run, process, measure, profile, data, base and manifest."""

    def models(self):
        """Other models than GPT-2, a step each."""
        for entry in self.manifest["timed"]:
            if entry.get("model"):
                self.time(entry)

    def time(self, entry, title="", **variables):
        """A row with a step's median time and its bytes; the seconds, or nothing."""
        found, problem = self.measure(entry, **variables)
        title = title or entry["name"]
        if problem:
            self.note("models", title, problem, FAILED)
            return None
        self.note("models", title, f"{found[0] * 1e3:.2f} ms, {found[1]} bytes (arena {found[2]})", OK)
        return found[0]

    def apart(self):
        """What cuBLASLt's epilogues gain."""
        for entry in self.manifest["timed"]:
            if not entry["name"].startswith("gpt2") or entry.get("precision") not in ("bf16", "fp16"):
                continue
            (fused, wrong), (apart, problem) = self.measure(entry), self.measure(entry, KEDGE_EPILOGUES="apart")
            said = problem or wrong or (f"{apart[0] * 1e3:.2f} ms with epilogues apart, {fused[0] * 1e3:.2f} ms fused: "
                                        f"{apart[0] / fused[0]:.3f}")
            self.note("apart", entry["name"], said, FAILED if problem or wrong else OK)

    def ranks(self):
        """Two ranks, of one GPU where there is one, beside one rank."""
        for entry in self.manifest["ranks"]:
            title, problem = f"{entry['model']} --zero {entry['zero']}", "was not compiled"
            base, words = self.base(entry["model"], entry["run"])
            one, two = self.out / "one-rank.jsonl", self.out / "two-ranks.jsonl"
            two.unlink(missing_ok=True)
            common = [*self.data(entry["model"]), *words]
            if entry["program"]:
                problem = self.run(base, [*common, "--log", one]) or self.run_ranks(entry["program"], [*common, "--log", two], 2)
            if re.search(r"cannot be joined|need NCCL", problem):
                self.note("ranks", title, problem, NOT_RUN)
                continue
            gap = 0 if problem else self.gap(one, two)
            self.note("ranks", title, problem or f"losses at most {gap:.1e} from one rank's", FAILED if problem or gap > 1e-4 else OK)

    @staticmethod
    def gap(one, two):
        losses = [[json.loads(line)["loss"] for line in log.open()] for log in (one, two)]
        return max(abs(a - b) / abs(a) for a, b in zip(*losses, strict=True))

    def start_ranks(self, program, words, ranks):
        """As torchrun starts them."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        shared = {**self.environment, "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        command = [str(word) for word in (self.pack / "programs" / program, *words, "--shared-gpu")]
        return [subprocess.Popen(command, cwd=self.out, env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}, text=True,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for rank in range(ranks)]

    def run_ranks(self, program, words, ranks):
        """What went wrong, or nothing."""
        processes, said = self.start_ranks(program, words, ranks), []
        try:
            for process in processes:
                said.append(process.communicate(timeout=max(1, min(120, self.left())))[1])
        except subprocess.TimeoutExpired:
            return f"{ranks} ranks did not end within 120 s"
        finally:
            for process in processes:
                process.kill()
        code = next((process.returncode for process in processes if process.returncode), 0)
        first = next((line for text in said for line in text.splitlines() if "error: " in line), "no message")
        return f"exit {code}: {first}" if code else ""

    def ncu(self):
        """Device times of the longest launches: those of --profile hold what lies between two launches, too."""
        tool = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
        if not os.path.exists(tool):
            return self.note("ncu", "all", "ncu is not here", NOT_RUN)
        entry = next(e for e in self.manifest["timed"] if e["name"] == "gpt2-bf16")
        times, problem = self.profile(entry)
        if problem:
            return self.note("ncu", entry["name"], problem, FAILED)
        kernels = {int(row["launch"]): row["kernel"] for row in self.launches(entry["name"]) if "." not in row["kernel"]}
        longest = sorted((launch for launch in kernels if launch in times), key=lambda launch: -times[launch])[:LONGEST]
        profiled = {}
        for launch in longest:
            profiled.setdefault(kernels[launch], []).append(times[launch])
        command = [tool, "--csv", "--metrics", "gpu__time_duration.sum", "--kernel-name", f"regex:^({'|'.join(profiled)})$",
                   self.pack / "programs" / entry["program"], *self.make_inputs(entry), "--steps", 2]
        done = self.process(command, 300, env=self.environment)
        measured = self.durations(done.stdout)
        if not measured:  # as without permission for the counters
            lines = [line for line in (done.stdout + done.stderr).splitlines() if "==ERROR==" in line] or ["no message"]
            return self.note("ncu", entry["name"], f"ncu does not work here: {lines[0]}", NOT_RUN)
        for kernel, seconds in profiled.items():
            ours = "not met" if kernel not in measured else f"{median(measured[kernel]) * 1e6:.1f} us by ncu"
            self.note("ncu", f"{entry['name']} {kernel}", f"{ours}, {median(seconds) * 1e6:.1f} us by --profile", OK)

    @staticmethod
    def durations(text):
        """Kernel -> seconds of each of its launches, from ncu's table."""
        lines = text.splitlines()
        start = next((at for at, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
        units, found = {"ns": 1e-9, "nsecond": 1e-9, "us": 1e-6, "usecond": 1e-6, "ms": 1e-3, "msecond": 1e-3}, {}
        for row in csv.DictReader(lines[start:]):
            if row.get("Metric Name") == "gpu__time_duration.sum":
                seconds = float(row["Metric Value"].replace(",", "")) * units[row["Metric Unit"]]
                found.setdefault(row["Kernel Name"].partition("(")[0], []).append(seconds)
        return found

    def baseline(self):
        self.pytorch()
        self.pytorch_models()
        self.llm_c()

    def pytorch_models(self):
        """PyTorch's step of the models that the part `models` times; pytorch_models.py knows them by our names."""
        if not self.torch():
            return
        for entry in self.manifest["timed"]:
            if not entry.get("model") or entry["name"].endswith("-cudnn"):
                continue
            done = self.process([sys.executable, self.pack / "pytorch_models.py", entry["name"]], 150)
            lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            for other in lines:
                self.note("baseline", f"pytorch {entry['name']} {other['mode']}", f"{other['seconds'] * 1e3:.2f} ms, {other['peak_bytes']} bytes", OK)
            if not lines:
                self.note("baseline", f"pytorch {entry['name']}", (done.stderr.strip().splitlines() or ["no result"])[-1], NOT_RUN)

    def pytorch(self):
        shape = self.manifest["baseline"]
        if not shape or not self.torch():
            why = "needs torch that sees a GPU" if shape else "the pack's models are too small to compare"
            return self.note("baseline", "pytorch", why, NOT_RUN)
        for precision, modes, times, tf32 in PYTORCH:
            tool = [*(["-c", WITH_TF32] if tf32 else []), self.pack / "pytorch_step.py"]
            done = self.process([sys.executable, *tool, "--device", "cuda", "--precision", precision, "--mode", modes, "--batch",
                                 times * shape["batch"], "--length", shape["length"]], 400)
            title = f"pytorch {'tf32' if tf32 else precision} batch {times * shape['batch']}"
            if done.returncode or not done.stdout.strip():
                self.note("baseline", title, f"exit {done.returncode}: {(done.stderr.strip().splitlines() or [''])[-1]}", FAILED)
            for line in done.stdout.splitlines():
                other = json.loads(line)
                self.note("baseline", f"{title} {other['mode']}", f"{other['seconds'] * 1e3:.2f} ms, {other['tokens_per_second']:.0f} "
                          f"tokens/s, {other['peak_bytes']} bytes{self.beside(precision, other, times)}", OK)

    def beside(self, precision, other, times):
        """How a baseline compares with ours of this very run."""
        ours = self.measured.get("gpt2" if precision == "fp32" else f"gpt2-{precision}")
        return f"; time {other['seconds'] / ours[0]:.2f} of ours, memory {other['peak_bytes'] / ours[1]:.2f}" if ours and times == 1 else ""

    def llm_c(self):
        """Its own source, built here."""
        source, compiler = self.pack / "llm.c", shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        shape = self.manifest["baseline"]
        if not shape or not source.exists() or not os.path.exists(compiler):
            return self.note("baseline", "llm.c", "needs nvcc, and a pack made with --llm-c FOLDER", NOT_RUN)
        program, tokens = self.out / "llm.c-train", self.out / "tokens.bin"
        flags = ["-O3", "--use_fast_math", "-std=c++17", "-DENABLE_BF16", f"-arch={self.manifest['arch']}"]
        built = self.process([compiler, *flags, source / "train_gpt2.cu", "-o", program, "-lcublas", "-lcublasLt", "-lnvidia-ml"], 400)
        if built.returncode:
            return self.note("baseline", "llm.c", f"not built: {(built.stderr.strip().splitlines() or [''])[-1]}", FAILED)
        count = 64 * shape["batch"] * shape["length"]
        with tokens.open("wb") as file:
            array.array("i", [20240520, 1, count, *[0] * 253]).tofile(file)
            array.array("H", (7919 * at % 50257 for at in range(count))).tofile(file)
        done = self.process([program, "-e", "d12", "-b", shape["batch"], "-t", shape["length"], "-d", shape["batch"] * shape["length"],
                             "-x", self.manifest["steps"], "-v", 0, "-s", 0, "-i", tokens, "-j", tokens], 300, env=self.environment)
        steps = [float(step) / 1e3 for step in LLM_C_STEP.findall(done.stdout)]
        if done.returncode or not steps:
            return self.note("baseline", "llm.c", f"exit {done.returncode}: {(done.stderr.strip().splitlines() or ['no step'])[-1]}", FAILED)
        ours = self.measured.get("gpt2-bf16")
        self.note("baseline", "llm.c bf16", f"{median(steps) * 1e3:.2f} ms" + (f"; time {median(steps) / ours[0]:.2f} of ours" if ours else ""), OK)
