#!/usr/bin/env python3
"""kedge_compiler.to_keras without training: every float tensor of the exported file is shaken, and the Keras model that takes the tensors back must
compute what onnxruntime computes of the shaken file: back_to_keras.py [NAME...]. Needs keras, tensorflow-cpu, tf2onnx, onnx and onnxruntime.
"""
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "python")]
import keras_models  # noqa: E402  (sets the backend first)
import keras  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402

from kedge_compiler import KedgeError, initializers, to_keras  # noqa: E402
from record import ROWS, inputs, noisy  # noqa: E402

PLAIN = ["mlp", "no-bias", "prelu", "conv1d", "conv2d", "conv3d", "depthwise", "separable", "transposed", "residual", "squeeze-excite", "embedding", "lstm",
         "bidirectional-lstm", "lstm-no-forget-bias", "gru", "gru-before", "simple-rnn", "time-distributed", "layer-norm", "group-norm", "attention"]


def shake(path, to, weights):
    """Changes what holds the values of a weight, alone or as one block of several; the rest are numbers of the graph."""
    model, generator = onnx.load(str(path)), np.random.default_rng(5)
    values = {tuple(np.sort(np.abs(w.reshape(-1)))) for w in weights}
    for tensor in model.graph.initializer:
        array = onnx.numpy_helper.to_array(tensor)
        if array.dtype != np.float32 or array.size < 2:
            continue
        flat, changed = array.reshape(-1).copy(), False
        for parts in (1, 2, 4):
            size = flat.size // parts
            for at in range(0, size * parts, size) if flat.size % parts == 0 and not changed else []:
                if tuple(np.sort(np.abs(flat[at:at + size]))) in values:
                    flat[at:at + size] += 0.1 * generator.standard_normal(size).astype("f4")
                    changed = True
        if changed:
            tensor.CopyFrom(onnx.numpy_helper.from_array(flat.reshape(array.shape), tensor.name))
    onnx.save(model, str(to))


def judge(name, folder):
    build, shape, kind, _ = keras_models.MODELS[name]
    keras.backend.clear_session()
    keras.utils.set_random_seed(3)
    model, generator = build(), np.random.default_rng(1)
    for weight in model.weights:
        weight.assign(noisy(weight.path, keras.ops.convert_to_numpy(weight), generator))
    x = inputs(shape, generator, "f4" if kind == "float32" else "i4", ROWS)
    model(x)
    model.export(str(folder / "model.onnx"), format="onnx", verbose=False)
    shake(folder / "model.onnx", folder / "trained.onnx", [keras.ops.convert_to_numpy(w) for w in model.weights])
    session = onnxruntime.InferenceSession(str(folder / "trained.onnx"), providers=["CPUExecutionProvider"])
    (wanted,) = session.run(None, {session.get_inputs()[0].name: x})
    before = np.abs(np.asarray(model(x)) - wanted).max()
    missing = to_keras(model, folder / "trained.onnx", folder / "model.onnx")
    apart = np.abs(np.asarray(model(x)) - wanted).max()
    return apart < 1e-4 and before > 1e-3, f"{before:.1e} apart before, {apart:.1e} after" + (f"; not in the file: {', '.join(missing)}" if missing else "")


def main():
    keras_models.collect()
    wrong = 0
    for name in sys.argv[1:] or PLAIN:
        with tempfile.TemporaryDirectory() as folder:
            try:
                right, words = judge(name, pathlib.Path(folder))
            except KedgeError as error:
                right, words = False, str(error)[:200]
        print(f"{name}: {'right' if right else 'WRONG'} {words}", flush=True)
        wrong += not right
    print(f"{wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
