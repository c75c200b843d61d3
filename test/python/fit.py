#!/usr/bin/env python3
"""fit, export and frozen parameters with torch: fit.py, in a folder of its own."""
import pathlib
import re
import warnings

import kedge_compiler as kedge
import numpy as np
import torch

warnings.filterwarnings("ignore", category=DeprecationWarning)
README = pathlib.Path(__file__).parents[2] / "README.md"


class Mixed(torch.nn.Module):
    """BatchNormalization, Dropout and attention with dropout, as models are made."""

    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.encoder = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
        self.drop, self.head = torch.nn.Dropout(0.2), torch.nn.Linear(8, 4)

    def forward(self, image):
        x = torch.relu(self.norm(self.stem(image))).flatten(2).transpose(1, 2)
        return self.head(self.drop(self.encoder(x).mean(1)))


def readme():
    torch.manual_seed(0)
    code = re.search(r"```python\n(import torch, kedge_compiler.*?)```", README.read_text(), re.S)[1]
    names = {}
    exec(code.replace("progress=True", "progress=False"), names)
    history = names["history"]
    assert len(history) == 5 * 128 and history.loss[-1] < 0.5 * history.loss[0], history
    model, pixels, classes = names["model"], names["pixels"], names["classes"]
    with torch.no_grad():
        accuracy = (model(pixels).argmax(1) == classes).float().mean().item()
    assert accuracy > 0.9, accuracy
    print("README: the lines learn", flush=True)


def modes():
    """Whatever is in training mode when it is exported trains so, and every module's mode comes back."""
    model, image = Mixed(), torch.randn(4, 3, 6, 6)
    model.norm.eval()
    before = {name: module.training for name, module in model.named_modules()}
    path = kedge.export(model, (image,), "mixed.onnx")
    assert before == {name: module.training for name, module in model.named_modules()}
    program = kedge.compile(path, shape={"image": (4, 3, 6, 6)}, loss="cross-entropy", folder="mixed")
    rows = {"image": torch.randn(16, 3, 6, 6), "labels": torch.randint(0, 4, (16,))}
    program.run(data=rows, steps=4, lr=1e-2)
    state = program.state_dict(model)
    assert torch.equal(state["norm.running_mean"], model.norm.running_mean) and not torch.equal(state["head.weight"], model.head.weight)
    model.load_state_dict(state)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.eval()
        kedge.export(model, (image,), "eval.onnx")
    assert any("the model was in evaluation mode, and is exported in training mode" in str(one.message) for one in caught)
    assert not any(module.training for module in model.modules())
    trained = kedge.compile("eval.onnx", shape={"image": (4, 3, 6, 6)}, loss="cross-entropy", folder="eval")
    trained.run(data=rows, steps=2)
    assert not torch.equal(trained.state_dict()["norm.running_mean"], state["norm.running_mean"])
    kedge.export(model, (image,), "as-it-is.onnx", train=False)
    try:
        kedge.compile("as-it-is.onnx", shape={"image": (4, 3, 6, 6)}, loss="cross-entropy")
        raise AssertionError("compiled without a mode")
    except kedge.KedgeError as error:
        assert "--train-mode=off to train the file as it is" in str(error), error
    print("modes: exported as they are, put back, and asked for", flush=True)


def frozen():
    """The losses are PyTorch's where the first layers are frozen, and these come back equal to the bit."""
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.LayerNorm(8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    for part in (model[0], model[1]):
        part.requires_grad_(False)
    x, labels = torch.randn(40, 6), torch.randint(0, 3, (40,))
    path = kedge.export(model, (x[:2],), "half.onnx")
    program = kedge.compile(path, shape={"input": (8, 6)}, loss="cross-entropy", optimizer="sgd", folder="half")
    losses = program.run(data={"input": x, "labels": labels}, steps=5, lr=0.1).loss
    state = program.state_dict(model)
    assert all(torch.equal(state[name], value) == (name[0] in "01") for name, value in model.state_dict().items())
    update = torch.optim.SGD(model[3].parameters(), lr=0.1)
    for step in range(5):
        loss = torch.nn.functional.cross_entropy(model(x[8 * step:8 * step + 8]), labels[8 * step:8 * step + 8])
        update.zero_grad()
        loss.backward()
        update.step()
        assert abs(loss.item() - losses[step]) < 1e-5, (step, loss.item(), losses[step])
    print("frozen: PyTorch's losses, and the bits of what is frozen", flush=True)


def loaders():
    torch.manual_seed(4)
    x, values = torch.randn(100, 6), torch.randn(100, 2)
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, values), batch_size=10)
    before = torch.nn.functional.mse_loss(model(x), values).item()
    history = kedge.fit(model, loader, epochs=6, lr=1e-2, validation=(x, values))
    after = torch.nn.functional.mse_loss(model(x), values).item()
    assert len(history) == 60 and after < before and abs(history.eval[-1][1] - after) < 1e-5, (before, after, history)
    named = kedge.fit(torch.nn.Linear(6, 2), {"input": x.numpy()}, values.numpy(), steps=3, optimizer="sgd", lr=0.1, train_only="bias")
    assert len(named) == 3 and any("--train-only: 1 tensors with 2 elements train" in note for note in named.program.notes), named.program.notes
    print("fit: a loader with validation, and arrays by name", flush=True)


readme()
modes()
frozen()
loaders()
