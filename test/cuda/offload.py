#!/usr/bin/env python3
"""What a program with --offload says when the machine or the driver fails it: offload.py GOLDEN TEMP STUBS."""
import json
import os
import pathlib
import re
import subprocess
import sys


def main():
    folder, program, stubs = map(pathlib.Path, sys.argv[1:])
    trace = json.loads((folder / "trace.json").read_text())
    subprocess.run(["kedge", "compile", folder / "model.onnx", *trace["compile"], "--offload", "optimizer,activations",
                    "--target", "cuda", "-o", program], check=True)
    data = [word for name, file in trace["data"].items() for word in ("--data", f"{name}={folder / file}")]

    def run(**environment):
        return subprocess.run([program, *data, *trace["run"], "--memory-report", f"{program}.json"],
                              capture_output=True, text=True, env={**os.environ, "LD_LIBRARY_PATH": str(stubs), **environment})

    done = run()
    if done.returncode:
        sys.exit(done.stderr)
    report = json.loads(pathlib.Path(f"{program}.json").read_text())
    print(f"page-locked: {report['device']['page_locked_bytes'] >= report['host_bytes'] > 0}")
    forgetful = run(KEDGE_STUB_FORGET_WAITS="1")
    print(f"a driver that forgets waits: exit code {forgetful.returncode}, {forgetful.stderr.splitlines()[-1]}")
    refused = run(KEDGE_STUB_FAIL="cuMemHostAlloc:1:2")
    bytes_named = re.search(rf"\b{report['host_bytes']} bytes", refused.stderr) is not None
    print(f"no memory: exit code {refused.returncode}, bytes named: {bytes_named}, {refused.stderr.splitlines()[-1]}")


if __name__ == "__main__":
    main()
