"""One small model with many options on the GPU, beside the CPU: gpu_pack.py packs the programs and what the CPU's logged, the part
`features` of gpu_conformance.py compares; `kills` takes a rank away.

The model is the golden gpt. Options of a mesh run on ranks that share the GPU, beside one rank of the CPU on the same rows.
"""
import concurrent.futures
import json
import pathlib
import shutil
import signal
import subprocess
import time

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "test/golden/gpt"
ROWS, LENGTH, STEPS = 4, 24, 8
COMM_TIMEOUT = 5  # seconds
LORA = "--lora (qkv|proj|up|down).weight$ --lora-rank 4"
SGD = "--optimizer sgd --momentum 0.9 --lr 0.05"
# Options, and how far losses may be from the CPU's: sums in another order, or one rounding of 16 bits.
OPTIONS = [
    *[(f"--optimizer {name}", 1e-5) for name in ("adam", "sgd --momentum 0.9 --nesterov", "lion", "adafactor", "rmsprop", "adagrad",
                                                 "adamw8bit", "adam8bit")],
    ("--optimizer muon", 1e-4),
    ("--moments bf16", 1e-3), ("--moments int8", 1e-3), ("--ema 0.9", 1e-5), ("--clip-norm 0.3", 1e-5),
    ("--accumulate 2", 1e-5), ("--precision bf16 --accumulate 2 --clip-norm 0.3", 2e-3),
    ("--precision bf16", 2e-3), ("--precision fp16", 2e-3), ("--precision fp8", 5e-3), ("--precision bf16 --master-weights split", 2e-3),
    ("--offload optimizer", 1e-5), ("--offload optimizer,gradients,params,activations", 1e-5), ("--recompute full", 1e-5),
    (LORA, 1e-5), (f"{LORA} --precision bf16", 2e-3), (f"{LORA} --quantize (qkv|up).weight$=nf4 --double-quantize", 1e-5),
    (f"{LORA} --quantize (qkv|up).weight$=int8 --precision bf16", 2e-3),
]
# Mesh and further options.
MESHES = [
    ("tensor=2", f"{SGD}", 1e-5), ("tensor=2", f"{SGD} --sequence-parallel off", 1e-5), ("tensor=2", "--precision bf16", 2e-3),
    ("pipeline=2", f"{SGD} --accumulate 2", 1e-5), ("pipeline=2", f"{SGD} --accumulate 2 --pipeline-schedule zero-bubble", 1e-5),
    ("data=2", f"{SGD} --zero 3 --bucket-bytes 16KiB --offload optimizer", 1e-5), ("data=2", "--zero 2 --precision bf16", 2e-3),
    ("data=2,tensor=2", f"{SGD} --zero 1", 1e-5), ("pipeline=2,data=2", f"{SGD} --zero 2 --accumulate 2", 1e-5),
]


def ranks_along(mesh, *axes):
    product = 1
    for axis in mesh.split(","):
        name, _, size = axis.partition("=")
        product *= int(size) if not axes or name in axes else 1
    return product


def losses_of(log):
    return [json.loads(line)["loss"] for line in pathlib.Path(log).read_text().splitlines()]


def data_words(folder):
    return [word for path in sorted(folder.glob("*.npy")) for word in ("--data", f"{path.stem}={path}")]


def pack(into):
    """Adds programs, data and losses to a Pack."""
    folder = into.out / "models/gpt-golden"
    folder.mkdir(parents=True)
    for name in json.loads((GOLDEN / "trace.json").read_text())["data"].values():
        shutil.copy(GOLDEN / name, folder)
    into.manifest["features"] = []
    cases = [("", options, bound) for options, bound in OPTIONS] + MESHES
    for number, (mesh, options, bound) in enumerate([cases[0], *MESHES[:1]] if into.o.tiny else cases):
        rows = ROWS // (2 if "--accumulate 2" in options else 1)
        common = ["--loss", "cross-entropy", *options.split()]
        here = ["--shape", f"input_ids={rows // (ranks_along(mesh, 'data') if mesh else 1)}x{LENGTH}", *common]
        program = into.program(f"feature-{number}", GOLDEN / "model.onnx", [*here, *(["--mesh", mesh] if mesh else [])])
        into.manifest["features"].append({
            "name": " ".join(filter(None, (f"--mesh {mesh}" if mesh else "", options))), "program": program, "bound": bound,
            "ranks": ranks_along(mesh) if mesh else 1, "losses": on_cpu(into, folder, rows, without_ranks(common))})


