#!/usr/bin/env python3
"""axis.py FOLDER: experts on ranks of their own. Losses are one rank's on every mesh; each rank holds and sends what was planned, by formulas; a rank
that more rows come to than it has room for ends the run; checkpoints and exports are those of any mesh; a killed rank ends in an error."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
from mixture import EXPERTS, LENGTH, WEIGHTS, WIDTH, Mixture, apart, weights_of

SLOTS = 2
case, steps = Mixture(sys.argv[1]), ["--steps", 10, "--lr", 0.01]
one = case.run(case.compile("one"), *steps, "--export-onnx", case.folder / "one.onnx")
case.run(case.folder / "one", "--steps", 4, "--lr", 0.01, "--checkpoint-dir", case.folder / "of-one")


def of(mesh, *options):
    ranks = int(np.prod([int(word.split("=")[1]) for word in mesh.split(",")]))
    apart_rows = int(np.prod([int(word.split("=")[1]) for word in mesh.split(",") if "tensor" not in word]))
    rows = 4 // apart_rows // (2 if "--accumulate" in options else 1)
    return ["--mesh", mesh, *options], rows, ranks


def trained(name, mesh, *options, more=()):
    given, rows, ranks = of(mesh, *options)
    return case.run(case.compile(name, *given, rows=rows), *steps, *more, ranks=ranks)


MESHES = [("expert=2",), ("expert=4",), ("data=2,expert=2",), ("replica=2,expert=2",), ("expert=2", "--accumulate", 2),
          *(("data=2,expert=2", "--zero", stage) for stage in (1, 2, 3)), ("expert=2", "--zero", 2), ("expert=2", "--clip-norm", 0.1)]
for mesh, *options in MESHES:
    wanted = case.run(case.compile("clipped", *options), *steps) if "--clip-norm" in options else one
    found = trained("cut", mesh, *options)
    assert apart(found, wanted) < 2e-6, (mesh, options, found, wanted)
half = case.run(case.compile("half", "--precision", "bf16"), *steps)
assert apart(trained("half2", "expert=2", "--precision", "bf16"), half) < 2e-3

# Each rank holds its experts, and sends what the formulas say.
report = case.folder / "memory.json"
trained("planned", "expert=2", more=["--memory-report", report])
planned = lambda program: json.loads(case.do(program, "--plan"))  # noqa: E731
whole, plan = planned(case.folder / "one"), planned(case.folder / "planned")
ofExperts = sum(WEIGHTS[name].size for name in WEIGHTS if name.startswith("experts."))
for kind, times in (("parameters", 4), ("optimizer", 8)):
    assert whole["state_bytes"][kind] - plan["state_bytes"][kind] == times * ofExperts / 2, (kind, whole["state_bytes"], plan["state_bytes"])
places = 2 * LENGTH * SLOTS
sent = {(row["collective"], row["type"]): row["elements"] for row in plan["communication"] if row["axis"] == "expert"}
assert sent["dispatch", "f32"] == 2 * places * WIDTH and sent["combine", "f32"] == 2 * places * WIDTH, sent  # forward and backward
assert sent["dispatch", "i64"] == places and sent["all_gather", "i64"] == 2 * EXPERTS, sent
for rank in range(2):
    own = json.loads((report if rank == 0 else report.with_name(f"memory.rank-{rank}.json")).read_text())
    for key in ("arena_bytes", "state_bytes", "communication"):
        assert own[key] == plan[key], (rank, key, own[key], plan[key])

# The log's counts are numpy's; a rank has room for them, and for no row less.
ids = case.ids
scores = WEIGHTS["embed.weight"][ids].reshape(-1, WIDTH) @ WEIGHTS["router.weight"]
counts = np.bincount(np.argsort(-scores, axis=1, kind="stable")[:, :SLOTS].ravel(), minlength=EXPERTS)
for mesh, rows, ranks in (([], 16, 1), (["--mesh", "expert=2"], 8, 2), (["--accumulate", 2], 8, 1)):
    case.run(case.compile("counted", *mesh, "--log-experts", rows=rows), "--steps", 1, "--tensorboard", case.folder / "board", ranks=ranks)
    (logged,) = json.loads((case.folder / "log.jsonl").read_text().splitlines()[0])["experts"].values()
    assert logged == counts.tolist(), (mesh, logged, counts)
most = counts.reshape(2, -1).sum(1).max() / (8 * LENGTH * SLOTS)
fits = case.compile("fits", "--mesh", "expert=2", "--expert-capacity", f"{most:.6f}", rows=8)
case.run(fits, "--steps", 1, ranks=2)
full = case.compile("full", "--mesh", "expert=2", "--expert-capacity", f"{most - 0.02:.6f}", rows=8)
assert planned(fits)["arena_bytes"] < planned(case.compile("roomy", "--mesh", "expert=2", rows=8))["arena_bytes"]


def launched(program, ranks, *options):
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks), str(program), "--data", f"ids={case.folder / 'ids.npy'}",
            f"labels={case.folder / 'labels.npy'}", "--threads", "1", *map(str, options)]


done = subprocess.run(launched(full, 2, "--steps", 1), capture_output=True, text=True, timeout=120)
assert done.returncode and "has room for" in done.stderr and "--expert-capacity" in done.stderr, done.stderr

# Checkpoints of one mesh go on on any other; files are whole.
for name, mesh, options in (("cut", "expert=2", []), ("wide", "data=2,expert=2", ["--zero", 3])):
    given, rows, ranks = of(mesh, *options)
    program, folder = case.compile(name, *given, rows=rows), case.folder / f"of-{name}"
    on = case.run(program, *steps, "--resume", case.folder / "of-one", "--export-onnx", case.folder / f"{name}.onnx", ranks=ranks)
    assert apart(on[-6:], one[4:]) < 2e-6, (mesh, on, one)
    for tensor, value in weights_of(case.folder / "one.onnx").items():
        assert np.abs(value - weights_of(case.folder / f"{name}.onnx")[tensor]).max() < 1e-4, (mesh, tensor)
    case.run(program, "--steps", 6, "--lr", 0.01, "--checkpoint-dir", folder, ranks=ranks)
    back = case.run(case.folder / "one", *steps, "--resume", folder)
    assert apart(back[-4:], one[6:]) < 2e-6, (mesh, back, one)

def is_rank_1(process):
    try:
        return (os.readlink(f"/proc/{process}/exe") == str(program)
                and b"OMPI_COMM_WORLD_RANK=1" in pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0"))
    except OSError:
        return False


# A killed rank.
program, log = case.compile("cut", "--mesh", "expert=2", rows=2), case.folder / "killed.jsonl"
job = subprocess.Popen(launched(program, 2, "--steps", 1000000, "--log", log), stderr=subprocess.PIPE, text=True)
end = time.time() + 60
while time.time() < end and not (log.exists() and log.read_text().count("\n") > 3):
    time.sleep(0.05)
victim = next(number for number in map(int, filter(str.isdigit, os.listdir("/proc"))) if is_rank_1(number))
os.kill(victim, signal.SIGKILL)
_, said = job.communicate(timeout=120)
assert job.returncode != 0 and "rank 1" in said, said

for options, words in ((["--mesh", "expert=3"], "do not divide"), (["--mesh", "expert=2", "--same-bits", 2], "--same-bits is not available yet"),
                       (["--mesh", "expert=2", "--optimizer", "muon"], "muon is not available yet"),
                       (["--mesh", "expert=2", "--optimizer", "prodigy"], "prodigy is not available yet"),
                       (["--mesh", "expert=2", "--cautious", "updates"], "--cautious is not available yet"), (["--expert-capacity", 2], "axis 'expert'"),
                       (["--mesh", "expert=2,pipeline=2"], "'pipeline' is not available yet")):
    done = subprocess.run(["kedge", "plan", str(case.folder / "model.onnx"), "--shape", f"ids=2x{LENGTH}", "--loss", "cross-entropy", *map(str, options)],
                          capture_output=True, text=True)
    assert done.returncode == 1 and words in done.stderr, (options, done.stderr)
print("experts on ranks of their own train as on one")
