#!/usr/bin/env python3
"""Keras models, fresh and with values as after training, as tf2onnx writes them, with Keras' own losses: keras_models.py OUT [NAME...].

Needs keras, tensorflow-cpu and tf2onnx.
"""
import os
import pathlib
import sys
import tempfile
import traceback

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
import keras  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from keras import layers as L  # noqa: E402

from record import ROWS, STEPS, RATE, inputs, noisy, rows_of, write  # noqa: E402

MODELS = {}


def functional(shape, build, kind="float32"):
    def make():
        x = keras.Input(shape, dtype=kind)
        return keras.Model(x, build(x))
    return make, shape, kind


def chain(shape, *makers, kind="float32"):
    def build(x):
        for make in makers:
            x = make()(x)
        return x
    return functional(shape, build, kind)


def add(name, model, classes=False):
    MODELS[name] = (*model, classes)


def dense(count=3, **words):
    return lambda: L.Dense(count, **words)


def image(*makers, shape=(8, 8, 3)):
    return chain(shape, *makers, L.GlobalAveragePooling2D, dense())


def sequence(*makers, shape=(6, 5)):
    return chain(shape, *makers, dense())


def transformer(x):
    x = L.Dense(8)(x)
    a = L.MultiHeadAttention(2, 4)(x, x)
    x = L.LayerNormalization()(L.Add()([x, a]))
    h = L.Dense(8)(L.Dense(16, activation="gelu")(x))
    x = L.LayerNormalization()(L.Add()([x, h]))
    return L.Dense(3)(L.GlobalAveragePooling1D()(x))


def positions(x):
    table = L.Embedding(6, 8)(keras.ops.arange(6))
    return L.Dense(3)(L.Flatten()(L.Add()([L.Embedding(10, 8)(x), table])))


def residual(x):
    x = L.Conv2D(6, 3, padding="same", activation="relu")(x)
    y = L.Conv2D(6, 3, padding="same")(x)
    return L.Dense(3)(L.GlobalAveragePooling2D()(L.ReLU()(L.Add()([x, y]))))


def squeeze(x):
    x = L.Conv2D(6, 3, activation="relu")(x)
    s = L.Dense(6, activation="sigmoid")(L.Dense(3, activation="relu")(L.GlobalAveragePooling2D()(x)))
    return L.Dense(3)(L.GlobalAveragePooling2D()(L.Multiply()([x, L.Reshape((1, 1, 6))(s)])))


def branches(x):
    a, b = L.Dense(4, activation="relu")(x), L.Dense(4, activation="tanh")(x)
    return L.Dense(3)(L.Concatenate()([a, L.Subtract()([a, b]), L.Maximum()([a, b]), L.Average()([a, b])]))


def collect():
    add("mlp", chain((6,), dense(8, activation="relu"), dense()))
    add("classifier", chain((6,), dense(8, activation="tanh"), dense(4)), classes=True)
    for name in ("gelu", "swish", "softplus", "selu", "elu", "mish", "hard_sigmoid", "hard_swish"):
        add(name, chain((6,), dense(8, activation=name), dense()))
    add("gelu-tanh", chain((6,), dense(8), lambda: L.Activation(lambda v: keras.activations.gelu(v, approximate=True)), dense()))
    add("prelu", chain((6,), dense(8), L.PReLU, dense()))
    add("leaky-relu", chain((6,), dense(8), L.LeakyReLU, dense()))
    add("no-bias", chain((6,), dense(8, use_bias=False, activation="relu"), dense()))
    add("one-output", chain((6,), dense(8, activation="relu"), dense(1)))
    add("conv1d", chain((10, 3), lambda: L.Conv1D(6, 3, activation="relu"), L.GlobalMaxPooling1D, dense()))
    add("conv2d", image(lambda: L.Conv2D(6, 3, activation="relu"), lambda: L.MaxPooling2D(2)))
    add("conv2d-strided", image(lambda: L.Conv2D(6, 3, strides=2, padding="same", activation="relu"), lambda: L.Conv2D(4, 3, dilation_rate=2, padding="same")))
    add("conv3d", chain((4, 6, 6, 2), lambda: L.Conv3D(4, 3, activation="relu"), L.GlobalAveragePooling3D, dense()))
    add("depthwise", image(lambda: L.DepthwiseConv2D(3, activation="relu")))
    add("separable", image(lambda: L.SeparableConv2D(6, 3, activation="relu")))
    add("transposed", image(lambda: L.Conv2DTranspose(6, 3, strides=2, activation="relu")))
    add("upsampling", image(lambda: L.Conv2D(4, 3), lambda: L.UpSampling2D(2), lambda: L.Conv2D(4, 3, activation="relu")))
    add("average-pool", image(lambda: L.Conv2D(4, 3), lambda: L.AveragePooling2D(2), lambda: L.ZeroPadding2D(1), lambda: L.Cropping2D(((0, 1), (1, 0)))))
    add("residual", functional((8, 8, 3), residual))
    add("squeeze-excite", functional((8, 8, 3), squeeze))
    add("branches", functional((6,), branches))
    add("embedding", chain((6,), lambda: L.Embedding(10, 8), L.Flatten, dense(), kind="int32"))
    add("embedding-positions", functional((6,), positions, "int32"))
    add("lstm", sequence(lambda: L.LSTM(7)))
    add("lstm-sequence", sequence(lambda: L.LSTM(7, return_sequences=True), L.GlobalAveragePooling1D))
    add("bidirectional-lstm", sequence(lambda: L.Bidirectional(L.LSTM(5))))
    add("lstm-no-forget-bias", sequence(lambda: L.LSTM(7, unit_forget_bias=False)))
    add("gru", sequence(lambda: L.GRU(7)))
    add("gru-before", sequence(lambda: L.GRU(7, reset_after=False)))
    add("simple-rnn", sequence(lambda: L.SimpleRNN(7)))
    add("simple-rnn-sequence", sequence(lambda: L.SimpleRNN(7, return_sequences=True), L.Flatten))
    add("time-distributed", sequence(lambda: L.TimeDistributed(L.Dense(4, activation="relu")), L.Flatten))
    add("layer-norm", chain((6,), dense(8), L.LayerNormalization, dense()))
    add("group-norm", image(lambda: L.Conv2D(8, 3), lambda: L.GroupNormalization(4)))
    add("rms-norm", chain((6,), dense(8), L.RMSNormalization, dense()))
    add("unit-norm", chain((6,), dense(8), L.UnitNormalization, dense()))
    add("batch-norm", chain((6,), dense(8), L.BatchNormalization, L.ReLU, dense()))
    add("conv-batch-norm", image(lambda: L.Conv2D(6, 3), L.BatchNormalization, L.ReLU))
    add("einsum-dense", sequence(lambda: L.EinsumDense("abc,cd->abd", output_shape=(None, 4), bias_axes="d"), L.GlobalAveragePooling1D))
    add("attention", functional((6, 8), lambda x: L.Dense(3)(L.GlobalAveragePooling1D()(L.MultiHeadAttention(2, 4)(x, x)))))
    add("grouped-attention", functional((6, 8), lambda x: L.Dense(3)(L.GlobalAveragePooling1D()(L.GroupQueryAttention(4, 4, 2)(x, x)))))
    add("causal-attention", functional((6, 8), lambda x: L.Dense(3)(L.Flatten()(L.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True)))))
    add("transformer", functional((6, 5), transformer))
    add("reshape-permute", sequence(lambda: L.Permute((2, 1)), lambda: L.Reshape((15, 2)), lambda: L.Dense(3, activation="relu"), L.Flatten))
    add("repeat-vector", chain((6,), dense(4), lambda: L.RepeatVector(3), lambda: L.LSTM(5), dense()))
    add("conv-lstm", chain((3, 6, 6, 2), lambda: L.ConvLSTM2D(3, 3), L.GlobalAveragePooling2D, dense()))
    apps = keras.applications
    small = dict(weights=None, input_shape=(32, 32, 3), classes=4, classifier_activation=None)
    add("app-mobilenet", (lambda: apps.MobileNet(alpha=0.25, **small), (32, 32, 3), "float32"))
    add("app-mobilenet-v2", (lambda: apps.MobileNetV2(alpha=0.35, **small), (32, 32, 3), "float32"))
    add("app-mobilenet-v3", (lambda: apps.MobileNetV3Small(alpha=0.75, minimalistic=True, include_preprocessing=False, **small), (32, 32, 3), "float32"))


