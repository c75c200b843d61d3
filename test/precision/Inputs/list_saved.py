"""list_saved.py MODEL SHAPE: what of forward is f32 and read by backward, by precision."""
import subprocess
import sys

from saved import saved_wide

for precision in ("bf16", "fp16"):
    text = subprocess.run(["kedge", "compile", sys.argv[1], "--shape", sys.argv[2], "--loss", "cross-entropy", "--emit", "train", "--with-places",
                           "--precision", precision], check=True, capture_output=True, text=True).stdout
    print(f"{precision}: " + ", ".join(sorted({f"{op} {shape}" for op, shape in saved_wide(text)})))
