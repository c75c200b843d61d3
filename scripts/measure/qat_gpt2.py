#!/usr/bin/env python3
"""GPT-2 with int4 weights in blocks, in ONNX Runtime: qat_gpt2.py [--layers 12 --width 768 --heads 12 --vocab 50257] [--folder DIR]

Needs a Python with torch, onnx and onnxruntime; kedge in PATH. New weights of scripts/make/make_gpt2.py train for --steps steps with
`--qat blocks=int4 --qat-scales block`, are exported in both forms (QuantizeLinear pairs where the file's opset has them, MatMulNBits), and
ONNX Runtime's logits are compared with those that the program predicts: the furthest, as a share of the logits' range, and how often the likeliest token
is the same.
"""
import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS, LENGTH = 2, 64


def run(folder, *words):
    done = subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{words}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("layers", 12), ("width", 768), ("heads", 12), ("vocab", 50257), ("steps", 4)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--folder", type=pathlib.Path)
    o = parser.parse_args()
    folder = (o.folder or pathlib.Path(tempfile.mkdtemp())).resolve()
    folder.mkdir(exist_ok=True, parents=True)
    run(folder, sys.executable, ROOT / "scripts/make/make_gpt2.py", "gpt2.onnx", "--layers", o.layers, "--width", o.width, "--heads", o.heads,
        "--vocab", o.vocab, "--positions", LENGTH, "--opset", 21)
    model = onnx.load(folder / "gpt2.onnx", load_external_data=False).graph
    name, logits = model.input[0].name, model.output[0].name
    draw = np.random.default_rng(0)
    tokens = draw.integers(0, o.vocab, (ROWS * o.steps, LENGTH))
    np.save(folder / "ids.npy", tokens)
    np.save(folder / "labels.npy", np.roll(tokens, -1, 1))
    print("| form | MatMulNBits | bytes | furthest logit / range | same token |\n|---|---|---|---|---|")
    for form in ("qdq", "matmulnbits"):
        run(folder, "kedge", "compile", "gpt2.onnx", "--shape", f"{name}={ROWS}x{LENGTH}", "--loss", "cross-entropy", "--qat", "blocks.*=int4", "--qat-scales",
            "block", "--qat-activations", "none", "--qat-form", form, "-o", "train")
        run(folder, "./train", "--data", f"{name}=ids.npy", "labels=labels.npy", "--steps", o.steps, "--lr", 1e-4, "--eval-data", f"{name}=ids.npy",
            "labels=labels.npy", "--predict", f"{logits}=ours.npy", "--export-onnx", f"{form}.onnx", "--export-quantized")
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.optimized_model_filepath = str(folder / "run.onnx")
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "run.data")
        session = onnxruntime.InferenceSession(str(folder / f"{form}.onnx"), options, providers=["CPUExecutionProvider"])
        ours, theirs = np.load(folder / "ours.npy"), session.run([logits], {name: tokens})[0]
        kinds = collections.Counter(n.op_type for n in onnx.load(folder / "run.onnx", load_external_data=False).graph.node)
        size = sum(p.stat().st_size for p in folder.glob(f"{form}.onnx*"))
        print(f"| {form} | {kinds['MatMulNBits']} of {4 * o.layers} | {size} | {np.abs(ours - theirs).max() / np.ptp(ours):.1e} | "
              f"{(ours.argmax(-1) == theirs.argmax(-1)).mean() * 100:.2f}% |", flush=True)


main()
