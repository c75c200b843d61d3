#!/usr/bin/env python3
"""scikit-learn models as skl2onnx writes them, with losses of SGD on what the file holds: sklearn_models.py OUT [NAME...].

scikit-learn's own training is no SGD over the parameters of the file, but for MLPs; the losses are those of its formulas in float64,
with gradients by hand. "trained" is what fit() gives, "fresh" the same with values of zero. Needs scikit-learn and skl2onnx.
"""
import sys
import traceback
import warnings

import numpy as np
from sklearn import linear_model, neural_network, pipeline, preprocessing
from skl2onnx import to_onnx

from record import RATE, ROWS, STEPS, rows_of, write

warnings.filterwarnings("ignore")
MODELS = {}


def model(function):
    MODELS[function.__name__.replace("_", "-")] = function
    return function


ACTIVATIONS = {"identity": (lambda z: z, lambda z, a: np.ones_like(z)), "relu": (lambda z: np.maximum(z, 0), lambda z, a: (z > 0) * 1.0),
               "tanh": (np.tanh, lambda z, a: 1 - a * a), "logistic": (lambda z: 1 / (1 + np.exp(-z)), lambda z, a: a * (1 - a))}


def sgd(weights, biases, activation, x, y, kind):
    """Losses of a multi-layer perceptron: mse, cross-entropy of softmax, or bce of a logit."""
    weights, biases = [w.astype("f8") for w in weights], [b.astype("f8") for b in biases]
    act, slope = ACTIVATIONS[activation]
    losses = []
    for step in range(STEPS):
        a, kept, labels = rows_of(x, step).astype("f8"), [], rows_of(y, step)
        for layer, (w, b) in enumerate(zip(weights, biases)):
            z = a @ w + b
            kept.append((a, z))
            a = z if layer == len(weights) - 1 else act(z)
        if kind == "mse":
            losses.append(((a - labels) ** 2).mean())
            grad = 2 * (a - labels) / a.size
        elif kind == "bce":
            losses.append((np.logaddexp(0, a) - a * labels).mean())
            grad = (1 / (1 + np.exp(-a)) - labels) / a.size
        else:
            shifted = a - a.max(1, keepdims=True)
            p = np.exp(shifted) / np.exp(shifted).sum(1, keepdims=True)
            losses.append(-np.log(p[np.arange(len(p)), labels]).mean())
            grad = (p - np.eye(p.shape[1])[labels]) / len(p)
        for layer in reversed(range(len(weights))):
            before, z = kept[layer]
            if layer != len(weights) - 1:
                grad = grad * slope(z, act(z))
            dw, db, grad = before.T @ grad, grad.sum(0), grad @ weights[layer].T
            weights[layer] -= RATE * dw
            biases[layer] -= RATE * db
    return losses


def data(classes=0, outputs=1, rows=64):
    g = np.random.default_rng(classes + outputs)
    x = g.standard_normal((rows, 5)).astype("f4")
    y = (x @ g.standard_normal((5, max(classes, outputs)))) + 0.1 * g.standard_normal((rows, max(classes, outputs)))
    return x, (y.argmax(1) if classes else y.astype("f4") if outputs > 1 else y[:, 0].astype("f4"))


def regression(make, outputs):
    x, y = data(outputs=outputs)
    fitted = make().fit(x, y)
    return fitted, x, y.reshape(len(y), -1)


def linear(make, outputs=1):
    fitted, x, y = regression(make, outputs)
    w, b = np.atleast_2d(fitted.coef_).T, np.atleast_1d(fitted.intercept_)
    return to_onnx(fitted, x[:1]), x, y, lambda: sgd([w], [np.broadcast_to(b, w.shape[1:])], "identity", x, y, "mse"), "mse", []


def mlp_regressor(activation, outputs=1, hidden=(8,)):
    fitted, x, y = regression(lambda: neural_network.MLPRegressor(hidden_layer_sizes=hidden, activation=activation, max_iter=20, random_state=1), outputs)
    return to_onnx(fitted, x[:1]), x, y, lambda: sgd(fitted.coefs_, fitted.intercepts_, activation, x, y, "mse"), "mse", []


def behind(file, op):
    """What goes into the last node of this kind."""
    return [node.input[0] for node in file.graph.node if node.op_type == op][-1]


