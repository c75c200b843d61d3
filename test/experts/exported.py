#!/usr/bin/env python3
"""exported.py FOLDER [NAME...]: mixtures of experts of transformers, of random weights, as PyTorch exports them: two layers, eight experts, two
for each token. All experts are grouped products, and losses of 20 steps are PyTorch's."""
import json
import pathlib
import subprocess
import sys
import warnings

import numpy
import torch
import transformers
from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
FOLDER = pathlib.Path(sys.argv[1])
FOLDER.mkdir(parents=True, exist_ok=True)
LENGTH, WORDS, ROWS, STEPS, RATE = 16, 96, 2, 20, 0.05
SMALL = dict(vocab_size=WORDS, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=128, num_experts_per_tok=2)
MODELS = {
    "qwen3-moe": ("Qwen3MoeForCausalLM", "Qwen3MoeConfig", {**SMALL, "head_dim": 8, "num_experts": 8, "moe_intermediate_size": 24, "norm_topk_prob": True}),
    "mixtral": ("MixtralForCausalLM", "MixtralConfig", {**SMALL, "num_local_experts": 8}),
    "olmoe": ("OlmoeForCausalLM", "OlmoeConfig", {**SMALL, "num_experts": 8}),
    "granite-moe": ("GraniteMoeForCausalLM", "GraniteMoeConfig", {**SMALL, "num_local_experts": 8}),
    "gpt-oss": ("GptOssForCausalLM", "GptOssConfig", {**SMALL, "head_dim": 8, "num_local_experts": 8, "sliding_window": 8}),
    "deepseek-v3": ("DeepseekV3ForCausalLM", "DeepseekV3Config",
                    {**SMALL, "num_key_value_heads": 4, "moe_intermediate_size": 24, "n_routed_experts": 8, "n_group": 2, "topk_group": 1, "n_shared_experts": 1,
                     "first_k_dense_replace": 0, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8}),
}


def linear(x, weight, bias, is_transposed):
    y = torch.matmul(x, weight if is_transposed else weight.transpose(-1, -2))
    return y if bias is None else y + bias[:, None]


def all_experts(self, hidden, chosen, weights):
    """Every expert for every token, as older exports have it."""
    biases = (self.gate_up_proj_bias, self.down_proj_bias) if self.has_bias else (None, None)
    routing = torch.zeros(hidden.size(0), self.num_experts, dtype=weights.dtype).scatter(1, chosen, weights)
    repeated = hidden.repeat(self.num_experts, 1).view(self.num_experts, -1, hidden.size(-1))
    inner = self._apply_gate(linear(repeated, self.gate_up_proj, biases[0], self.is_transposed))
    return (linear(inner, self.down_proj, biases[1], self.is_transposed) * routing.transpose(0, 1)[..., None]).sum(0)


ALL_EXPERTS_FUNCTIONS.register("all_experts", all_experts)


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids=input_ids, use_cache=False).logits


class Losses(Logits):
    """Also the load balance that the model makes of its router's logits, and their z-loss."""

    def forward(self, input_ids):
        made = self.model(input_ids=input_ids, use_cache=False, output_router_logits=True)
        return made.logits, made.aux_loss, torch.stack([logits.logsumexp(-1).square().mean() for logits in made.router_logits]).mean()


def made(name, form, wrapper=Logits):
    model, config, sizes = MODELS[name]
    torch.manual_seed(0)
    made = wrapper(getattr(transformers, model)._from_config(getattr(transformers, config)(**sizes), attn_implementation="eager",
                                                            experts_implementation=form).eval())
    for tensor in made.parameters():  # equal tensors of two layers would be one in the file
        if (tensor == tensor.flatten()[0]).all():
            tensor.data += 0.02 * torch.randn_like(tensor)
    return made


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout + done.stderr


