#!/usr/bin/env python3
"""The plan of the 7B Llama's shapes under 4-bit adapters: qlora_7b.py MODEL.onnx. Prints bytes an element."""
import json
import subprocess
import sys

LINEARS = r"layers\..*\.(q|k|v|o|gate|up|down)\.weight$"
WIDTH, HIDDEN, LAYERS, VOCAB, RANK = 4096, 11008, 32, 32000, 16
quantised = LAYERS * (4 * WIDTH * WIDTH + 3 * WIDTH * HIDDEN)
beside = 2 * VOCAB * WIDTH + (2 * LAYERS + 1) * WIDTH  # embedding, head, norms
adapters = LAYERS * RANK * (4 * 2 * WIDTH + 3 * (WIDTH + HIDDEN))

done = subprocess.run(["kedge", "plan", sys.argv[1], "--shape", "input_ids=1x1024", "--loss", "cross-entropy", "--precision", "bf16",
                       "--lora", LINEARS, "--lora-rank", str(RANK), "--quantize", f"{LINEARS}=nf4", "--double-quantize",
                       "--memory-budget", "8GB", "--json"], capture_output=True, text=True)
assert done.returncode == 0, done.stderr
report = json.loads(done.stdout)
held = report["state_bytes"]
base = held["parameters"] - 4 * adapters
few = base - 2 * beside
print(f"{quantised + beside} parameters, {adapters} of adapters")
print(f"weights in 4 bits: {few / quantised:.4f} bytes an element, the base: {base / (quantised + beside):.4f}")
assert few <= 0.52 * quantised and base <= 0.575 * (quantised + beside), held
assert held["optimizer"] == 8 * adapters and held["working_copies"] == held["gradients"] == 2 * adapters, held
assert report["fits"] and report["peak_bytes"] <= 8 * 10**9, report["peak_bytes"]
print("fits 8 GB")