def losses_of(model, x, y, classes):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True) if classes else keras.losses.MeanSquaredError()
    model.compile(keras.optimizers.SGD(RATE), loss, run_eagerly=True)
    return [model.train_on_batch(rows_of(x, s), rows_of(y, s)) for s in range(STEPS)]


def held_losses(model, file, x, y, classes):
    """Losses of a fresh model whose variables of zeros (scales of ones) do not train where the exporter removed them from the file."""
    plain = [(tensor.name, values.flat[0], values.size) for tensor in file.graph.initializer if len(set((values := onnx.numpy_helper.to_array(tensor)).flat)) == 1]
    for layer in model._flatten_layers():
        for weight in layer.weights:
            values, owners = keras.ops.convert_to_numpy(weight), weight.path.split("/")[:-1]
            there = any(value == values.flat[0] and (size == values.size and all(f"/{owner}" in name for owner in owners) or
                                                     name.startswith("B0__") and "lstm" in weight.path) for name, value, size in plain)
            if len(set(values.flat)) == 1 and values.flat[0] in (0, 1) and not there:
                weight.trainable = False
    return losses_of(model, x, y, classes)


def scalar(value):
    return float(np.asarray(value).reshape(-1)[0])


def make(out, name, trained):
    build, shape, kind, classes = MODELS[name]
    keras.backend.clear_session()
    keras.utils.set_random_seed(3)
    model, generator = build(), np.random.default_rng(len(name))
    if trained:
        for weight in model.weights:
            weight.assign(noisy(weight.path, keras.ops.convert_to_numpy(weight), generator))
    x = inputs(shape, generator, "f4" if kind == "float32" else "i4")
    model(x[:ROWS])
    outputs = model.output_shape[1:]
    y = generator.integers(0, outputs[-1], (ROWS * STEPS,)) if classes else inputs(outputs, generator)
    with tempfile.TemporaryDirectory() as temporary:
        path = pathlib.Path(temporary) / "model.onnx"
        model.export(str(path), format="onnx", verbose=False)
        file = onnx.load(str(path))
        entry = file.graph.input[0].name
        first = model.get_weights()
        losses = [scalar(value) for value in losses_of(model, x, y, classes)]
        held = None
        if not trained:
            model.set_weights(first)
            held = [scalar(value) for value in held_losses(model, file, x, y, classes)]
        write(pathlib.Path(out) / f"keras-{name}-{'trained' if trained else 'fresh'}", path, {entry: x}, y, losses,
              "cross-entropy" if classes else "mse", without_zeros=held)


def main():
    collect()
    out, names = sys.argv[1], sys.argv[2:] or list(MODELS)
    for name in names:
        for trained in (True, False):
            try:
                make(out, name, trained)
                print("made", name, trained, flush=True)
            except Exception:  # what the exporter itself cannot write
                print("NOT made", name, trained, traceback.format_exc().strip().splitlines()[-1][:200], flush=True)


if __name__ == "__main__":
    main()
