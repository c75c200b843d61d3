"""Pipes, sparse manifests, strange names and damaged weights: files.py FOLDER. Needs numpy and onnx."""
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import time

import numpy
import onnx
from cases import Small, array, expect, words

folder = pathlib.Path(sys.argv[1])
square, row = array([[1, 2], [3, 4]]), array([[1, 1]])
mse = ["--loss", "mse"]


def small(name, weights=None, nodes=(("MatMul", ["x", "w"], ["y"]),), inputs=None):
    return Small(folder / name, list(nodes), weights or {"w": square}, inputs or {"x": row}, {"y": [1, 2]})


def with_labels(case):
    case.add_data("labels", array([[0.5, 0.5]]))
    return case


# External data that is a pipe: whoever opens it to read waits.
piped = small("piped")
model = onnx.load(piped.model)
onnx.save(model, piped.model, save_as_external_data=True, location="w.data", size_threshold=0)
(piped.folder / "w.data").unlink()
os.mkfifo(piped.folder / "w.data")
for command in (["lint"], ["plan", *mse], ["compile", *mse, "-o", folder / "none"], ["compile", *mse, "--embed-weights", "-o", folder / "none"]):
    done = subprocess.run(["kedge", command[0], str(piped.model), *map(str, command[1:])], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "external file 'w.data', which is a folder, a pipe or a device" in done.stderr, done.stderr

plain = with_labels(small("plain"))
program = plain.compile("program", *mse)
data = [word for name, path in plain.data.items() for word in ("--data", f"{name}={path}")]
words(program, *data, "--steps", "2", "--checkpoint-dir", folder / "ck")
manifest = folder / "ck" / "step-2" / "manifest.json"
os.truncate(manifest, 1 << 40)
expect(words(program, *data, "--steps", "3", "--checkpoint-dir", folder / "ck", "--resume", code=1), "has 1099511627776 bytes, expected at most")

# A file of a checkpoint as long as its manifest says takes minutes to read: the first signal ends that.
long = folder / "long" / "step-2"
long.mkdir(parents=True)
for name in ("model.safetensors", "optimizer.safetensors"):
    (long / name).touch()
    os.truncate(long / name, 1 << 40)
entries = [{"name": name, "bytes": 1 << 40, "checksum": "0" * 16} for name in ("model.safetensors", "optimizer.safetensors")]
(long / "manifest.json").write_text(json.dumps({"format": 2, "files": entries}))
job = subprocess.Popen([program, *data, "--steps", "3", "--checkpoint-dir", folder / "long", "--resume"], stderr=subprocess.PIPE, text=True)
time.sleep(2.5)
if job.poll() is None:
    job.send_signal(signal.SIGTERM)
    said = job.communicate(timeout=20)[1]
    assert job.returncode == 143 and "stopped by a signal before the first step" in said, (job.returncode, said)
else:
    raise AssertionError(f"the file was not read: {job.communicate()[1]}")


def stopped_ranks():
    """The same on two ranks, of which one gets the signal."""
    pair = plain.compile("pair", *mse, "--ranks", "2")
    first = 'if [ $OMPI_COMM_WORLD_RANK = 0 ]; then (sleep 2; kill -TERM $$) & fi; exec "$@"'
    done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", "bash", "-c", first, "rank", pair, *data, "--steps", "3",
                           "--checkpoint-dir", folder / "long", "--resume"], capture_output=True, text=True, timeout=60)
    assert done.returncode in (1, 143) and "stopped by a signal before the first step" in done.stderr, (done.returncode, done.stderr)


def large_json():
    """Above what anybody writes, so that it is not parsed."""
    path = folder / "large.json"
    path.write_text("{")
    os.truncate(path, 300 << 20)
    for flags in (["--device", path], ["--link", path, "--ranks", "2"], ["--deepspeed-config", path], ["--check", path]):
        done = subprocess.run(["kedge", "plan", str(plain.model), *mse, *map(str, flags)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and "large.json: it has 314572800 bytes, expected a JSON file of at most 268435456" in done.stderr, done.stderr
    done = subprocess.run(["kedge", "tokens", "--tokenizer", str(path), str(plain.model), "-o", str(folder / "t.bin")], capture_output=True, text=True)
    assert done.returncode == 1 and "expected a JSON file of at most" in done.stderr, done.stderr


large_json()
if shutil.which("mpirun"):
    stopped_ranks()


def safetensors(header, body):
    text = json.dumps(header).encode()
    path = folder / "given.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    return path


right = {"w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}
words(program, *data, "--steps", "1", "--weights", safetensors(right, bytes(16)))
for header, body, why in [
        ({"w": {"dtype": "F32", "shape": [2.5, 2], "data_offsets": [0, 16]}}, bytes(16), "'shape' of tensor 'w' has the entry 2.5, expected whole numbers"),
        ({"w": {"dtype": "F32", "shape": [-2, -2], "data_offsets": [0, 16]}}, bytes(16), "'shape' of tensor 'w' has the entry -2"),
        ({"w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0.5, 16]}}, bytes(16), "'data_offsets' of tensor 'w' has the entry 0.5"),
        (right, bytes(20), "4 bytes at its end belong to no tensor"),
        ({"w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [8, 24]}}, bytes(24), "8 bytes in front of tensor 'w' belong to no tensor")]:
    expect(words(program, *data, "--steps", "1", "--weights", safetensors(header, body), code=1), why)
print("files: all refused in time")

# Names.
equal = small("equal", nodes=[("MatMul", ["a=b=c", "w"], ["y"])], inputs={"a=b=c": row})
equal.data = {"a=b=c": equal.data["a=b=c"]}
with_labels(equal)
lines = equal.run(equal.compile("program", *mse, "--shape", "a=b=c=1x2"), "--steps", "2")
assert len(lines) == 2
nameless = onnx.load(plain.model)
nameless.graph.name = ""
onnx.save(nameless, plain.folder / "nameless.onnx")
words("kedge", "compile", plain.folder / "nameless.onnx", *mse, "-o", folder / "nameless")
words(folder / "nameless", *data, "--steps", "1", "--export-onnx", folder / "trained.onnx")
onnx.checker.check_model(str(folder / "trained.onnx"))
print("names: fed and exported")

# A weight without a gradient, and --eps 0.
dead = with_labels(small("dead", {"w": array([[1, 2], [3, 4]])}, [("Relu", ["x"], ["r"]), ("MatMul", ["r", "w"], ["y"])], {"x": array([[-1, -1]])}))
text = words(dead.compile("program", *mse, "--optimizer", "adam"), *[word for name, path in dead.data.items() for word in ("--data", f"{name}={path}")],
             "--steps", "3", "--eps", "0", "--checkpoint-dir", folder / "dead-ck", code=1)
expect(text, "--eps 0", "give one above 0, such as --eps 1e-8")
expect(words("kedge", "plan", plain.model, *mse, "--ranks", "2", "--bucket-bytes", "1e30GiB", code=1), "--bucket-bytes 1e30GiB: expected bytes below 2^63")
for ranks in ("70000", "1000000"):
    words("kedge", "plan", plain.model, *mse, "--mesh", f"data={ranks}")
print("numbers: explained")
