"""Fine-tunes a causal language model of transformers with Kedge, and goes on with it in PyTorch. Needs torch, onnxscript, transformers."""
import kedge_compiler as kedge
import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(vocab_size=256, n_positions=64, n_embd=64, n_layer=2, n_head=4, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
model = GPT2LMHeadModel(config)  # or GPT2LMHeadModel.from_pretrained("gpt2")
tokens = np.frombuffer(open(__file__, "rb").read() * 8, np.uint8).astype(np.uint16)


class Logits(torch.nn.Module):  # the loss is Kedge's, and a file holds tensors alone
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, input_ids):
        return self.inner(input_ids, use_cache=False).logits


kedge.export(Logits(model), (torch.zeros(2, 64, dtype=torch.int64),), "gpt2.onnx")
program = kedge.compile("gpt2.onnx", shape={"input_ids": (4, 64)}, loss="cross-entropy", optimizer="adamw", clip_norm=1.0)
program.run(tokens=tokens, steps=20, lr=1e-3, callback=lambda step: print(step.step, step.loss))
wrapped = Logits(model)
wrapped.load_state_dict(program.state_dict(wrapped))  # `model` is trained now
rows = torch.from_numpy(tokens[:256].astype(np.int64)).reshape(4, 64)
print("in PyTorch:", model(rows, labels=rows).loss.item())
