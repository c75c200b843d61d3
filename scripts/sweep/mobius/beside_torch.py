#!/usr/bin/env python3
"""Trains mobius' language models beside PyTorch, with equal weights: beside_torch.py OUT [NAME...] [--table FILE.md].

Each architecture that both mobius and transformers have is made at a tiny size by transformers, saved, and built by mobius from what was saved. Ten steps of SGD
on the same tokens; right are ten losses within 1e-5 (relative) of PyTorch's, in f32 or, where that strays from its own f64 by more, in f64. What mobius has as an
encoder (hidden states in place of logits) is compared as one, by mean squared errors. A row for each goes to OUT/beside.json as it is made, so that a run that was
stopped goes on. Needs kedge in PATH, mobius-onnx, torch, transformers, onnxruntime.
"""
import argparse
import copy
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

import mobius
import numpy as np
import onnxruntime
import torch
import transformers
from mobius._config_resolver import _default_task_for_model
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_MAPPING_NAMES

from run import build, made_on

ROWS, TOKENS, STEPS, RATE, WORDS, LARGEST = 2, 8, 10, 0.05, 128, 1e-5
SIZES = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16, vocab_size=WORDS,
             max_position_embeddings=64, n_embd=64, n_layer=2, n_head=4, n_positions=64, n_ctx=64, n_inner=96, d_model=64, num_layers=2, num_heads=4, ffn_dim=96,
             decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=96, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=96, rotary_dim=8, ffn_hidden_size=96,
             moe_intermediate_size=32, shared_expert_intermediate_size=32, num_local_experts=4, num_experts=4, n_routed_experts=4, num_experts_per_tok=2, n_group=1,
             topk_group=1, q_lora_rank=32, kv_lora_rank=16, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16, sliding_window=32, bos_token_id=1, eos_token_id=2,
             pad_token_id=0, word_embed_proj_dim=64, expand_ratio=2, n_layers=2, n_heads=4, max_seq_len=64, state_size=8, time_step_rank=4, mamba_d_state=8,
             mamba_n_heads=4, mamba_d_head=16, mamba_expand=1, mamba_n_groups=1, mamba_d_ssm=64, attn_layer_period=2, attn_layer_offset=1)
# Ones and zeros that mobius writes where PyTorch's norm has no parameter.
MADE_UP = {"olmo": r"layernorm\.(scale|bias)$", "mpt": r"ln_\w+\.bias$"}
ENCODER, FORMULA = "feature-extraction", "mobius' forward is not PyTorch's"
# What is set for one architecture, and which of SIZES are not: None. rope_interleave and layer_norm_eps are mobius' names for what transformers has written in its code.
LATENT, TURNED = dict(head_dim=None, num_key_value_heads=4), dict(rope_interleave=True)
PLAIN_ROPE = {"rope_type": "default", "rope_theta": 10000.0}
OWN = {"mpt": dict(attn_config={"attn_impl": "eager"}), "jetmoe": dict(tie_word_embeddings=False), "glm": dict(attention_bias=False), "glm4": dict(attention_bias=False),
       "seed_oss": dict(attention_bias=False, attention_out_bias=False), "youtu": LATENT, "deepseek_v3": LATENT, "deepseek_v2": LATENT, "longcat_flash": LATENT, "bamba": dict(layer_types=None),
       "falcon_h1": dict(layer_types=None), "zamba2": dict(layer_types=["hybrid", "linear_attention"]), "gpt_bigcode": dict(num_key_value_heads=None),
       "gpt_neo": dict(attention_types=[[["global"], 2]]), "cohere": TURNED, "cohere2": TURNED, "ernie4_5": TURNED, "ernie4_5_moe": dict(moe_layer_start_index=0, **TURNED), "helium": TURNED,
       "gptj": TURNED, "codegen": TURNED, "gemma3_text": dict(query_pre_attn_scalar=16), "opt": dict(layer_norm_eps=1e-5), "nemotron": dict(num_key_value_heads=2, head_dim=16),
       "ministral": dict(num_key_value_heads=2, head_dim=16), "hunyuan_v1_dense": dict(head_dim=16, rope_parameters=PLAIN_ROPE), "hunyuan_v1_moe": dict(head_dim=16, rope_parameters=PLAIN_ROPE),
       "phimoe": dict(lm_head_bias=True), "mamba2": dict(num_heads=8, head_dim=16, expand=2, n_groups=1, tie_word_embeddings=False), "minicpm3": dict(num_key_value_heads=4),
       "glm4_moe": dict(first_k_dense_replace=0, rope_interleave=False), "falcon": dict(new_decoder_architecture=True, alibi=False, num_kv_heads=4), "gpt_oss": dict(rope_parameters=PLAIN_ROPE),
       "minimax": dict(layer_types=["full_attention"] * 2), "electra": dict(embedding_size=64), "distilbert": dict(dim=64, hidden_dim=256), "rembert": dict(input_embedding_size=64),
       "modernbert": dict(norm_bias=True), "modernbert-decoder": dict(norm_bias=True), "deberta": dict(), "ctrl": dict(dff=256), "persimmon": dict(partial_rotary_factor=0.5)}