def mlp_classifier(classes, zipmap, activation="relu"):
    x, y = data(classes=classes)
    fitted = neural_network.MLPClassifier((8,), activation=activation, max_iter=20, random_state=1).fit(x, y)
    file = to_onnx(fitted, x[:1], options={id(fitted): {"zipmap": zipmap}})
    if classes == 2:
        y = y.reshape(-1, 1).astype("f4")
        return file, x, y, lambda: sgd(fitted.coefs_, fitted.intercepts_, activation, x, y, "bce"), "bce-with-logits", ["--logits", behind(file, "Sigmoid")]
    return file, x, y, lambda: sgd(fitted.coefs_, fitted.intercepts_, activation, x, y, "ce"), "cross-entropy", ["--logits", behind(file, "Softmax")]


def logistic(classes, zipmap):
    x, y = data(classes=classes)
    fitted = linear_model.LogisticRegression().fit(x, y)
    file = to_onnx(fitted, x[:1], options={id(fitted): {"zipmap": zipmap}})
    (node,) = [n for n in file.graph.node if n.op_type == "LinearClassifier"]
    held = {a.name: np.array(a.floats) for a in node.attribute if a.floats}
    rows = len(held["intercepts"])
    w, b = held["coefficients"].reshape(rows, -1).T, held["intercepts"]
    post = {a.name: a.s.decode() for a in node.attribute if a.type == 3}.get("post_transform", "NONE")
    logits = node.output[1] + ("" if post == "NONE" else "/logits")
    return file, x, y, lambda: sgd([w], [b], "identity", x, y, "ce"), "cross-entropy", ["--logits", logits]


@model
def linear_regression():
    return linear(linear_model.LinearRegression)


@model
def linear_regression_outputs():
    return linear(linear_model.LinearRegression, 3)


@model
def ridge():
    return linear(linear_model.Ridge)


@model
def lasso():
    return linear(lambda: linear_model.Lasso(0.01))


@model
def mlp_regressor_relu():
    return mlp_regressor("relu")


@model
def mlp_regressor_tanh():
    return mlp_regressor("tanh")  # of several outputs skl2onnx writes one column


@model
def mlp_regressor_deep():
    return mlp_regressor("logistic", 1, (8, 6))


@model
def mlp_classifier_two():
    return mlp_classifier(2, False)


@model
def mlp_classifier_three():
    return mlp_classifier(3, False)


@model
def mlp_classifier_zipmap():
    return mlp_classifier(3, True, "tanh")


@model
def logistic_regression_two():
    return logistic(2, False)


@model
def logistic_regression_three():
    return logistic(3, False)


@model
def logistic_regression_zipmap():
    return logistic(3, True)


@model
def scaled_mlp():
    x, y = data()
    fitted = pipeline.make_pipeline(preprocessing.StandardScaler(), neural_network.MLPRegressor(hidden_layer_sizes=(8,), max_iter=20, random_state=1)).fit(x, y)
    net, scaled = fitted[-1], fitted[0].transform(x)
    y = y.reshape(-1, 1)
    return to_onnx(fitted, x[:1]), x, y, lambda: sgd(net.coefs_, net.intercepts_, "relu", scaled, y, "mse"), "mse", []


@model
def normalized_linear():
    x, y = data()
    fitted = pipeline.make_pipeline(preprocessing.Normalizer("l2"), linear_model.Ridge()).fit(x, y)
    w, b, scaled, y = fitted[-1].coef_.reshape(-1, 1), np.atleast_1d(fitted[-1].intercept_), fitted[0].transform(x), y.reshape(-1, 1)
    return to_onnx(fitted, x[:1]), x, y, lambda: sgd([w], [b], "identity", scaled, y, "mse"), "mse", []


def main():
    out, names = sys.argv[1], sys.argv[2:] or list(MODELS)
    for name in names:
        try:
            file, x, y, losses, loss, options = MODELS[name]()
            (entry,) = [value.name for value in file.graph.input]
            count = ROWS * STEPS
            write(f"{out}/sklearn-{name}", file.SerializeToString(), {entry: x[:count]}, y[:count], losses(), loss, options)
            print("made", name, flush=True)
        except Exception:
            print("NOT made", name, traceback.format_exc().strip().splitlines()[-1][:300], flush=True)


if __name__ == "__main__":
    main()
