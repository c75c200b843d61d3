#!/usr/bin/env python3
"""fit, export and frozen parameters with torch: fit.py, in a folder of its own."""
import copy
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


class Versioned(torch.nn.Module):
    """Loads weights of its own version only, as torchvision's MNASNet does; has a tied name, a constant, and a buffer that nothing reads."""
    _version = 2

    def __init__(self):
        super().__init__()
        self.norm, self.head = torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 3)
        self.same = self.head
        self.register_buffer("scale", torch.tensor([1, 2, 3, 1, 2, 3]))
        self.register_buffer("unread", torch.tensor([0.1, 7.0]))

    def forward(self, x):
        return self.head(self.norm(x) * self.scale)

    def _load_from_state_dict(self, state, prefix, metadata, *rest):
        if metadata.get("version") != 2:
            raise ValueError(f"version should be 2 instead of {metadata.get('version')}")
        super()._load_from_state_dict(state, prefix, metadata, *rest)


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


def given_back():
    """Each way to the weights gives what load_state_dict of a module takes that looks at versions, and misses no name."""
    torch.manual_seed(5)
    model, x, labels = Versioned(), torch.randn(64, 6), torch.randint(0, 3, (64,))
    kedge.fit(copy.deepcopy(model), x, labels, steps=2)
    path = kedge.export(model, (x[:2],), "versioned.onnx")
    program = kedge.compile(path, shape={"x": (8, 6)}, loss="cross-entropy", optimizer="sgd", folder="versioned")
    program.run(data={"x": x, "labels": labels}, steps=6, lr=0.1, eval_data={"x": x, "labels": labels}, eval_every=2, keep_best=True)
    states = {"alone": program.state_dict(), "with the module": program.state_dict(model), "best": program.state_dict(which="best")}
    with program.session() as session:
        states["session"] = session.state_dict(model)
    for kind, state in states.items():
        back = Versioned()
        with torch.no_grad():
            back.scale.zero_(), back.unread.zero_()
        back.load_state_dict(state)
        assert list(state) == list(model.state_dict()) and state._metadata == model.state_dict()._metadata, (kind, list(state), state._metadata)
        assert torch.equal(back.scale, model.scale) and torch.equal(back.unread, model.unread), kind
        assert torch.equal(back.same.weight, states["alone"]["head.weight"]) and not torch.equal(back.head.weight, model.head.weight), kind
        loss = torch.nn.functional.cross_entropy(back.eval()(x), labels).item()
        assert abs(loss - program.evaluate({"x": x, "labels": labels}, which="best" if kind == "best" else "last")["loss"]) < 1e-5, (kind, loss)
    program.load_state_dict(states["alone"])
    assert all(torch.equal(program.state_dict()[name], value) for name, value in states["alone"].items())
    torch.save(states["alone"], "versioned.pt")
    Versioned().load_state_dict(torch.load("versioned.pt", weights_only=True))
    print(f"weights back: {len(states)} ways for a module that looks at versions", flush=True)


readme()
given_back()
modes()
frozen()
loaders()