def check(name, form):
    model, path = made(name, form), FOLDER / f"{name}-{form}.onnx"
    torch.manual_seed(7)
    ids, labels = torch.randint(3, WORDS, (ROWS, LENGTH)), torch.randint(3, WORDS, (ROWS, LENGTH))
    # Of fixed sizes a sink for each query would be folded into the file.
    sizes = {"input_ids": {0: torch.export.Dim("rows"), 1: torch.export.Dim("length")}} if name == "gpt-oss" else None
    torch.onnx.export(model, (ids,), path, input_names=["input_ids"], output_names=["logits"], dynamo=True, dynamic_shapes=sizes, verbose=False,
                      external_data=False)
    for what, rows in (("ids", ids), ("labels", labels)):
        numpy.save(FOLDER / f"{what}.npy", rows.numpy())
    optimizer, wanted = torch.optim.SGD(model.parameters(), lr=RATE), []
    for _ in range(STEPS):
        loss = torch.nn.functional.cross_entropy(model(ids).reshape(-1, WORDS), labels.reshape(-1))
        wanted.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    options = ["--shape", f"input_ids={ROWS}x{LENGTH}", "--loss", "cross-entropy", "--optimizer", "sgd"]
    run("kedge", "compile", path, *options, "-o", FOLDER / "train", "--save-ir", FOLDER / "ir")
    log = FOLDER / "log.jsonl"
    run(FOLDER / "train", "--data", f"input_ids={FOLDER / 'ids.npy'}", f"labels={FOLDER / 'labels.npy'}", "--steps", STEPS, "--lr", RATE, "--log", log)
    found = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    worst = max(abs(one - other) / other for one, other in zip(found, wanted))
    grouped = next((FOLDER / "ir").glob("01-*.mlir")).read_text().count("train.grouped_matmul ")
    print(f"{name} ({form}): {grouped} grouped products; worst loss {worst:.1e} of PyTorch's", flush=True)
    assert worst < 1e-5 and grouped == 4, (found, wanted)


def check_auxiliary(name, balance=0.05, z=0.01):
    """Load balance and z-loss as outputs that are added, each as PyTorch's."""
    model, path = made(name, "batched_mm", Losses), FOLDER / f"{name}-losses.onnx"
    torch.manual_seed(7)
    ids, labels = torch.randint(3, WORDS, (ROWS, LENGTH)), torch.randint(3, WORDS, (ROWS, LENGTH))
    names = ["logits", "aux_loss", "z_loss"]
    torch.onnx.export(model, (ids,), path, input_names=["input_ids"], output_names=names, dynamo=True, verbose=False, external_data=False)
    for what, rows in (("ids", ids), ("labels", labels)):
        numpy.save(FOLDER / f"{what}.npy", rows.numpy())
    optimizer, wanted = torch.optim.SGD(model.parameters(), lr=RATE), []
    for _ in range(STEPS):
        logits, *more = model(ids)
        parts = [torch.nn.functional.cross_entropy(logits.reshape(-1, WORDS), labels.reshape(-1)), *more]
        loss = parts[0] + balance * parts[1] + z * parts[2]
        wanted.append([loss.item(), *(part.item() for part in parts)])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    run("kedge", "compile", path, "--shape", f"input_ids={ROWS}x{LENGTH}", "--loss", "cross-entropy", "--logits", "logits", "--loss-output",
        f"aux_loss={balance},z_loss={z}", "--optimizer", "sgd", "-o", FOLDER / "train")
    log = FOLDER / "log.jsonl"
    run(FOLDER / "train", "--data", f"input_ids={FOLDER / 'ids.npy'}", f"labels={FOLDER / 'labels.npy'}", "--steps", STEPS, "--lr", RATE, "--log", log)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    found = numpy.array([[line["loss"], *(line["losses"][part] for part in ("cross-entropy", "aux_loss", "z_loss"))] for line in lines])
    worst = abs(found / numpy.array(wanted) - 1).max(0)
    print(f"{name} with auxiliary losses: worst of loss, cross-entropy, balance, z: " + ", ".join(f"{gap:.1e}" for gap in worst), flush=True)
    assert worst.max() < 1e-5, (found, wanted)


for name in [name for name in sys.argv[2:] if name != "none"] if sys.argv[2:] else MODELS:
    for form in ("batched_mm", "all_experts"):
        check(name, form)
    if name in ("qwen3-moe", "mixtral", "olmoe"):
        check_auxiliary(name)
