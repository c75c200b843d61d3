#!/usr/bin/env python3
"""Compiles and trains the project's golden models and compares with PyTorch's traces:
check.py FOLDER|TRACE.json OUT [OPTION OF COMPILE...].

With `--ranks N` among the options N ranks share the trace's rows, started by mpirun.
Needs only Python's standard library. Loss within `relative` of the trace at each step, gradient norm within ten times
that and 1e-4, learning rate within 1e-6; L2 norms of all parameters and buffers after the last step within 1e-4, or `relative` if
that is more.
"""
import json
import math
import pathlib
import struct
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import machine


def safetensors_norms(path):
    raw = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    norms = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = entry["data_offsets"]
        values = struct.unpack(f"<{(end - begin) // 4}f", raw[8 + size + begin:8 + size + end])
        norms[name] = math.sqrt(sum(v * v for v in values))
    return norms


def shared_among(ranks, words):
    """The options of compile with each rank's share of the rows."""
    shared = list(words)
    for at in range(1, len(words)):
        if words[at - 1] == "--shape":
            name, sizes = words[at].split("=")
            rows, *rest = sizes.split("x")
            shared[at] = f"{name}={'x'.join([str(int(rows) // ranks), *rest])}"
    return shared


def train(folder, trace, out, options):
    ranks = int(options[options.index("--ranks") + 1]) if "--ranks" in options else 1
    launcher = [] if ranks == 1 else ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks)]
    out.mkdir(parents=True, exist_ok=True)
    program, log, weights = out / "program", out / "log.jsonl", out / "trained.safetensors"
    subprocess.run(["kedge", "compile", folder / trace.get("model", "model.onnx"), *shared_among(ranks, trace["compile"]), *options, *machine.COMPILE, "-o", program], check=True)
    data = [word for name, file in trace["data"].items() for word in ("--data", f"{name}={folder / file}")]
    subprocess.run([*launcher, *machine.LAUNCHER, program, *data, *trace["run"], "--log", log, "--export-safetensors", weights], check=True)
    return [json.loads(line) for line in log.read_text().splitlines()], safetensors_norms(weights)


def differences(trace, log, norms):
    relative = trace["relative"]
    allowed = {"loss": relative, "grad_norm": 10 * relative + 1e-4, "lr": 1e-6}
    if [line["step"] for line in log] != list(range(len(trace["loss"]))):
        yield f"expected steps 0 to {len(trace['loss']) - 1}, found {[line['step'] for line in log]}"
        return
    for key, bound in allowed.items():
        gaps = [abs(line[key] - want) / max(abs(want), 1e-3) for line, want in zip(log, trace[key])]
        step = max(range(len(gaps)), key=gaps.__getitem__)
        print(f"{key}: largest relative difference {gaps[step]:.2e} at step {step}, allowed {bound:.2e}")
        if not gaps[step] <= bound:
            yield f"{key} at step {step}: expected {trace[key][step]}, found {log[step][key]}"
    for name, want in trace["norms"].items():
        found = norms.get(name, math.nan)
        if not abs(found - want) <= max(1e-4, relative) * max(want, 1e-3):
            yield f"norm of {name}: expected {want}, found {found}"


def main():
    folder, out = map(pathlib.Path, sys.argv[1:3])
    file = folder if folder.suffix == ".json" else folder / "trace.json"
    trace, folder = json.loads(file.read_text()), file.parent
    log, norms = train(folder, trace, out, sys.argv[3:])
    wrong = list(differences(trace, log, norms))
    print("\n".join(wrong) or f"{folder.name}: {len(log)} steps and {len(trace['norms'])} norms as in PyTorch")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
