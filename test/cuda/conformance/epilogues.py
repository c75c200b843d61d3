"""Epilogues of products in a whole program: epilogues.py PROGRAM CPU-PROGRAM FOLDER TYPE, FOLDER the data's. Gradients on the simulated GPU
against the CPU's, where the stand-in for cuBLASLt takes epilogues, all or those that are chosen, and where it takes none; its record and the memory report tell which."""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys

GPU, CPU, FOLDER = map(pathlib.Path, sys.argv[1:4])
TYPE = sys.argv[4]
UNIT = {"bf16": 2**-8, "fp16": 2**-11}[TYPE]
EPILOGUES = {"32": "gelu", "36": "gelu", "164": "gelu kept", "192": "gelu's gradient", "208": "gelu's gradient and bias", "256": "bias", "512": "bias"}


def tensors(path):
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    for name, entry in sorted(json.loads(raw[8:8 + size]).items()):
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            assert entry["dtype"] == "F32", entry
            yield name, struct.unpack(f"<{(end - begin) // 4}f", raw[8 + size + begin:8 + size + end])


def run(program, way, **environment):
    paths = {what: program.with_suffix(f".{way}.{what}") for what in ("gradients", "calls", "memory", "loss")}
    subprocess.run([program, "--data", f"input_ids={FOLDER / 'input_ids.npy'}", "--data", f"labels={FOLDER / 'labels.npy'}", "--steps", "4",
                    "--dump-gradients", paths["gradients"], "--dump-step", "2", "--log", paths["loss"], "--memory-report", paths["memory"]],
                   env={**os.environ, "KEDGE_STUB_LOG": str(paths["calls"]), **environment}, check=True)
    return paths


def took(paths):
    """The epilogues that ran."""
    return {EPILOGUES[number] for number in re.findall(r"cublasLtMatmul .* epilogue (\d+)", paths["calls"].read_text())}


def compare(way, mine, reference):
    farthest = 0
    for (name, a), (other, b) in zip(mine, reference, strict=True):
        assert name == other and len(a) == len(b)
        scale = max(map(abs, b)) or 1
        farthest = max(farthest, max(abs(x - y) for x, y in zip(a, b)) / scale)
    assert farthest < 16 * UNIT, (way, farthest)
    print(f"{way}: gradients of {len(reference)} parameters are the CPU's")


def main():
    reference = list(tensors(run(CPU, "cpu")["gradients"]))
    taken = run(GPU, "taken", KEDGE_EPILOGUES="fused")
    chosen = run(GPU, "chosen")
    refused = run(GPU, "refused", KEDGE_STUB_NO_EPILOGUE="1")
    neither = run(GPU, "neither", KEDGE_STUB_NO_BIAS="1")
    invalid = run(GPU, "invalid", KEDGE_STUB_NO_EPILOGUE="7")  # CUBLAS_STATUS_INVALID_VALUE
    wished = run(GPU, "wished", KEDGE_EPILOGUES="apart")
    for way, paths in (("taken", taken), ("chosen", chosen), ("refused", refused), ("neither", neither)):
        compare(way, list(tensors(paths["gradients"])), reference)
    print("taken:", ", ".join(sorted(took(taken))))
    print("chosen: all but", ", ".join(sorted(took(taken) - took(chosen))))
    for way in (refused, neither, invalid, wished):
        assert not took(way), took(way)
    for way in (invalid, wished):
        assert refused["gradients"].read_bytes() == way["gradients"].read_bytes()
    sources = {way: json.loads(paths["memory"].read_text())["device"]["product_algorithms"] for way, paths in
               (("taken", taken), ("refused", refused))}
    apart = "none with an epilogue, which runs apart"
    assert apart not in sources["taken"] and sources["refused"][apart] > 0, sources
    print("refused: the memory report counts", sources["refused"][apart])


main()
