#!/usr/bin/env python3
"""PyTorch's training step of the other models that a GPU day times, one JSON line each.

pytorch_models.py NAME... [--mode eager,compile] [--steps 10]    NAME: resnet50-bf16, bert-bf16, llama-1b-bf16

Needs torch, torchvision and transformers. The step is that of gpu_pack.py's program: the same rows, fused AdamW, cross-entropy
over every label; bf16 by autocast over fp32 weights, images in channels_last. Reported: median seconds of a step after
five (a step of torch.compile is longer in the first ones), the allocator's peak in bytes.
"""
import argparse
import json
import os
import statistics
import time

import torch
import torch.nn.functional as F


def resnet50():
    from torchvision.models import resnet50 as make
    model = make().cuda().to(memory_format=torch.channels_last)
    pixels = torch.randn(32, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    labels = torch.randint(1000, (32,), device="cuda")
    return model, lambda m: F.cross_entropy(m(pixels), labels)


def bert():
    from transformers import BertConfig, BertForMaskedLM
    model = BertForMaskedLM(BertConfig(hidden_dropout_prob=0, attention_probs_dropout_prob=0)).cuda()
    ids, labels = (torch.randint(30522, (16, 512), device="cuda") for _ in range(2))
    return model, lambda m: m(input_ids=ids, labels=labels).loss


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM
    model = LlamaForCausalLM(LlamaConfig(vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
                                         num_attention_heads=32, num_key_value_heads=8, rope_theta=500000.0,
                                         tie_word_embeddings=True, use_cache=False)).cuda()
    ids = torch.randint(128256, (2, 1024), device="cuda")
    return model, lambda m: F.cross_entropy(m(input_ids=ids).logits.flatten(0, 1), ids.flatten())


MODELS = {"resnet50-bf16": resnet50, "bert-bf16": bert, "llama-1b-bf16": llama}


def measure(name, mode, steps):
    torch.manual_seed(0)
    model, loss_of = MODELS[name]()
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    called = model if mode == "eager" else torch.compile(model)
    torch.cuda.reset_peak_memory_stats()
    seconds = []
    for _ in range(5 + steps):
        begin = time.perf_counter()
        with torch.autocast("cuda", torch.bfloat16):
            loss = loss_of(called)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        float(loss.detach())
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"name": name, "mode": mode, "seconds": statistics.median(seconds[5:]), "peak_bytes": torch.cuda.max_memory_allocated(),
                      "first_step_seconds": round(seconds[0], 2), "torch": torch.__version__,
                      "parameters": sum(p.numel() for p in model.parameters())}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=MODELS)
    parser.add_argument("--mode", default="eager,compile")
    parser.add_argument("--steps", type=int, default=10)
    o = parser.parse_args()
    for name in o.names:
        for mode in o.mode.split(","):
            if (child := os.fork()) == 0:  # a process each: peaks are its own
                measure(name, mode, o.steps)
                os._exit(0)
            os.waitpid(child, 0)


if __name__ == "__main__":
    main()
