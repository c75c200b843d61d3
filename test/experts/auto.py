#!/usr/bin/env python3
"""auto.py FOLDER: --auto also has ranks with experts of their own. Where whole experts do not fit it chooses them, and the program that is compiled so trains as one rank does."""
import json
import subprocess
import sys

from mixture import Mixture, apart

case = Mixture(sys.argv[1])
steps, given = ["--steps", 5, "--lr", 0.01], ["--zero", 0, "--ranks", 4, "--auto"]
free = case.plan("model.onnx", *given, rows=1)
meshes = {one["value"] for one in free["auto"]["axes"]["mesh"]}
assert {"data=4", "data=2,expert=2", "expert=4", "replica=2,expert=2", "tensor=4"} <= meshes, meshes
whole, shared = (case.plan("model.onnx", "--zero", 0, "--mesh", mesh, rows=1)["peak_bytes"] for mesh in ("data=4", "expert=4"))
assert shared < whole
tight = [*given, "--memory-budget", str(shared + (whole - shared) // 8)]
plan = case.plan("model.onnx", *tight, rows=1)
assert plan["fits"] and "expert" in plan["auto"]["choice"]["mesh"], plan["auto"]["choice"]
assert plan["auto"]["lower_bound"] <= plan["auto"]["seconds"]
one = case.run(case.compile("one", rows=4), *steps)
assert apart(case.run(case.compile("chosen", *tight, rows=1), *steps, ranks=4), one) < 2e-6
done = subprocess.run(["kedge", "plan", case.folder / "model.onnx", "--shape", "ids=1x12", "--loss", "cross-entropy", "--optimizer", "muon", "--ranks", "2", "--zero", "0", "--auto",
                       "--json"], capture_output=True, text=True)
ways = json.loads(done.stdout)["auto"]
assert done.returncode == 0 and {one["value"] for one in ways["axes"]["mesh"]} == {"data=2", "tensor=2", "pipeline=2"}, (done.stderr, ways)
print("--auto has experts on ranks of their own")
