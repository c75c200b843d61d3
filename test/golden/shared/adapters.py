#!/usr/bin/env python3
"""Runs of low-rank adapters beside the repository, step by step as peft's: adapters.py SHARED CASE OUT [RUN...].

Compares loss, gradient norm and the norms of the trained adapters with the trace, and the exported folder of the first run
with the one that peft saved. Weights in few bits: their values, exported, have the norms of bitsandbytes' ones.
"""
import json
import math
import pathlib
import re
import struct
import subprocess
import sys


def tensors(path):
    """Name -> (shape, flat values) of a safetensors file in F32."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    found = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        assert entry["dtype"] == "F32", (name, entry["dtype"])
        found[name] = entry["shape"], struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
    return found


def norm(values):
    return math.sqrt(math.fsum(v * v for v in values))


def differs(what, found, expected, tolerance):
    if abs(found - expected) <= tolerance * max(abs(expected), 1e-6):
        return []
    return [f"{what}: {found}, peft has {expected}"]


def compare_log(path, run):
    wrong, lines = [], [json.loads(line) for line in path.read_text().splitlines()]
    if len(lines) != len(run["loss"]):
        return [f"{len(lines)} steps, expected {len(run['loss'])}"]
    for line, loss, grad_norm in zip(lines, run["loss"], run["grad_norm"]):
        tolerance = run["tolerance"]["relative"]
        wrong += differs(f"loss of step {line['step']}", line["loss"], loss, tolerance)
        wrong += differs(f"grad_norm of step {line['step']}", line["grad_norm"], grad_norm, 20 * tolerance)
    return wrong


def compare_norms(folder, run):
    found = tensors(folder / "adapter_model.safetensors")
    wrong = []
    for name, expected in run["adapter_norms"].items():
        key = re.sub(r"^model\.", "", name).replace(".default.weight", ".weight")
        wrong += differs(key, norm(found[key][1]), expected, 100 * run["tolerance"]["relative"]) if key in found else [f"no {key}"]
    return wrong


def compare_folder(found, expected, tolerance):
    mine, theirs = (tensors(folder / "adapter_model.safetensors") for folder in (found, expected))
    wrong = [] if mine.keys() == theirs.keys() else [f"tensors {sorted(mine.keys() ^ theirs.keys())} are in one folder only"]
    for name in mine.keys() & theirs.keys():
        gap = norm([a - b for a, b in zip(mine[name][1], theirs[name][1])]) / norm(theirs[name][1])
        if mine[name][0] != theirs[name][0] or gap > tolerance:
            wrong.append(f"{name}: {mine[name][0]}, {gap:.1e} off")
    return wrong


def compare_dequantised(shared, base, run, out):
    words = run["compile"][run["compile"].index("--quantize"):]
    quantized = out / "quantised"
    subprocess.run(["kedge", "compile", base / "model.onnx", "--shape", "input_ids=4x32", "--loss", "cross-entropy", "--freeze",
                    "_proj", *words, "-o", quantized], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([quantized, "--steps", "0", "--export-safetensors", out / "q.safetensors"], check=True, stderr=subprocess.DEVNULL)
    found, wrong = tensors(out / "q.safetensors"), []
    for name, expected in run["dequantised_norms"].items():
        wrong += differs(f"dequantised {name}", norm(found[name][1]), expected, 1e-6)
    return wrong


def run_one(shared, case, name, run, base, out, first):
    program, log = out / f"{name}-program", out / f"{name}.jsonl"
    words = [str(shared / "adapters" / case / "adapter") if word == "ADAPTER" else word for word in run["compile"]]
    subprocess.run(["kedge", "compile", base / "model.onnx", *words, "-o", program], check=True, stdout=subprocess.DEVNULL)
    data = [word for key in ("input_ids", "labels") for word in ("--data", f"{key}={base / key}.npy")]
    subprocess.run([program, *data, *run["run"], "--log", log, "--export-adapter", out / name], check=True, stderr=subprocess.DEVNULL)
    wrong = compare_log(log, run) + compare_norms(out / name, run)
    if first:
        wrong += compare_folder(out / name, shared / "adapters" / case / "trained", 1e-3)
    if "dequantised_norms" in run:
        wrong += compare_dequantised(shared, base, run, out)
    print("\n".join(wrong[:8] + [f"{case} {name}: {len(wrong)} differences"]), flush=True)
    return bool(wrong)


def has_values_of_codes(run, again):
    """Whether the frozen weights of a trace are table[code] absmax: then it is followed as it stands."""
    return all(not differs(name, norm, again["dequantised_norms"][name], 1e-6) for name, norm in run["dequantised_norms"].items())


def main():
    shared, case, out = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    trace = json.loads((shared / "adapters" / case / "trace.json").read_text())
    for name, run in json.loads((pathlib.Path(__file__).parent / "nf4.json").read_text()).items():
        if name in trace["runs"] and not has_values_of_codes(trace["runs"][name], run):
            print(f"{case} {name}: the trace's weights are not the values of their codes (make_nf4.py says why); its run is made again")
            trace["runs"][name].update(run)
    base, runs = shared / "models" / trace["base"], sys.argv[4:] or list(trace["runs"])
    wrong = [run_one(shared, case, name, trace["runs"][name], base, out, name == list(trace["runs"])[0]) for name in runs]
    print(f"{case}: {wrong.count(False)} of {len(runs)} runs as in peft")
    sys.exit(any(wrong))


if __name__ == "__main__":
    main()
