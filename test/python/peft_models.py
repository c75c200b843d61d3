"""Models of transformers with adapters of peft, through export and fit, beside PyTorch: peft_models.py, in a folder of its own."""
import copy
import pathlib
import warnings

import kedge_compiler as kedge
import numpy as np
import peft
import torch
import transformers

warnings.filterwarnings("ignore")
STEPS, ROWS, RATE = 20, 8, 1e-2
SMALL = dict(vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, max_position_embeddings=40,
             attn_implementation="eager")


def llama():
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL, use_cache=False, num_key_value_heads=1))


def gpt2():
    still = dict(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=0, eos_token_id=0)
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=60, n_embd=32, n_layer=2, n_head=2, n_positions=40, use_cache=False,
                                                                attn_implementation="eager", **still))


def bert():
    return transformers.BertForMaskedLM(transformers.BertConfig(**SMALL, hidden_dropout_prob=0, attention_probs_dropout_prob=0))


CASES = {
    "llama": (llama, dict(target_modules=["q_proj", "v_proj"])),
    "gpt2": (gpt2, dict(target_modules=["c_attn"], fan_in_fan_out=True)),
    "bert": (bert, dict(target_modules=["query", "value"], modules_to_save=["cls"])),
}


class Logits(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x).logits


def adapted(make, config):
    torch.manual_seed(1)
    model = Logits(peft.get_peft_model(make(), peft.LoraConfig(r=4, lora_alpha=8, **config))).train()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.02)  # A has a gradient from the first step on
    return model


def pytorch(model, x, y):
    update, losses = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=RATE, weight_decay=0), []
    for step in range(STEPS):
        rows = slice(step * ROWS, (step + 1) * ROWS)
        loss = torch.nn.functional.cross_entropy(model(x[rows]).transpose(1, 2), y[rows])
        update.zero_grad()
        loss.backward()
        update.step()
        losses.append(loss.item())
    return losses


def check(name, make, config):
    model, draw = adapted(make, config), np.random.default_rng(3)
    x, y = (torch.from_numpy(draw.integers(first, 60, (STEPS * ROWS, 12))) for first in (1, 0))
    trained = copy.deepcopy(model)
    wanted = pytorch(trained, x, y)
    path = kedge.export(model, (x[:ROWS],), f"{name}.onnx", input_names=["x"])
    program = kedge.compile(path, shape={"x": (ROWS, 12)}, loss="cross-entropy", optimizer="adamw", weight_decay=0, folder=name)
    exported = program.run(data={"x": x.numpy(), "labels": y.numpy()}, steps=STEPS, lr=RATE).loss
    fitted = copy.deepcopy(model)
    losses = kedge.fit(fitted, x, y, batch_size=ROWS, steps=STEPS, lr=RATE, optimizer="adamw", weight_decay=0, shuffle=None).loss
    for found in (exported, losses):
        assert max(abs(a - b) / b for a, b in zip(found, wanted)) < 1e-5, (name, found, wanted)
    frozen = 0
    for (place, before), one, other in zip(model.named_parameters(), fitted.parameters(), trained.parameters()):
        frozen += not before.requires_grad
        assert torch.equal(before, one) if not before.requires_grad else torch.allclose(one, other, atol=1e-4), place
    print(f"{name}: {frozen} tensors frozen to the bit, losses PyTorch's", flush=True)


for name, (make, config) in CASES.items():
    check(name, make, config)
