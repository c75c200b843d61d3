#!/usr/bin/env python3
"""Paddle layers, fresh and with values as after training, as paddle2onnx writes them, with Paddle's own losses: paddle_models.py OUT [NAME...].

Needs paddlepaddle, paddle2onnx, and onnx_graphsurgeon and sympy, which paddle2onnx would install by itself. The exporter ends the process where it refuses: a process each.
"""
import os
import sys
import tempfile
import traceback
import warnings

os.environ["GLOG_minloglevel"] = "3"
warnings.filterwarnings("ignore")
import numpy as np  # noqa: E402
import paddle  # noqa: E402
from paddle import nn  # noqa: E402

from record import RATE, ROWS, STEPS, inputs, noisy, rows_of, write  # noqa: E402

MODELS = {}


class Call(nn.Layer):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        return self.f(x)


class Residual(nn.Layer):
    def __init__(self, *parts):
        super().__init__()
        self.inner = nn.Sequential(*parts)

    def forward(self, x):
        return x + self.inner(x)


class Last(nn.Layer):
    """The outputs of a recurrent layer, without its states."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)[0].mean(axis=1)


class Attention(nn.Layer):
    def __init__(self):
        super().__init__()
        self.inner = nn.MultiHeadAttention(8, 2)

    def forward(self, x):
        return self.inner(x, x, x)


def add(name, shape, make, kind="f4", classes=False):
    MODELS[name] = (lambda: nn.Sequential(*make()), shape, kind, classes)


def mean(*axes):
    return Call(lambda x: x.mean(axis=list(axes)))


def collect():
    for name, act in (("relu", nn.ReLU), ("gelu", nn.GELU), ("swish", nn.Swish), ("hardswish", nn.Hardswish), ("softplus", nn.Softplus), ("prelu", nn.PReLU)):
        add(f"mlp-{name}", (6,), lambda act=act: (nn.Linear(6, 8), act(), nn.Linear(8, 3)))
    add("classifier", (6,), lambda: (nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4)), classes=True)
    add("no-bias", (6,), lambda: (nn.Linear(6, 8, bias_attr=False), nn.ReLU(), nn.Linear(8, 3)))
    add("one-output", (6,), lambda: (nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1)))
    add("residual", (6,), lambda: (nn.Linear(6, 8), Residual(nn.Linear(8, 8), nn.Tanh()), nn.Linear(8, 3)))
    add("conv", (3, 8, 8), lambda: (nn.Conv2D(3, 6, 3), nn.ReLU(), nn.MaxPool2D(2), nn.Flatten(), nn.Linear(54, 3)))
    add("conv-strided", (3, 8, 8), lambda: (nn.Conv2D(3, 6, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(6, 3)))
    add("depthwise", (4, 8, 8), lambda: (nn.Conv2D(4, 4, 3, groups=4), nn.Conv2D(4, 6, 1), nn.ReLU(), mean(2, 3), nn.Linear(6, 3)))
    add("conv-transpose", (3, 6, 6), lambda: (nn.Conv2DTranspose(3, 6, 3, stride=2), nn.ReLU(), mean(2, 3), nn.Linear(6, 3)))
    add("conv1d", (3, 10), lambda: (nn.Conv1D(3, 6, 3), nn.ReLU(), mean(2), nn.Linear(6, 3)))
    add("layer-norm", (6,), lambda: (nn.Linear(6, 8), nn.LayerNorm(8), nn.Linear(8, 3)))
    add("group-norm", (3, 8, 8), lambda: (nn.Conv2D(3, 8, 3), nn.GroupNorm(4, 8), nn.ReLU(), mean(2, 3), nn.Linear(8, 3)))
    add("instance-norm", (3, 8, 8), lambda: (nn.Conv2D(3, 8, 3), nn.InstanceNorm2D(8), nn.ReLU(), mean(2, 3), nn.Linear(8, 3)))
    add("batch-norm", (3, 8, 8), lambda: (nn.Conv2D(3, 8, 3), nn.BatchNorm2D(8), nn.ReLU(), mean(2, 3), nn.Linear(8, 3)))
    add("embedding", (6,), lambda: (nn.Embedding(10, 8), nn.Flatten(), nn.Linear(48, 3)), "i8")
    add("attention", (6, 8), lambda: (Attention(), mean(1), nn.Linear(8, 3)))
    add("transformer", (6, 8), lambda: (nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation="gelu"), mean(1), nn.Linear(8, 3)))
    add("lstm", (5, 4), lambda: (Last(nn.LSTM(4, 6)), nn.Linear(6, 3)))
    add("gru", (5, 4), lambda: (Last(nn.GRU(4, 6)), nn.Linear(6, 3)))
    add("simple-rnn", (5, 4), lambda: (Last(nn.SimpleRNN(4, 6)), nn.Linear(6, 3)))


def losses_of(model, x, y, classes):
    """As Paddle trains: norms by batch."""
    model.train()
    optimizer, losses = paddle.optimizer.SGD(RATE, parameters=model.parameters()), []
    loss_of = nn.CrossEntropyLoss() if classes else nn.MSELoss()
    for s in range(STEPS):
        loss = loss_of(model(paddle.to_tensor(rows_of(x, s))), paddle.to_tensor(rows_of(y, s)))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    return losses


def make(out, name, trained):
    build, shape, kind, classes = MODELS[name]
    paddle.seed(3)
    model, generator = build(), np.random.default_rng(len(name))
    if trained:
        for key, value in model.state_dict().items():
            value.set_value(noisy("var" if "variance" in key else key, value.numpy(), generator))
    x = inputs(shape, generator, kind)
    model.eval()
    result = model(paddle.to_tensor(rows_of(x, 0)))
    y = generator.integers(0, result.shape[-1], (ROWS * STEPS,)) if classes else inputs(tuple(result.shape[1:]), generator)
    with tempfile.TemporaryDirectory() as temporary:
        spec = paddle.static.InputSpec([-1, *shape], str(x.dtype), "x")
        paddle.onnx.export(model, f"{temporary}/model", input_spec=[spec], opset_version=17)
        options = ["--train-mode"] if name == "batch-norm" else []
        write(f"{out}/paddle-{name}-{'trained' if trained else 'fresh'}", f"{temporary}/model.onnx", {"x": x}, y, losses_of(model, x, y, classes),
              "cross-entropy" if classes else "mse", options)


def main():
    collect()
    out, names = sys.argv[1], sys.argv[2:] or list(MODELS)
    for name in names:
        for trained in (True, False):
            if child := os.fork():
                if os.waitpid(child, 0)[1]:
                    print("NOT made", name, trained, "the exporter died", flush=True)
                continue
            try:
                make(out, name, trained)
                print("made", name, trained, flush=True)
            except Exception:  # what the exporter itself cannot write
                print("NOT made", name, trained, traceback.format_exc().strip().splitlines()[-1][:300], flush=True)
            os._exit(0)


if __name__ == "__main__":
    main()