def config_of(name):
    """Those sizes that the architecture's own configuration has."""
    plain = transformers.AutoConfig.for_model(name)
    own = set(plain.to_dict()) | set(getattr(plain, "attribute_map", {}))
    sizes = {key: value for key, value in SIZES.items() if key in own and getattr(plain, key, None) is not None or key in ("vocab_size", "pad_token_id")}
    if "layer_types" in own and "layer_types" not in OWN.get(name, {}):
        sizes["layer_types"] = None
    sizes.update({key: 0.0 for key in own if re.search(r"dropout|pdrop|layerdrop", key) and isinstance(getattr(plain, key, None), float)})
    for key, value in OWN.get(name, {}).items():
        if value is None:
            sizes.pop(key, None)
        else:
            sizes[key] = value
    return transformers.AutoConfig.for_model(name, **sizes)


def feeds_of(session, ids):
    feeds = {}
    for value in session.get_inputs():
        if value.name.startswith("past"):
            feeds[value.name] = np.zeros([len(ids) if dim == "batch" else dim if isinstance(dim, int) else 0 for dim in value.shape], "f4")
        elif value.name == "input_ids":
            feeds[value.name] = ids
        else:
            feeds[value.name] = np.ones(ids.shape, "i8") if "mask" in value.name else np.zeros(ids.shape, "i8") if "type" in value.name else np.broadcast_to(np.arange(TOKENS), ids.shape).copy()
    return feeds


def outputs_of(model, ids, isEncoder):
    return model(input_ids=ids)[0] if isEncoder else model(input_ids=ids, use_cache=False).logits


def losses_of(model, ids, labels, isEncoder):
    """PyTorch's own, of all parameters."""
    model.train()
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=RATE), []
    for _ in range(STEPS):
        y, expected = outputs_of(model, torch.from_numpy(ids), isEncoder), torch.from_numpy(labels)
        loss = ((y - expected) ** 2).mean() if isEncoder else torch.nn.functional.cross_entropy(y.reshape(-1, y.shape[-1]), expected.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def isRandom(model, ids, isEncoder):
    """Dropout that has another name than most, or experts that are drawn."""
    model.train()
    drawn = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        drawn.append(outputs_of(model, torch.from_numpy(ids), isEncoder).detach())
    return not torch.equal(*drawn)


def worst_of(losses, others):
    return max(abs(a - b) / abs(b) for a, b in zip(losses, others))


class Refused(Exception):
    pass


def command(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=200)
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "error" in line]
        raise Refused(" ".join((lines or [done.stderr[-200:]])[0].split())[:240])


def frozen_here(path, model, made_up):
    """What the file cannot tell: buffers of PyTorch that have a parameter's name and place, and what PyTorch does not have."""
    done = subprocess.run(["kedge", "lint", str(path), "--json"], capture_output=True, text=True)
    trained = {entry["name"] for entry in json.loads(done.stdout)["initializers"] if entry["verdict"] == "parameter"}
    return trained & {name for name, _ in model.named_buffers()} | {name for name in trained if re.search(made_up, name)}


