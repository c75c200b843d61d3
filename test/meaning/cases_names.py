"""Names: an adapter whose module has the name that others end in, and a tied tensor that is stored under its other name."""
import copy

import peft
import torch
from safetensors.torch import save_file
from torch import nn

from making import adamw, case, classes, export, record, train

ADAMW = ["--loss", "cross-entropy", "--weight-decay", "0"]


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(6, 6)

    def forward(self, x):
        return x + torch.tanh(self.gate(x))


class Gated(nn.Module):
    """`gate`, and gates of layers, whose names end as its does."""

    def __init__(self):
        super().__init__()
        self.gate, self.layers, self.head = nn.Linear(6, 6), nn.ModuleList([Layer(), Layer()]), nn.Linear(6, 4)

    def forward(self, x):
        x = torch.tanh(self.gate(x))
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


@case
def adapter_by_whole_name(folder):
    data, model = classes(5, (6,), 4, 24), Gated()
    export(model, (torch.from_numpy(data["x"][:8]),), folder)
    adapted = peft.get_peft_model(model, peft.LoraConfig(r=2, lora_alpha=4, target_modules=r"gate|layers\.1\.gate"))
    with torch.no_grad():
        for name, value in adapted.named_parameters():
            if "lora_B" in name:
                value.copy_(torch.randn_like(value) / 4)
    adapted.save_pretrained(str(folder / "adapter"))
    (folder / "adapter/README.md").unlink()
    record(folder, "'gate.weight' of an adapter is the parameter of that whole name, and no other that ends so",
           {"loss": train(adapted, data, 8, 4, "cross-entropy", adamw(0.01))[0], "relative": 2e-5},
           compile=[*ADAMW, "--adapter", "CASE/adapter", "--lr", "0.01"], run=["--steps", "4"], data=data)


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.decoder, self.bias = nn.Linear(6, 4), None

    def forward(self, x):
        return self.decoder(x)


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.cls = nn.Linear(6, 6), Head()
        self.cls.bias = self.cls.decoder.bias

    def forward(self, x):
        return self.cls(torch.tanh(self.body(x)))


@case
def weights_under_the_other_name(folder):
    data, model = classes(6, (6,), 4, 24), Masked()
    file = export(model, (torch.from_numpy(data["x"][:8]),), folder)
    stored = copy.deepcopy(model)
    with torch.no_grad():
        for value in stored.parameters():
            value.copy_(torch.randn_like(value) / 2)
    in_file = {tensor.name for tensor in file.graph.initializer}
    names = {"cls.decoder.bias": "cls.bias", "cls.bias": "cls.decoder.bias"}
    kept = {names[name] if name in names and name in in_file else name: value.detach().contiguous() for name, value in stored.named_parameters()}
    assert not {"cls.bias", "cls.decoder.bias"} & set(kept) & in_file
    save_file(kept, str(folder / "model.safetensors"))
    record(folder, "a tied bias is stored under the name that the ONNX file does not have: one parameter and one tensor of its shape are left, a pair",
           {"loss": train(stored, data, 8, 4, "cross-entropy", adamw(0.01))[0], "relative": 2e-5,
            "stderr": r"(?=.*cls\.decoder\.bias)(?=.*cls\.bias)"},
           compile=[*ADAMW, "--lr", "0.01"], run=["--steps", "4", "--weights", "CASE/model.safetensors"], data=data)
