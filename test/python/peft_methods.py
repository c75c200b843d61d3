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
onnxruntime.set_default_logger_severity(3)
STEPS, ROWS, LENGTH, RATE = 20, 4, 12, 3e-3
SMALL = dict(vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, max_position_embeddings=40,
             attn_implementation="eager", use_cache=False)
ATTENTION = ["q_proj", "v_proj"]


def llama():
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL, num_key_value_heads=1))


def gpt2():
    still = dict(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=0, eos_token_id=0)
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=60, n_embd=32, n_layer=2, n_head=2, n_positions=40, use_cache=False,
                                                                attn_implementation="eager", **still))


def lora(**settings):
    return peft.LoraConfig(r=4, lora_alpha=8, task_type="CAUSAL_LM", **settings)


def ia3(**settings):
    return peft.IA3Config(task_type="CAUSAL_LM", **settings)


def tokens(**settings):
    return peft.TrainableTokensConfig(task_type="CAUSAL_LM", **settings)


# Method -> model, configuration, factors of rates by names.
METHODS = {
    "dora": (llama, lora(target_modules=ATTENTION + ["down_proj"], use_dora=True), {}),
    "dora-gpt2": (gpt2, lora(target_modules=["c_attn", "mlp.c_proj"], fan_in_fan_out=True, use_dora=True), {}),
    "rslora-patterns": (llama, lora(target_modules=ATTENTION + ["up_proj"], use_rslora=True, rank_pattern={"q_proj": 2, "layers.1.mlp.up_proj": 6},
                                    alpha_pattern={"v_proj": 3}), {}),
    "lora+": (llama, lora(target_modules=ATTENTION), {"lora_B": 16}),
    "embeddings": (llama, lora(target_modules=["embed_tokens", "lm_head", "q_proj"]), {}),
    "pissa": (llama, lora(target_modules=ATTENTION + ["down_proj"], init_lora_weights="pissa"), {}),
    "olora": (llama, lora(target_modules=ATTENTION + ["down_proj"], init_lora_weights="olora"), {}),
    "modules-to-save": (llama, lora(target_modules=ATTENTION, modules_to_save=["lm_head", "norm"]), {}),
    "ia3": (llama, ia3(target_modules=["k_proj", "v_proj", "down_proj"], feedforward_modules=["down_proj"]), {}),
    "ia3-gpt2": (gpt2, ia3(target_modules=["c_attn", "mlp.c_proj"], feedforward_modules=["mlp.c_proj"], fan_in_fan_out=True), {}),
    "tokens": (llama, tokens(token_indices=[3, 41, 5], target_modules=["embed_tokens"]), {}),
    "tokens-tied": (gpt2, tokens(token_indices=[7, 0, 59], target_modules=["wte"]), {}),
    "tokens-lora": (llama, lora(target_modules=ATTENTION, trainable_token_indices={"embed_tokens": [11, 2]}), {}),
}

# The same without a folder: options of the compiler.
FLAGS = {
    "dora": (gpt2, ["--lora", "c_attn", "--lora-rank", 4, "--lora-dora"]),
    "patterns": (llama, ["--lora", "q_proj|up_proj", "--lora-rank", 4, "--lora-rank-pattern", "up_proj=2", "--lora-alpha-pattern", "q_proj=3"]),
    "embeddings": (llama, ["--lora", "embed_tokens|v_proj", "--lora-rank", 4]),
    "pissa": (llama, ["--lora", "q_proj|down_proj", "--lora-rank", 4, "--lora-init", "pissa"]),
    "olora": (llama, ["--lora", "q_proj|down_proj", "--lora-rank", 4, "--lora-init", "olora"]),
    "ia3": (gpt2, ["--ia3", "c_attn|mlp.c_proj", "--ia3-inputs", "mlp.c_proj"]),
    "tokens": (gpt2, ["--train-tokens", "wte=3,40-42"]),
    "tokens-lora": (llama, ["--train-tokens", "embed_tokens=3,40-42", "--lora", "q_proj", "--lora-rank", 4]),
}


def exported(model, x):
    """With the names of the model itself, so that folders have them, too."""
    rows = torch.export.Dim("rows", max=64)
    torch.onnx.export(model.eval(), (x,), "model.onnx", dynamo=True, optimize=False, opset_version=20, input_names=["x"], output_names=["logits"],
                      dynamic_shapes=({0: rows},), verbose=False)


