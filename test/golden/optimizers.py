#!/usr/bin/env python3
"""Trains the golden model gpt with other optimizers and compares with torch.optim, bitsandbytes and their authors' code: optimizers.py GOLDEN OUT [RUN...].

With `few_bits` in the place of RUN: weights in 4 bits, exported again, are bitsandbytes' to the bit.
"""
import json
import pathlib
import struct
import subprocess
import sys

from check import differences, number, train


def exported(path, name):
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    begin, end = json.loads(raw[8:8 + size])[name]["data_offsets"]
    return raw[8 + size + begin:8 + size + end]


def as_bitsandbytes(weight):
    """The bytes of the dequantised weight: table[code] absmax, rounded to f32 once."""
    codes = [code for byte in bytes.fromhex(weight["codes"]) for code in (byte >> 4, byte & 15)]
    values = [weight["table"][code] * weight["absmax"][k // 64] for k, code in enumerate(codes)]
    return struct.pack(f"<{len(values)}f", *values)


def few_bits(golden, out, weights):
    out.mkdir(parents=True, exist_ok=True)
    words = [word for name, weight in weights.items() for word in ("--quantize", f"^{name}$={weight['format']}")]
    subprocess.run(["kedge", "compile", golden / "gpt" / "model.onnx", "--shape", "input_ids=4x24", "--loss", "cross-entropy",
                    "--freeze", "proj", *words, "-o", out / "program"], check=True)
    subprocess.run([out / "program", "--steps", "0", "--export-safetensors", out / "w.safetensors"], check=True)
    wrong = [name for name, weight in weights.items() if exported(out / "w.safetensors", name) != as_bitsandbytes(weight)]
    print(f"weights in few bits: {len(weights) - len(wrong)} of {len(weights)} as in bitsandbytes")
    return bool(wrong)


def main():
    golden, out = map(pathlib.Path, sys.argv[1:3])
    record = json.loads((golden / "optimizers.json").read_text())
    if sys.argv[3:] == ["few_bits"]:
        sys.exit(few_bits(golden, out, record["few_bits"]))
    failed = 0
    for name in sys.argv[3:] or record["runs"]:
        trace = {**record["runs"][name], "data": {"input_ids": "input_ids.npy", "labels": "labels.npy"}}
        trace["lr"] = [float(trace["run"][-1]) * min(1, (step + 1) / number(trace["compile"], "--warmup")) for step in range(len(trace["loss"]))]
        if trace["relative"] > 1e-3:  # Muon's products in bf16: losses and gradients alone
            trace["norms"] = {}
        log, norms = train(golden / "gpt", trace, out / name.replace(" ", "-"), [])
        wrong = list(differences(trace, log, norms))
        print("\n".join(wrong) or f"{name}: {len(log)} steps and {len(trace['norms'])} norms as in the reference", flush=True)
        failed += bool(wrong)
    sys.exit(failed)


if __name__ == "__main__":
    main()
