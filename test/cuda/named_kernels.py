"""A pack whose programs do nothing but end, judged by the conformance script: named_kernels.py ROOT TEMP."""
import json
import pathlib
import subprocess
import sys

root, pack = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
kernels = {"with-it": ["k0_norm", "k3_attention_warpgroups"], "without-it": ["k0_norm", "k3_attention"], "plain": ["k3_attention"]}
row = {"model": "heads", "low": True}
about = {"options": "--target cuda:sm_90a", "kernel": "attention_warpgroups"}
golden = [{**row, "run": name, "program": name, **({} if name == "plain" else about)} for name in kernels]
parts = dict.fromkeys(("same_bits", "timed", "ranks", "features"), [])
for folder in ("programs", "models/heads"):
    (pack / folder).mkdir(parents=True)
for name in kernels:
    program = pack / "programs" / name
    program.write_text("#!/bin/sh\necho ran\nexit 3\n")
    program.chmod(0o755)
run = {"compile": [], "run": ["--steps", "1"], "loss": [1.0]}
(pack / "models/heads/trace.json").write_text(json.dumps({"data": {}, "runs": dict.fromkeys(kernels, run)}))
(pack / "manifest.json").write_text(json.dumps({"arch": "sm_90", "golden": golden, "kernels": kernels, **parts}))
done = subprocess.run([sys.executable, root / "scripts/gpu/gpu_conformance.py", pack, "--only", "low", "--jobs", "1", "--out", pack / "out"],
                      capture_output=True, text=True)
print((pack / "out/table.md").read_text(), done.stderr[-500:])
print("exit code", done.returncode)