def started(base, config, first):
    """What peft wrote before the first step: B is not zero, so that A has a gradient."""
    torch.manual_seed(2)
    model = peft.get_peft_model(copy.deepcopy(base), copy.deepcopy(config))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name or "lora_embedding" in name:
                parameter.add_(0.02 * torch.randn(parameter.shape))
            if "magnitude" in name or "ia3_l" in name:
                parameter.mul_(1 + 0.1 * torch.rand(parameter.shape))
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


def trained(name, steps, *options):
    run("kedge", "compile", "model.onnx", "--shape", f"x={ROWS}x{LENGTH}", "--loss", "cross-entropy", *options, "-o", f"{name}.program")
    run(f"./{name}.program", "--data", "x=x.npy", "--data", "labels=y.npy", "--steps", steps, "--lr", RATE, "--weight-decay", 0.01, "--log",
        f"{name}.jsonl", "--export-adapter", f"{name}.trained", "--export-onnx", f"{name}.onnx")
    return [json.loads(line)["loss"] for line in pathlib.Path(f"{name}.jsonl").read_text().splitlines()]


def gap(found, expected):
    return max(abs(a - b) / abs(b) for a, b in zip(found, expected, strict=True))


def away(found, expected):
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def made(make):
    """The model, exported, and its data."""
    torch.manual_seed(1)
    base = make().eval()
    numbers = np.random.default_rng(0)
    x, y = (torch.from_numpy(numbers.integers(0, 60, (16, LENGTH))) for _ in range(2))
    np.save("x.npy", x.numpy()), np.save("y.npy", y.numpy())
    exported(base, x[:ROWS])
    return base, x, y


def logits_of(name, base, x):
    """Of the merged file, and of the folder in peft."""
    merged = onnxruntime.InferenceSession(f"{name}.onnx").run(["logits"], {"x": x[:ROWS].numpy()})[0]
    with torch.no_grad():
        return merged, loaded(base, f"{name}.trained").eval()(x[:ROWS]).logits.numpy()


def said(name, bad, figures):
    print(f"{name}: {'differs from' if bad else 'as'} peft, " + ", ".join(f"{what} {value:.1e}" for what, value in figures.items()), flush=True)
    return bad


def compare(name, make, config, factors):
    base, x, y = made(make)
    started(base, config, f"{name}.first")
    model = loaded(base, f"{name}.first")
    scales = [word for end, factor in factors.items() for word in ("--lr-scale", f"{end}={factor}")]
    losses = gap(trained(name, STEPS, "--adapter", f"{name}.first", *scales), pytorch(model, x, y, factors))
    with torch.no_grad():
        expected = model.eval()(x[:ROWS]).logits.numpy()
    merged, back = logits_of(name, base, x)
    figures = {"losses": losses, "folder": away(back, expected), "merged": away(merged, expected)}
    return said(name, losses > 1e-5 or max(figures.values()) > 2e-4, figures)


def compare_flags(name, make, options):
    """A folder that no other was before is read by peft, and begins with the model's own loss."""
    base, x, y = made(make)
    name = f"{name}.flags"
    first, *_, last = trained(name, 5, *options)
    with torch.no_grad():
        expected = torch.nn.functional.cross_entropy(base(x[:ROWS]).logits.flatten(0, 1), y[:ROWS].flatten()).item()
        plain = base(x[:ROWS]).logits.numpy()
    merged, back = logits_of(name, base, x)
    figures = {"first loss": gap([first], [expected]), "folder": away(back, merged), "learned": away(merged, plain)}
    return said(name, figures["first loss"] > 1e-5 or figures["folder"] > 1e-5 or figures["learned"] < 1e-4 or last == first, figures)


if __name__ == "__main__":
    torch.set_num_threads(1)
    wanted = sys.argv[1:]
    wrong = [compare(name, *METHODS[name]) for name in METHODS if not wanted or name in wanted]
    print(f"{wrong.count(False)} of {len(wrong)} methods as in peft")
    flags = [compare_flags(name, *FLAGS[name]) for name in FLAGS if not wanted or f"{name}.flags" in wanted]
    print(f"{flags.count(False)} of {len(flags)} folders by options as in peft")
    sys.exit(any(wrong + flags))
