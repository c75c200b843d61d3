"""Outputs that cannot be written: outputs.py PROGRAM DATA FOLDER."""
import pathlib
import subprocess
import sys
import time

program, data, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
rows = [word for kind in ("--data", "--eval-data") for name in ("input", "labels") for word in (kind, f"{name}={data / name}.npy")]
output = "logits"


def run(*words, **options):
    command = [program, *rows, "--threads", "1", "--steps", "3", "--log", folder / "log.jsonl", *words]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, **options)


refused = 0
places = {"folder": folder / "folder", "fifo": folder / "fifo", "device": "/dev/full", "missing": folder / "missing" / "file"}
for flag in ("--export-onnx", "--export-safetensors", "--profile", "--memory-report", "--dump-gradients", "--predict"):
    for kind, place in places.items():
        (folder / "log.jsonl").unlink(missing_ok=True)
        value = f"{output}={place}" if flag == "--predict" else str(place)
        done = run(flag, value)
        assert done.returncode == 1 and flag in done.stderr and done.stderr.count("kedge: error") == 1, (flag, kind, done.returncode, done.stderr)
        assert not (folder / "log.jsonl").exists() or not (folder / "log.jsonl").read_text(), (flag, kind, "a step ran")
        refused += 1
for place in ("/dev/full", folder / "fifo"):  # --log has its own check
    done = run("--log", place)
    assert done.returncode == 1, place
    refused += 1
for place in (folder / "fifo", "/dev/full"):
    done = run("--export-safetensors", f"{place}:bf16")
    assert done.returncode == 1 and "--export-safetensors" in done.stderr, done.stderr
    refused += 1
print(f"{refused} places refused before the first step")
assert not list(folder.glob("*.tmp.*")), "a trial left a file"

# A folder takes the place of one output while the run goes on: the others and the checkpoint are kept.
log, steps = folder / "long.jsonl", 3000
command = [program, *rows, "--threads", "1", "--steps", steps, "--log", log, "--checkpoint-dir", folder / "ck", "--export-onnx", folder / "trained.onnx",
           "--export-safetensors", folder / "trained.safetensors", "--memory-report", folder / "memory.json", "--predict",
           f"{output}={folder / 'predicted.npy'}"]
with subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as job:
    while job.poll() is None and not (log.exists() and log.read_text()):
        time.sleep(0.001)
    (folder / "trained.safetensors").mkdir()
    said = job.stderr.read()
assert job.returncode == 1 and said.count("kedge: error") == 1 and "trained.safetensors' is no regular file" in said, said
kept = [name for name in ("trained.onnx", "memory.json", "predicted.npy") if (folder / name).stat().st_size]
assert (folder / "ck" / f"step-{steps}" / "manifest.json").exists()
print(f"1 export failed, {len(kept)} outputs and the checkpoint are there")
