"""A checkpoint fits programs of another precision: across.py FOLDER, with programs bf16, fp16 and fp32 and the words of their
data behind it."""
import pathlib
import subprocess
import sys

from same_steps import steps
from small import tensors


def train(folder, name, data, checkpoints, count, *more):
    log, weights = folder / "log.jsonl", folder / "w.safetensors"
    subprocess.run([folder / name, *data, "--steps", str(count), "--checkpoint-dir", checkpoints, "--log", log,
                    "--export-safetensors", weights, *more], check=True, capture_output=True)
    return steps(log), {key: value.tobytes() for key, value in tensors(weights).items()}


def main():
    folder, data = pathlib.Path(sys.argv[1]), sys.argv[2:]
    for first, then in (("bf16", "fp32"), ("fp32", "bf16"), ("fp16", "fp32"), ("fp32", "fp16"), ("bf16", "fp16")):
        kept = folder / f"{first}-{then}"
        before, weights = train(folder, first, data, kept, 6)
        # Nothing left to do: what comes out is what was read.
        _, resumed = train(folder, then, data, kept, 6, "--resume")
        assert resumed == weights, f"{first} to {then}: other masters"
        after, _ = train(folder, then, data, kept, 12, "--resume")
        assert [line["step"] for line in after] == list(range(12)) and after[:6] == before, f"{first} to {then}: another log"
        losses = [line["loss"] for line in after]
        assert all(line["optimizer_steps"] == line["step"] + 1 for line in after), after
        assert max(losses[6:]) < losses[0] and abs(losses[6] - losses[5]) < 0.5 * losses[5], losses
        print(f"{first} to {then}: equal masters, loss {losses[5]:.4f}, then {losses[6]:.4f}")


if __name__ == "__main__":
    main()
