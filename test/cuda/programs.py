#!/usr/bin/env python3
"""Golden models for CUDA against the stand-ins for NVIDIA's libraries: programs.py GOLDEN OUT STUBS."""
import json
import os
import pathlib
import subprocess
import sys

CASES = [("perceptron", "sm_80", []), ("perceptron", "sm_90", []), ("gpt", "sm_90", []), ("gpt", "sm_100", []),
         ("convnet", "sm_90", []), ("convnet", "sm_90", ["--convolution", "generated"]),
         ("convnet", "sm_90", ["--precision", "bf16", "--convolution", "auto"]), ("convnet", "sm_90", ["--precision", "bf16", "--convolution", "cudnn"]),
         ("gpt", "sm_90", ["--accumulate", "2"]), ("gpt", "sm_90", ["--recompute", "full"]),
         ("perceptron", "sm_90", ["--precision", "fp16"])]


def run(golden, out, stubs, model, arch, words):
    folder = golden / model
    trace = json.loads((folder / "trace.json").read_text())
    program, calls, log = out / f"{model}-{arch}{''.join(words)}", out / "calls.txt", out / "log.jsonl"
    subprocess.run(["kedge", "compile", folder / "model.onnx", *trace["compile"], *words, "--target", f"cuda:{arch}", "-o",
                    program], check=True)
    calls.unlink(missing_ok=True)
    data = [word for name, file in trace["data"].items() for word in ("--data", f"{name}={folder / file}")]
    steps = trace["run"][:]
    steps[steps.index("--steps") + 1] = "4"
    capability = arch.removeprefix("sm_")
    loaded = out / "loaded"
    subprocess.run([program, *data, *steps, "--log", log, "--checkpoint-dir", f"{program}.ck",
                    "--export-onnx", f"{program}.onnx"], check=True, stderr=subprocess.DEVNULL,
                   env=dict(os.environ, LD_LIBRARY_PATH=str(stubs), KEDGE_STUB_LOG=str(calls), KEDGE_STUB_CAPABILITY=capability,
                            LD_DEBUG="libs", LD_DEBUG_OUTPUT=str(loaded)))
    lines = calls.read_text().splitlines()
    count = lambda start: sum(line.startswith(start) for line in lines)
    title = " ".join([model, arch, *words])
    convolutions = count("cudnnConvolution") + count("cudnnBackendExecute")
    print(f"{title}: {len(log.read_text().splitlines())} steps, {count('cuLaunchKernel')} launches, "
          f"{count('cuLaunchKernel group')} of them updates of many tensors, "
          f"{count('cublasLtMatmul ')} products, {convolutions} convolutions, "
          f"{count('cuStreamBeginCapture')} graphs", flush=True)
    trails = list(out.glob("loaded.*"))
    opens = any("libcudnn" in trail.read_text(errors="replace") for trail in trails)
    if not trails or opens != bool(convolutions):
        sys.exit(f"{title}: libcudnn is {'opened' if opens else 'not opened'}")
    for trail in trails:
        trail.unlink()
    if not count("cuGraphLaunch"):
        sys.exit(f"{title}: no graph was started")


def main():
    golden, out, stubs = map(pathlib.Path, sys.argv[1:])
    for model, arch, words in CASES:
        run(golden, out, stubs, model, arch, words)


if __name__ == "__main__":
    main()
