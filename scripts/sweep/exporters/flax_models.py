#!/usr/bin/env python3
"""Flax modules, fresh and with values as after training, as jax2onnx writes them, with JAX' own losses: flax_models.py OUT [NAME...].

Needs jax, flax and jax2onnx. Recurrent layers are not here: jax2onnx 0.17.1 cannot trace nnx.RNN.
"""
import os
import sys
import tempfile
import traceback
import warnings

os.environ["JAX_PLATFORMS"] = "cpu"
warnings.filterwarnings("ignore")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from flax import nnx  # noqa: E402
from jax2onnx import to_onnx  # noqa: E402

from record import RATE, ROWS, STEPS, inputs, noisy, rows_of, write  # noqa: E402

MODELS = {}


class Chain(nnx.Module):
    def __init__(self, *parts):
        self.parts = nnx.List([part if isinstance(part, nnx.Module) else Call(part) for part in parts]) if hasattr(nnx, "List") else list(parts)

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x


class Call(nnx.Module):
    def __init__(self, f):
        self.f = f

    def __call__(self, x):
        return self.f(x)


class Residual(nnx.Module):
    def __init__(self, inner):
        self.inner = inner

    def __call__(self, x):
        return x + self.inner(x)


class Scaled(nnx.Module):
    """A layer with parameters of its own: a learned scale and shift without a norm."""

    def __init__(self, size):
        self.gain, self.shift = nnx.Param(jnp.ones(size)), nnx.Param(jnp.zeros(size))

    def __call__(self, x):
        return x * self.gain[...] + self.shift[...]


class Pooled(nnx.Module):
    def __init__(self, attention):
        self.attention = attention

    def __call__(self, x):
        return self.attention(x, decode=False)


def add(name, shape, kind="f4", classes=False):
    def register(make):
        MODELS[name] = (make, shape, kind, classes)
        return make
    return register


def linear(a, b, r, **words):
    return nnx.Linear(a, b, rngs=r, **words)


def conv(a, b, r, size=(3, 3), **words):
    return nnx.Conv(a, b, size, rngs=r, **words)


def mean(x):
    return x.mean(axis=tuple(range(1, x.ndim - 1)))


def flat(x):
    return x.reshape((x.shape[0], -1))


def collect():
    for name, act in (("relu", nnx.relu), ("gelu", nnx.gelu), ("gelu-exact", lambda x: nnx.gelu(x, approximate=False)), ("silu", nnx.silu), ("tanh", jnp.tanh), ("softplus", nnx.softplus)):
        add(f"mlp-{name}", (6,))(lambda r, act=act: Chain(linear(6, 8, r), act, linear(8, 3, r)))
    add("classifier", (6,), classes=True)(lambda r: Chain(linear(6, 8, r), nnx.relu, linear(8, 4, r)))
    add("no-bias", (6,))(lambda r: Chain(linear(6, 8, r, use_bias=False), nnx.relu, linear(8, 3, r)))
    add("one-output", (6,))(lambda r: Chain(linear(6, 8, r), nnx.relu, linear(8, 1, r)))
    add("scaled", (6,))(lambda r: Chain(linear(6, 8, r), Scaled(8), nnx.relu, linear(8, 3, r)))
    add("residual", (6,))(lambda r: Chain(linear(6, 8, r), Residual(Chain(linear(8, 8, r), jnp.tanh)), linear(8, 3, r)))
    add("stop-gradient", (6,))(lambda r: Chain(linear(6, 8, r), lambda x: x * jax.lax.stop_gradient(x) + x, linear(8, 3, r)))
    add("conv", (8, 8, 3))(lambda r: Chain(conv(3, 6, r), nnx.relu, mean, linear(6, 3, r)))
    add("conv-pool", (8, 8, 3))(lambda r: Chain(conv(3, 6, r), nnx.relu, lambda x: nnx.max_pool(x, window_shape=(2, 2), strides=(2, 2)), flat, linear(96, 3, r)))
    add("conv-strided", (8, 8, 3))(lambda r: Chain(conv(3, 6, r, strides=2), nnx.relu, lambda x: nnx.avg_pool(x, window_shape=(2, 2), strides=(2, 2)), flat, linear(24, 3, r)))
    add("conv1d", (10, 3))(lambda r: Chain(conv(3, 6, r, (3,)), nnx.relu, mean, linear(6, 3, r)))
    add("depthwise", (8, 8, 4))(lambda r: Chain(conv(4, 4, r, feature_group_count=4), conv(4, 6, r, (1, 1)), nnx.relu, mean, linear(6, 3, r)))
    add("conv-transpose", (6, 6, 3))(lambda r: Chain(nnx.ConvTranspose(3, 6, (3, 3), strides=(2, 2), rngs=r), nnx.relu, mean, linear(6, 3, r)))
    add("layer-norm", (6,))(lambda r: Chain(linear(6, 8, r), nnx.LayerNorm(8, rngs=r), linear(8, 3, r)))
    add("rms-norm", (6,))(lambda r: Chain(linear(6, 8, r), nnx.RMSNorm(8, rngs=r), linear(8, 3, r)))
    add("group-norm", (6, 6, 3))(lambda r: Chain(conv(3, 8, r), nnx.GroupNorm(8, num_groups=4, rngs=r), mean, linear(8, 3, r)))
    add("batch-norm-stored", (6,))(lambda r: Chain(linear(6, 8, r), nnx.BatchNorm(8, use_running_average=True, rngs=r), linear(8, 3, r)))
    add("embedding", (6,), "i4")(lambda r: Chain(nnx.Embed(10, 8, rngs=r), flat, linear(48, 3, r)))
    add("attention", (6, 8))(lambda r: Chain(Pooled(nnx.MultiHeadAttention(2, 8, 8, 8, rngs=r, decode=False)), mean, linear(8, 3, r)))
    add("transformer", (6, 8))(lambda r: Chain(Residual(Chain(nnx.LayerNorm(8, rngs=r), Pooled(nnx.MultiHeadAttention(2, 8, 8, 8, rngs=r, decode=False)))),
                                               Residual(Chain(nnx.LayerNorm(8, rngs=r), linear(8, 16, r), nnx.gelu, linear(16, 8, r))), mean, linear(8, 3, r)))


