#!/usr/bin/env python3
"""A program with a plan for each of several numbers of ranks: several.py GOLDEN OUT. Its runs are those of programs for one."""
import json
import pathlib
import subprocess
import sys

golden, out = pathlib.Path(sys.argv[1]) / "perceptron", pathlib.Path(sys.argv[2])
trace = json.loads((golden / "trace.json").read_text())


def compiled(name, *words, code=0):
    done = subprocess.run(["kedge", "compile", golden / "model.onnx", "--shape", "input=2x10", "--loss", "mse", "--zero", "2", *words, "-o",
                           out / name], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stderr


def run(program, ranks, code=0, before=""):
    """`before`: what a rank does first, in bash."""
    log = out / f"{program}-{ranks}.jsonl"
    data = [word for name, file in trace["data"].items() for word in ("--data", f"{name}={golden / file}")]
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks)] if ranks > 1 else []
    done = subprocess.run([*mpirun, *(["bash", "-c", before + 'exec "$@"', "rank"] if before else []), out / program, *data, "--steps", "6", "--threads", "1", "--log", log], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stderr if code else [json.loads(line)["loss"] for line in log.read_text().splitlines()]


compiled("several", "--ranks", "1,2,4", "--cpu", "x86-64-v3,native")
for ranks in (1, 2, 4):
    compiled(f"of-{ranks}", "--ranks", str(ranks))
    assert run("several", ranks) == run(f"of-{ranks}", ranks), ranks
print("1, 2 and 4 ranks: the losses of programs for each")
error = run("several", 3, code=1)
assert "3 ranks started this program, which was compiled for 1, 2, 4" in error, error
early = 'if [ $OMPI_COMM_WORLD_RANK = 0 ]; then (sleep 1.5; kill -TERM $$) & else sleep 3; fi; '
stopped = run("several", 2, code=143, before=early)  # rank 0 waits in MPI_Init when the signal comes
assert "stopped by a signal after step 0 of 6: nothing was trained" in stopped, stopped
print("a signal while ranks connect ends them before the first step")
for words, text in ((["--ranks", "2,2"], "2 is named twice"), (["--ranks", "1,2", "--save-ir", out / "ir"], "--save-ir takes one plan; give one"),
                    (["--ranks", "1,2", "--emit", "obj"], "--emit obj takes one plan")):
    error = compiled("no", *words, code=1)
    assert text in error, error
    assert not (out / "no").exists()
done = subprocess.run(["kedge", "plan", golden / "model.onnx", "--shape", "input=2x10", "--loss", "mse", "--ranks", "1,2"], capture_output=True, text=True)
assert done.returncode == 1 and "expected one number of ranks; only a program takes several" in done.stderr, done.stderr
small = compiled("no", "--ranks", "1,2", "--memory-budget", "1KB", code=2)
assert "on 1 ranks:" in small and "smallest feasible budget" in small.splitlines()[-1], small
for _ in range(4):  # it was lost in some of many
    error = run("several", 5, code=1)
    assert "5 ranks started this program, which was compiled for 1, 2, 4" in error, error
print("other worlds are refused")
