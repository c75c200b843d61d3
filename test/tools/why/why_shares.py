"""why_shares.py KEDGE MODEL TENSOR OPTIONS...: what a rank would hold of a parameter at each stage is what it holds there."""
import json
import subprocess
import sys

kedge, model, tensor, *options = sys.argv[1:]
for precision in ("fp32", "bf16"):
    for stage in range(4):
        words = [kedge, "why", model, tensor, *options, "--ranks", "4", "--zero", str(stage), "--precision", precision, "--json"]
        state = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)["state"]
        held = sum(copy["bytes"] for copy in state["copies"])
        (told,) = [row["state_bytes"] for row in state["shard"] if row["chosen"]]
        gathers = sum(len(function["gathers"]) for function in state["functions"])
        if held != told or (stage > 0) != (gathers > 0):
            sys.exit(f"{precision}, --zero {stage}: {held} bytes held, {told} told, {gathers} gathers")
print("each stage holds what is told")