def judge(name, out):
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    torch.manual_seed(3)
    plain = transformers.AutoConfig.for_model(name)
    if hasattr(plain, "text_config") or hasattr(plain, "decoder_config") or name in ("musicgen",):
        return "of several parts", {}
    isEncoder = _default_task_for_model(name) == ENCODER
    rows = 1 if isEncoder else ROWS  # onnxruntime reads their mask of rows as one of queries
    try:
        kind = transformers.AutoModel if isEncoder else transformers.AutoModelForCausalLM
        model = kind.from_config(config_of(name), attn_implementation="eager").float()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.05)
        if sum(parameter.numel() for parameter in model.parameters()) > 5_000_000:
            return "not made small by these names of sizes", {}
        model.save_pretrained(out / "hf")
    except Exception as error:
        return "not made by transformers", {"why": f"{type(error).__name__}: {error}"[:200]}
    try:
        package = mobius.build(str(out / "hf"), dtype="f32")
        if list(package) != ["model"]:
            return "of several parts", {}
        package.save(str(out / "onnx"))
        path = next((out / "onnx").rglob("*.onnx"))
    except Exception as error:
        return "not built by mobius", {"why": f"{type(error).__name__}: {error}"[:200]}
    rng = np.random.default_rng(5)
    ids, labels = rng.integers(3, WORDS, (rows, TOKENS)), rng.integers(3, WORDS, (rows, TOKENS))
    model.eval()
    with torch.no_grad():
        expected = outputs_of(model, torch.from_numpy(ids), isEncoder).numpy()
    output = "last_hidden_state" if isEncoder else "logits"
    if isEncoder:
        labels = rng.standard_normal(expected.shape).astype("f4")
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        found = session.run([output], feeds_of(session, ids))[0]
    except Exception as error:
        return "onnxruntime cannot run it", {"why": " ".join(str(error).split())[:200]}
    forward = float(np.abs(found - expected).max() / np.abs(expected).max())
    if forward > 1e-4:
        return FORMULA, {"why": f"outputs differ by {forward:.2g} of the largest"}
    if isRandom(model, ids, isEncoder):
        return "PyTorch's training draws random numbers", {}
    exact, torch_losses = copy.deepcopy(model).double(), losses_of(model, ids, labels, isEncoder)
    np.save(out / "ids.npy", ids), np.save(out / "labels.npy", labels)
    buffers = frozen_here(path, model, MADE_UP.get(name, "^$"))
    freeze = ["--freeze", "|".join(f"^{re.escape(name)}$" for name in buffers)] if buffers else []
    command("kedge", "compile", path, "--shape", f"input_ids={rows}x{TOKENS}", "--loss", "mse" if isEncoder else "cross-entropy", "--logits", output, "--optimizer", "sgd", *freeze, "-o", out / "program")
    command(out / "program", "--steps", STEPS, "--lr", RATE, "--threads", 1, "--log", out / "log", "--data", f"input_ids={out / 'ids.npy'}", "--data", f"labels={out / 'labels.npy'}")
    losses = [json.loads(line)["loss"] for line in (out / "log").read_text().splitlines()]
    worst = worst_of(losses, torch_losses)
    facts = {"worst": worst, "first": losses[0], "last": losses[-1], "torch": torch_losses}
    if buffers:
        facts["why"] = f"with --freeze of what is no parameter in PyTorch: {', '.join(sorted(buffers)[:2])}"
    if worst > LARGEST:
        if forward > 2e-5:
            return FORMULA, {"why": f"outputs differ by {forward:.2g} of the largest"}
        exact.config._experts_implementation = "eager"  # the other forms have no f64
        exact = losses_of(exact, ids, labels.astype("f8") if isEncoder else labels, isEncoder)
        facts["worst"], own = worst_of(losses, exact), worst_of(torch_losses, exact)
        facts["why"] = f"compared with PyTorch in f64, from which its own f32 is {own:.1e} away, kedge's {facts['worst']:.1e}"
    return ("right" if facts["worst"] <= LARGEST else "differs"), facts


PAGE = """# Language models of mobius, compared with PyTorch

<!-- written by scripts/sweep/mobius/beside_torch.py --table -->
Each architecture that both mobius-onnx {mobius} and transformers {transformers} have as a language model, at a tiny size: made by transformers, saved, built
by mobius from what was saved. Ten steps of SGD (rate 0.05, fp32) on the same tokens; "right": all ten losses are within 1e-5 (relative) of PyTorch's, in
f32 or, where that strays by more from its own f64, in f64. What mobius has as an encoder is compared by its hidden states, with mean squared errors.
Where "mobius' forward is not PyTorch's", onnxruntime's run of the file differs before anything was trained. "Not made" and "not built" are at these sizes,
by transformers or mobius itself."""


def table(rows):
    counts = {}
    for row in rows.values():
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    lines = [*PAGE.format(mobius="0.1.0", transformers=transformers.__version__).splitlines(), "", "| verdict | architectures |", "|---|---|"]
    lines[-3:-3] = ["", made_on(rows)]
    lines += [f"| {verdict} | {count} |" for verdict, count in sorted(counts.items(), key=lambda entry: -entry[1])]
    lines += ["", "| architecture | verdict | first and last loss | largest difference | why |", "|---|---|---|---|---|"]
    for name, row in sorted(rows.items()):
        numbers = f"{row['first']:.6g}, {row['last']:.6g}" if "first" in row else ""
        lines.append(f"| {name} | {row['verdict']} | {numbers} | {row['worst']:.1e} |" if "worst" in row else f"| {name} | {row['verdict']} |  |  |")
        lines[-1] += f" {row.get('why', '').replace('|', '/').splitlines()[0] if row.get('why') else ''} |"
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--table", type=pathlib.Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    kept = args.out / "beside.json"
    rows = json.loads(kept.read_text()) if kept.exists() else {}
    by, known = build(), set(mobius.registry.architectures())
    encoders = {name for name in known & set(MODEL_MAPPING_NAMES) if _default_task_for_model(name) == ENCODER}
    for name in args.names or sorted(known & set(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES) | encoders):
        if name in rows and not args.names:
            continue
        began = time.time()
        try:
            verdict, facts = judge(name, args.out / "work")
        except Exception as error:  # a row of its own
            verdict, facts = "refused by kedge" if isinstance(error, Refused) else "PyTorch cannot run it", {"why": f"{type(error).__name__}: {error}"[:240]}
        rows[name] = {"verdict": verdict, **facts, "build": by}
        print(f"{name}: {verdict} {facts.get('why', '')} {facts.get('worst', '')} ({time.time() - began:.0f} s)", flush=True)
        kept.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")
    if args.table:
        args.table.write_text(table(rows))


if __name__ == "__main__":
    sys.exit(main())
