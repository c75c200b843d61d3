"""Outputs that cannot be written: outputs.py PROGRAM DATA FOLDER [RANKS]."""
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


def refusals():
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


def fails_late(steps, spoiled, ranks=()):
    """A folder takes the place of one output while the run goes on: the others and the checkpoint are kept."""
    log, place = folder / "long.jsonl", folder / "outputs"
    place.mkdir()
    outputs = {"--export-onnx": "trained.onnx", "--export-safetensors": "trained.safetensors", "--memory-report": "memory.json"}
    command = [*ranks, program, *rows, "--threads", "1", "--steps", steps, "--log", log, "--checkpoint-dir", place / "ck",
               *[word for flag, name in outputs.items() for word in (flag, place / name)], "--predict", f"{output}={place / 'predicted.npy'}"]
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as job:
        while job.poll() is None and not (log.exists() and log.read_text()):
            time.sleep(0.001)
        (place / spoiled).mkdir()
        said = job.stderr.read()
    assert job.returncode == 1 and said.count("kedge: error") == 1 and f"{spoiled}' is no regular file" in said, said
    kept = [name for name in (*outputs.values(), "predicted.npy") if name != spoiled and (place / name).stat().st_size]
    assert (place / "ck" / f"step-{steps}" / "manifest.json").exists()
    return f"1 export failed, {len(kept)} outputs and the checkpoint are there"


if sys.argv[4:]:
    print(f"{sys.argv[4]} ranks:", fails_late(1000, "trained.onnx", ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", sys.argv[4]]))
else:
    refusals()
    print(fails_late(3000, "trained.safetensors"))
