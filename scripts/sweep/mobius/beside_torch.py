#!/usr/bin/env python3
"""Trains mobius' language models beside PyTorch, with equal weights: beside_torch.py OUT [NAME...] [--table FILE.md].

Each architecture that both mobius and transformers have is made at a tiny size by transformers, saved, and built by mobius from what was saved. Ten steps of SGD
on the same tokens; right are ten losses within 1e-5 (relative) of PyTorch's. A row for each goes to OUT/beside.json as it is made, so that a run that was
stopped goes on. Needs kedge in PATH, mobius-onnx, torch, transformers, onnxruntime.
"""
import argparse
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
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

ROWS, TOKENS, STEPS, RATE, WORDS = 2, 8, 10, 0.05, 128
SIZES = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16, vocab_size=WORDS,
             max_position_embeddings=64, n_embd=64, n_layer=2, n_head=4, n_positions=64, n_ctx=64, n_inner=96, d_model=64, num_layers=2, num_heads=4, ffn_dim=96,
             decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=96, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=96, rotary_dim=8, ffn_hidden_size=96,
             moe_intermediate_size=32, shared_expert_intermediate_size=32, num_local_experts=4, num_experts=4, n_routed_experts=4, num_experts_per_tok=2, n_group=1,
             topk_group=1, q_lora_rank=32, kv_lora_rank=16, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16, sliding_window=32, bos_token_id=1, eos_token_id=2,
             pad_token_id=0, word_embed_proj_dim=64, expand_ratio=2, n_layers=2, n_heads=4, max_seq_len=64, state_size=8, time_step_rank=4, mamba_d_state=8,
             mamba_n_heads=4, mamba_d_head=16, mamba_expand=1, mamba_n_groups=1, mamba_d_ssm=64, attn_layer_period=2, attn_layer_offset=1)
# Ones and zeros that mobius writes where PyTorch's norm has no parameter.
MADE_UP = {"olmo": r"layernorm\.(scale|bias)$", "mpt": r"ln_\w+\.bias$"}
STEPS_OF = {"mpt": dict(attn_config={"attn_impl": "eager"})}


def config_of(name):
    """Those sizes that the architecture's own configuration has."""
    plain = transformers.AutoConfig.for_model(name)
    own = set(plain.to_dict()) | set(getattr(plain, "attribute_map", {}))
    sizes = {key: value for key, value in SIZES.items() if key in own and getattr(plain, key, None) is not None or key in ("vocab_size", "pad_token_id")}
    if "layer_types" in own:
        sizes["layer_types"] = None
    for key in ("dropout", "attention_dropout", "resid_pdrop", "embd_pdrop", "attn_pdrop", "hidden_dropout", "activation_dropout", "layerdrop", "embedding_dropout"):
        if key in own:
            sizes[key] = 0.0
    return transformers.AutoConfig.for_model(name, **sizes, **STEPS_OF.get(name, {}))


def feeds_of(session, ids):
    feeds = {}
    for value in session.get_inputs():
        if value.name.startswith("past"):
            feeds[value.name] = np.zeros([ROWS if dim == "batch" else dim if isinstance(dim, int) else 0 for dim in value.shape], "f4")
        elif value.name == "input_ids":
            feeds[value.name] = ids
        else:
            feeds[value.name] = np.ones(ids.shape, "i8") if "mask" in value.name else np.broadcast_to(np.arange(TOKENS), ids.shape).copy()
    return feeds


def losses_of(model, ids, labels):
    """PyTorch's own, of all parameters."""
    model.train()
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=RATE), []
    for _ in range(STEPS):
        logits = model(input_ids=torch.from_numpy(ids), use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), torch.from_numpy(labels).reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def command(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=200)
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "error" in line]
        raise RuntimeError(" ".join((lines or [done.stderr[-200:]])[0].split())[:240])


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
    try:
        model = transformers.AutoModelForCausalLM.from_config(config_of(name), attn_implementation="eager").float()
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
    ids, labels = rng.integers(3, WORDS, (ROWS, TOKENS)), rng.integers(3, WORDS, (ROWS, TOKENS))
    model.eval()
    with torch.no_grad():
        expected = model(input_ids=torch.from_numpy(ids), use_cache=False).logits.numpy()
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        found = session.run(["logits"], feeds_of(session, ids))[0]
    except Exception as error:
        return "onnxruntime cannot run it", {"why": " ".join(str(error).split())[:200]}
    forward = float(np.abs(found - expected).max() / np.abs(expected).max())
    if forward > 1e-4:
        return "mobius' forward is not PyTorch's", {"why": f"outputs differ by {forward:.2g} of the largest"}
    torch_losses = losses_of(model, ids, labels)
    np.save(out / "ids.npy", ids), np.save(out / "labels.npy", labels)
    buffers = frozen_here(path, model, MADE_UP.get(name, "^$"))
    freeze = ["--freeze", "|".join(f"^{re.escape(name)}$" for name in buffers)] if buffers else []
    command("kedge", "compile", path, "--shape", f"input_ids={ROWS}x{TOKENS}", "--loss", "cross-entropy", "--logits", "logits", "--optimizer", "sgd", *freeze, "-o", out / "program")
    command(out / "program", "--steps", STEPS, "--lr", RATE, "--threads", 1, "--log", out / "log", "--data", f"input_ids={out / 'ids.npy'}", "--data", f"labels={out / 'labels.npy'}")
    losses = [json.loads(line)["loss"] for line in (out / "log").read_text().splitlines()]
    worst = max(abs(a - b) / abs(b) for a, b in zip(losses, torch_losses))
    return ("right" if worst <= 1e-5 else "differs"), {"worst": worst, "first": losses[0], "last": losses[-1], "torch": torch_losses, **({"why": f"with --freeze of what is no parameter in PyTorch: {', '.join(sorted(buffers)[:2])}"} if buffers else {})}


PAGE = """# Language models of mobius, compared with PyTorch

<!-- written by scripts/sweep/mobius/beside_torch.py --table -->
Each architecture that both mobius-onnx {mobius} and transformers {transformers} have as a language model, at a tiny size: made by transformers, saved, built
by mobius from what was saved. Ten steps of SGD (rate 0.05, fp32) on the same tokens; "right": all ten losses are within 1e-5 (relative) of PyTorch's."""


def table(rows):
    counts = {}
    for row in rows.values():
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    lines = [*PAGE.format(mobius="0.1.0", transformers=transformers.__version__).splitlines(), "", "| verdict | architectures |", "|---|---|"]
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
    known = set(mobius.registry.architectures())
    for name in args.names or sorted(known & set(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)):
        if name in rows and not args.names:
            continue
        began = time.time()
        try:
            verdict, facts = judge(name, args.out / "work")
        except Exception as error:  # a row of its own
            verdict, facts = "refused or failed", {"why": f"{type(error).__name__}: {error}"[:240]}
        rows[name] = {"verdict": verdict, **facts}
        print(f"{name}: {verdict} {facts.get('why', '')} {facts.get('worst', '')} ({time.time() - began:.0f} s)", flush=True)
        kept.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")
    if args.table:
        args.table.write_text(table(rows))


if __name__ == "__main__":
    sys.exit(main())
