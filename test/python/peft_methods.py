"""Methods of peft from its folder and back, compared with PyTorch: peft_methods.py [METHOD...], in a folder of its own.

Each trains 20 steps from a folder that peft wrote. Losses are peft's; the folder that the program writes gives peft the logits of its own trained model; the
merged ONNX export has them in onnxruntime, too.
"""
import copy
import json
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import onnxruntime
import peft
import torch
import transformers
from peft.optimizers import create_loraplus_optimizer

warnings.filterwarnings("ignore")
STEPS, ROWS, LENGTH, RATE = 20, 4, 12, 3e-3
SMALL = dict(vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, max_position_embeddings=40,
             attn_implementation="eager", use_cache=False)
ATTENTION = ["q_proj", "v_proj"]


def llama():
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL, num_key_value_heads=1))


# Method -> model, configuration, factors of rates by names.
METHODS = {
    "rslora-patterns": (llama, dict(target_modules=ATTENTION + ["up_proj"], use_rslora=True, rank_pattern={"q_proj": 2, "layers.1.mlp.up_proj": 6},
                                    alpha_pattern={"v_proj": 3}), {}),
    "lora+": (llama, dict(target_modules=ATTENTION), {"lora_B": 16}),
    "modules-to-save": (llama, dict(target_modules=ATTENTION, modules_to_save=["lm_head", "norm"]), {}),
}


class Logits(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x).logits


def exported(model, x):
    rows = torch.export.Dim("rows", max=64)
    torch.onnx.export(Logits(model).eval(), (x,), "model.onnx", dynamo=True, optimize=False, opset_version=20, input_names=["x"],
                      output_names=["logits"], dynamic_shapes=({0: rows},), verbose=False)


def started(base, config, first):
    """What peft wrote before the first step: B is not zero, so that A has a gradient."""
    torch.manual_seed(2)
    model = peft.get_peft_model(copy.deepcopy(base), peft.LoraConfig(r=4, lora_alpha=8, task_type="CAUSAL_LM", **config))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.add_(0.02 * torch.randn(parameter.shape))
    model.save_pretrained(first)


def loaded(base, folder):
    return peft.PeftModel.from_pretrained(copy.deepcopy(base), folder, is_trainable=True)


def optimizer(model, factors):
    if factors:
        return create_loraplus_optimizer(model, torch.optim.AdamW, lr=RATE, loraplus_lr_ratio=factors["lora_B"],
                                                         loraplus_weight_decay=0.01)
    return torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=RATE, weight_decay=0.01)


def pytorch(model, x, y, factors):
    update, losses = optimizer(model.train(), factors), []
    for step in range(STEPS):
        rows = [(step * ROWS + row) % len(x) for row in range(ROWS)]
        update.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x[rows]).logits.flatten(0, 1), y[rows].flatten())
        loss.backward()
        update.step()
        losses.append(loss.item())
    return losses


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout[-1000:]}{done.stderr[-2000:]}")


def trained(name, factors):
    scales = [word for end, factor in factors.items() for word in ("--lr-scale", f"{end}={factor}")]
    run("kedge", "compile", "model.onnx", "--shape", f"x={ROWS}x{LENGTH}", "--loss", "cross-entropy", "--adapter", f"{name}.first", *scales, "-o",
        f"{name}.program")
    run(f"./{name}.program", "--data", "x=x.npy", "--data", "labels=y.npy", "--steps", STEPS, "--lr", RATE, "--weight-decay", 0.01, "--log",
        f"{name}.jsonl", "--export-adapter", f"{name}.trained", "--export-onnx", f"{name}.onnx")
    return [json.loads(line)["loss"] for line in pathlib.Path(f"{name}.jsonl").read_text().splitlines()]


def gap(found, expected):
    return max(abs(a - b) / abs(b) for a, b in zip(found, expected, strict=True))


def away(found, expected):
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def compare(name, make, config, factors):
    torch.manual_seed(1)
    base = make().eval()
    numbers = np.random.default_rng(0)
    x, y = (torch.from_numpy(numbers.integers(0, 60, (16, LENGTH))) for _ in range(2))
    np.save("x.npy", x.numpy()), np.save("y.npy", y.numpy())
    exported(base, x[:ROWS])
    started(base, config, f"{name}.first")
    model = loaded(base, f"{name}.first")
    losses = gap(trained(name, factors), pytorch(model, x, y, factors))
    with torch.no_grad():
        expected = model.eval()(x[:ROWS]).logits.numpy()
        back = loaded(base, f"{name}.trained").eval()(x[:ROWS]).logits.numpy()
    merged = onnxruntime.InferenceSession(f"{name}.onnx").run(["logits"], {"x": x[:ROWS].numpy()})[0]
    figures = {"losses": losses, "folder": away(back, expected), "merged": away(merged, expected)}
    bad = losses > 1e-5 or max(figures.values()) > 2e-4
    print(f"{name}: {'differs from' if bad else 'as'} peft, " + ", ".join(f"{what} {value:.1e}" for what, value in figures.items()), flush=True)
    return bad


if __name__ == "__main__":
    torch.set_num_threads(1)
    wrong = [compare(name, *METHODS[name]) for name in sys.argv[1:] or METHODS]
    print(f"{wrong.count(False)} of {len(wrong)} methods as in peft")
    sys.exit(any(wrong))