def losses_of(model, x, y, classes):
    graph, parameters, rest = nnx.split(model, nnx.Param, ...)

    def loss(values, a, b):
        out = nnx.merge(graph, values, rest)(a)
        if classes:
            return -jnp.take_along_axis(jax.nn.log_softmax(out), b[:, None], 1).mean()
        return ((out - b) ** 2).mean()
    step, losses = jax.jit(jax.value_and_grad(loss)), []
    for s in range(STEPS):
        value, grads = step(parameters, rows_of(x, s), rows_of(y, s))
        parameters = jax.tree.map(lambda p, g: p - RATE * g, parameters, grads)
        losses.append(float(value))
    return losses


def make(out, name, trained):
    build, shape, kind, classes = MODELS[name]
    model, generator = build(nnx.Rngs(3)), np.random.default_rng(len(name))
    if trained:
        state = nnx.state(model, (nnx.Param, nnx.BatchStat))
        nnx.update(model, jax.tree.map_with_path(lambda path, value: jnp.asarray(noisy(jax.tree_util.keystr(path), np.asarray(value), generator)), state))
    if hasattr(model, "eval"):
        model.eval()
    x = inputs(shape, generator, kind)
    result = model(rows_of(x, 0))
    y = generator.integers(0, result.shape[-1], (ROWS * STEPS,)) if classes else inputs(result.shape[1:], generator)
    with tempfile.TemporaryDirectory() as temporary:
        path = f"{temporary}/model.onnx"
        to_onnx(model, inputs=[jax.ShapeDtypeStruct((ROWS, *shape), x.dtype)], return_mode="file", output_path=path)
        import onnx
        (entry,) = [value.name for value in onnx.load(path).graph.input]
        write(f"{out}/flax-{name}-{'trained' if trained else 'fresh'}", path, {entry: x}, y, losses_of(model, x, y, classes), "cross-entropy" if classes else "mse")


def main():
    collect()
    out, names = sys.argv[1], sys.argv[2:] or list(MODELS)
    for name in names:
        for trained in (True, False):
            try:
                make(out, name, trained)
                print("made", name, trained, flush=True)
            except Exception:  # what the exporter itself cannot write
                print("NOT made", name, trained, traceback.format_exc().strip().splitlines()[-1][:300], flush=True)


if __name__ == "__main__":
    main()