def without_ranks(words):
    """Options of one rank that computes the same."""
    kept, skip = [], 0
    for word in words:
        if skip:
            skip -= 1
        elif word in ("--zero", "--bucket-bytes", "--sequence-parallel", "--pipeline-schedule"):
            skip = 1
        else:
            kept.append(word)
    return kept


def on_cpu(into, folder, rows, words):
    program, log = into.out / "reference", into.out / "reference.jsonl"
    log.unlink(missing_ok=True)
    subprocess.run([into.o.kedge, "compile", GOLDEN / "model.onnx", "--shape", f"input_ids={rows}x{LENGTH}", *words, "--target", "cpu",
                    "-o", program], check=True, capture_output=True)
    subprocess.run([program, *data_words(folder), "--steps", str(STEPS), "--log", log], check=True, capture_output=True)
    losses = losses_of(log)
    program.unlink()
    log.unlink()
    return losses


class Features:
    """Needs a Suite's manifest, run, run_ranks, start_ranks and note."""

    def features(self):
        entries = self.manifest.get("features", [])
        with concurrent.futures.ThreadPoolExecutor(self.o.jobs) as pool:
            for done in [pool.submit(self.feature, entry) for entry in entries]:
                done.result()

    def feature(self, entry):
        log = self.out / f"{entry['program']}.jsonl"
        log.unlink(missing_ok=True)
        words = [*data_words(self.pack / "models/gpt-golden"), "--steps", STEPS, "--log", log]
        one = entry["ranks"] == 1 or not entry["program"]
        problem = self.run(entry["program"], words) if one else self.run_ranks(entry["program"], words, entry["ranks"])
        if "cannot be joined" in problem or "need NCCL" in problem:
            return self.note("features", entry["name"], problem, "not run")
        gap = 0 if problem else max(abs(a - b) / abs(b) for a, b in zip(losses_of(log), entry["losses"], strict=True))
        return self.note("features", entry["name"], problem or f"losses at most {gap:.1e} from the CPU's",
                         "FAILED" if problem or gap > entry["bound"] else "ok")

    def kills(self):
        """A rank that is gone, or stops, while two train: the other one ends, in bounded time, and says why."""
        entry = next((e for e in self.manifest.get("features", []) if e["ranks"] == 2 and e["program"]), None)
        if entry is None:
            return self.note("kills", "all", "the pack has no program of two ranks", "not run")
        for name, number in (("killed", signal.SIGKILL), ("stopped", signal.SIGSTOP)):
            self.note("kills", name, *self.bereave(entry, number))

    def bereave(self, entry, number):
        log = self.out / "kills.jsonl"
        log.unlink(missing_ok=True)
        words = [*data_words(self.pack / "models/gpt-golden"), "--steps", 10**7, "--comm-timeout", COMM_TIMEOUT, "--log", log]
        pair = self.start_ranks(entry["program"], words, 2)
        try:
            until = time.monotonic() + 60
            while not (log.exists() and log.read_text().count("\n") > 50):
                if pair[0].poll() is not None or time.monotonic() > until:
                    pair[0].kill()
                    said = pair[0].communicate()[1].strip().splitlines() or ["no message"]
                    return f"no steps to interrupt: {said[-1]}", "not run" if "cannot be joined" in said[-1] else "FAILED"
                time.sleep(0.05)
            pair[1].send_signal(number)
            begin = time.monotonic()
            said = pair[0].communicate(timeout=COMM_TIMEOUT + 20)[1]
            seconds, line = time.monotonic() - begin, next((x for x in said.splitlines() if "error: " in x), "no message")
            return f"exit {pair[0].returncode} after {seconds:.1f} s: {line}", "ok" if pair[0].returncode == 1 and "error: " in line else "FAILED"
        except subprocess.TimeoutExpired:
            return f"did not end within {COMM_TIMEOUT + 20} s", "FAILED"
        finally:
            for process in pair:
                process.kill()
