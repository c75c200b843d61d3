"""The advice of messages about a DeepSpeed configuration, followed: deepspeed_advice.py MODEL-FOLDER OUT. Each message is brought
about; each way out that it names then gives a plan. The schedule becomes the program's defaults."""
import json
import pathlib
import re
import subprocess
import sys

folder, out = map(pathlib.Path, sys.argv[1:3])
out.mkdir(parents=True, exist_ok=True)
MODEL = [folder / "model.onnx", "--shape", "input=8x10", "--loss", "mse"]


def run(command, config, *options):
    (out / "ds.json").write_text(config if isinstance(config, str) else json.dumps(config))
    words = ["kedge", command, *MODEL, "--deepspeed-config", out / "ds.json", *options]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def zero(**keys):
    return {"zero_optimization": keys}


def optimizer(kind, **keys):
    return {"optimizer": {"type": kind, "params": keys}}


def scheduler(kind, **keys):
    return {"scheduler": {"type": kind, "params": keys}}


# What is wrong, options, the advice; then each way out: a configuration and options.
CASES = [
    (zero(stage=2), ["--ranks", "2", "--zero", "3"], "leave one of them out, or make them agree",
     ({}, ["--ranks", "2", "--zero", "3"]), (zero(stage=2), ["--ranks", "2"]), (zero(stage=3), ["--ranks", "2", "--zero", "3"])),
    ({"train_batch_size": 24}, ["--ranks", "1,2"], "give one, or leave the key out", ({"train_batch_size": 16}, ["--ranks", "2"])),
    ({"train_batch_size": 9, "gradient_accumulation_steps": 2}, ["--ranks", "2"], "mend it, or give another --ranks N",
     ({"train_batch_size": 32, "gradient_accumulation_steps": 2}, ["--ranks", "2"])),
    ({"train_batch_size": 24, "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 2}, ["--ranks", "2"],
     "mend one of them, or give another --ranks N",
     ({"train_batch_size": 32, "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 2}, ["--ranks", "2"]),
     ({"train_batch_size": 24, "train_micro_batch_size_per_gpu": 8}, ["--ranks", "3"])),
    (zero(zero_quantized_weights=True), [], "leave it out", ({}, [])),
    (zero(zero_quantized_gradients=True), [], "leave it out", ({}, [])),
    (zero(offload_optimizer={"device": "cpu", "ratio": 0.5}), [], "leave it out", (zero(offload_optimizer={"device": "cpu"}), [])),
    (zero(offload_optimizer={"device": "cpu"}), ["--offload", "params"], "make them agree",
     (zero(offload_optimizer={"device": "cpu"}), ["--offload", "optimizer"]), (zero(offload_param={"device": "cpu"}), ["--offload", "params"])),
    ({"activation_checkpointing": {}}, [], "give --recompute or --memory-budget",
     ({"activation_checkpointing": {}}, ["--recompute", "full"]), ({"activation_checkpointing": {}}, ["--memory-budget", "1MiB"])),
    ("{", [], "mend the file", ("{}", [])),
    ('{"steps_per_print": 1, "steps_per_print": 2}', [], "leave one of them out", ({"steps_per_print": 1}, [])),
    ({"steps_per_prin": 1}, [], "mend its name, or leave it out", ({"steps_per_print": 1}, []), ({}, [])),
    ({"fp16": {"enabled": True}, "bf16": {"enabled": True}}, [], "set the other to false", ({"fp16": {"enabled": False}, "bf16": {"enabled": True}}, [])),
    ({"bf16": {"enabled": True}}, ["--precision", "fp16"], "leave one of them out, or make them agree",
     ({"bf16": {"enabled": True}}, []), ({}, ["--precision", "fp16"]), ({"bf16": {"enabled": True}}, ["--precision", "bf16"])),
    ({"fp16": {"enabled": True, "consecutive_hysteresis": True}}, [], "leave it out", ({"fp16": {"enabled": True}}, [])),
    ({"optimizer": {}}, [], "name it, or leave 'optimizer' out", (optimizer("SGD"), []), ({}, [])),
    (optimizer("auto", lr=0.1), [], "name the type", (optimizer("AdamW", lr=0.1), [])),
    (optimizer("AdamW", adam_w_mode=False), [], "make the type Adam, or leave it out", (optimizer("Adam", adam_w_mode=False), []), (optimizer("AdamW"), [])),
    (optimizer("Adam", amsgrad=True), [], "leave it out", (optimizer("Adam"), [])),
    (optimizer("Adam", bias_correction=False), [], "leave it out", (optimizer("Adam"), [])),
    (optimizer("SGD", momentum=0.9, nesterov=False), ["--nesterov"], "make them agree", (optimizer("SGD", momentum=0.9, nesterov=True), ["--nesterov"])),
    (optimizer("SGD", dampening=0.1), [], "leave it out", (optimizer("SGD"), [])),
    ({"scheduler": {}}, [], "name it, or leave 'scheduler' out", (scheduler("WarmupLR"), []), ({}, [])),
    (scheduler("OneCycle"), [], "leave 'scheduler' out and give the program --schedule", ({}, [])),
    (scheduler("WarmupDecayLR"), [], "name it, or make it \"auto\"", (scheduler("WarmupDecayLR", total_num_steps=9), []),
     (scheduler("WarmupDecayLR", total_num_steps="auto"), [])),
]

followed = 0
for wrong, options, advice, *ways in CASES:
    code, said = run("plan", wrong, *options)
    note = "kedge: warning" in said and code == 0 and wrong == {"activation_checkpointing": {}}
    assert advice in said and (code == 1 or note), (wrong, options, code, said)
    for better, words in ways:
        code, said = run("plan", better, *words)
        assert code == 0 and advice not in said, (wrong, better, words, code, said)
        followed += 1

config = scheduler("WarmupCosineLR", warmup_num_steps=2, total_num_steps=5, cos_min_ratio=0.1, warmup_min_ratio=0.5)
code, said = run("compile", {**config, **optimizer("SGD", lr=0.05)}, "-o", out / "program")
assert code == 0, said
flags = re.findall(r"scheduler\.[^:]*: applied: (--[a-z-]+)", said)
data = [word for name in ("input", "labels") for word in ("--data", f"{name}={folder / name}.npy")]
subprocess.run([out / "program", *data, "--steps", "5", "--log", out / "log"],
               check=True, stderr=subprocess.DEVNULL)
rates = [json.loads(line)["lr"] for line in (out / "log").read_text().splitlines()]
assert len(flags) == 5 and rates[0] < rates[1] == rates[2] > rates[3] > rates[4], (flags, rates)
print(f"{len(CASES)} messages, {followed} ways out; the program has {len(flags)} defaults of its schedule")
