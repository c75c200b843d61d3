"""Training artifacts of ONNX Runtime 1.19.2 with the losses of its own training: onnxruntime_artifacts.py FOLDER.

Each case: forward model's artifacts as generate_artifacts() writes them, inputs and labels of all steps (.npy), and case.json with
the rate, the rows of a step, the losses and how near they are to be. Needs onnxruntime-training 1.19.2, torch, onnx 1.16, cerberus and numpy below 2.
"""
import json
import pathlib
import sys

import numpy as np
from onnx import TensorProto as T
from onnx import checker, helper, load, numpy_helper, save
from onnxruntime.training import artifacts
from onnxruntime.training.api import CheckpointState, Module, Optimizer

STEPS, ROWS, RATE = 20, 8, 0.01
random = np.random.default_rng(7)


def normal(*shape):
    return random.normal(0, 0.3, shape).astype("f")


def node(kind, inputs, outputs, **attributes):
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


class Case:
    """A forward model and what is trained of it. Constants have names that begin with 'const'."""

    def __init__(self, name, nodes, data, out, weights, loss, optimizer, frozen=(), opset=17, epsilon=False, **options):
        self.name, self.data, self.loss, self.frozen = name, data, loss, list(frozen)
        self.optimizer, self.options, self.epsilon = optimizer, options, epsilon
        input_type = T.INT64 if data.dtype == np.int64 else T.FLOAT
        graph = helper.make_graph(
            nodes, "forward", [helper.make_tensor_value_info("x", input_type, ["batch", *data.shape[1:]])],
            [helper.make_tensor_value_info("out", T.FLOAT, ["batch", *out])],
            [numpy_helper.from_array(values, key) for key, values in weights.items()])
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        self.model.ir_version = 8
        checker.check_model(self.model)
        self.trained = [key for key in weights if key not in frozen and not key.startswith("const")]

    def write(self, folder, labels):
        folder.mkdir(parents=True, exist_ok=True)
        artifacts.generate_artifacts(self.model, requires_grad=self.trained, frozen_params=self.frozen, loss=self.loss,
                                     optimizer=self.optimizer, artifact_directory=str(folder), **self.options)
        np.save(folder / "x.npy", self.data)
        np.save(folder / "labels.npy", labels)
        if not self.epsilon:
            self.leave_epsilon_out(folder)
        facts = {"relative": 1e-3 if self.epsilon else 1e-5, "rate": RATE, "rows": ROWS, "labels": labels_name(folder), "losses": self.losses(folder, labels)}
        (folder / "case.json").write_text(json.dumps(facts, indent=1) + "\n")
        (folder / "eval_model.onnx").unlink()

    def leave_epsilon_out(self, folder):
        """Its AdamW adds epsilon elsewhere than PyTorch's: so small a one makes no difference."""
        path = str(folder / "optimizer_model.onnx")
        update = load(path)
        for found in (attribute for made in update.graph.node for attribute in made.attribute if attribute.name == "epsilon"):
            found.f = 1e-12
        save(update, path)

    def losses(self, folder, labels):
        state = CheckpointState.load_checkpoint(str(folder / "checkpoint"))
        module = Module(str(folder / "training_model.onnx"), state)
        optimizer = Optimizer(str(folder / "optimizer_model.onnx"), module)
        optimizer.set_learning_rate(RATE)
        module.train()
        losses = []
        for step in range(STEPS):
            rows = slice(step * ROWS, (step + 1) * ROWS)
            found = module(self.data[rows], labels[rows])
            losses.append(float(found[0] if isinstance(found, (list, tuple)) else found))
            optimizer.step()
            module.lazy_reset_grad()
        return losses


def labels_name(folder):
    return load(folder / "training_model.onnx").graph.input[1].name


def classes(count):
    return random.integers(0, count, STEPS * ROWS)


def classifier(loss, optimizer, out, name, **options):
    nodes = [node("Gemm", "x fc1.weight fc1.bias", "h", transB=1), node("Relu", "h", "a"),
             node("Gemm", "a fc2.weight fc2.bias", "out", transB=1)]
    weights = {"fc1.weight": normal(16, 4), "fc1.bias": normal(16), "fc2.weight": normal(out, 16), "fc2.bias": np.zeros(out, "f")}
    return Case(name, nodes, random.normal(size=(STEPS * ROWS, 4)).astype("f"), [out], weights, loss, optimizer,
                frozen=["fc1.bias"], opset=15, **options)


def convnet():
    nodes = [node("Conv", "x conv.weight conv.bias", "c", pads=[1, 1, 1, 1]),
             node("BatchNormalization", "c bn.weight bn.bias bn.running_mean bn.running_var", "b mean var", training_mode=1),
             node("Relu", "b", "r"), node("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[2, 2]), node("Tanh", "p", "t"),
             node("Concat", "p t", "pq", axis=1), node("Flatten", "pq", "f"), node("Gemm", "f fc.weight fc.bias", "out", transB=1)]
    weights = {"conv.weight": normal(4, 1, 3, 3), "conv.bias": normal(4), "bn.weight": np.ones(4, "f"), "bn.bias": np.zeros(4, "f"),
               "bn.running_mean": np.zeros(4, "f"), "bn.running_var": np.ones(4, "f"), "fc.weight": normal(3, 128), "fc.bias": normal(3)}
    return Case("convnet", nodes, random.normal(size=(STEPS * ROWS, 1, 8, 8)).astype("f"), [3], weights, artifacts.LossType.CrossEntropyLoss,
                artifacts.OptimType.AdamW, frozen=["bn.running_mean", "bn.running_var"])


def block():
    length, width = 6, 8
    nodes = [node("Gather", "wte x", "e"), node("LayerNormalization", "e ln.weight ln.bias", "l lmean linv", axis=-1),
             node("MatMul", "l q.weight", "q"), node("MatMul", "l k.weight", "k"), node("MatMul", "l v.weight", "v"),
             node("Transpose", "k", "kt", perm=[0, 2, 1]), node("MatMul", "q kt", "s"), node("Div", "s const_scale", "sd"),
             node("Add", "sd const_mask", "sm"), node("Softmax", "sm", "p", axis=-1), node("MatMul", "p v", "o"), node("Add", "o e", "h1"),
             node("MatMul", "h1 up.weight", "u"), node("Add", "u up.bias", "ub"), node("Div", "ub const_root", "ur"), node("Erf", "ur", "ue"),
             node("Add", "ue const_one", "u1"), node("Mul", "ub u1", "um"), node("Mul", "um const_half", "g"), node("MatMul", "g down.weight", "d"),
             node("Add", "d h1", "h2"), node("ReduceMean", "h2", "m", axes=[1], keepdims=0), node("Gemm", "m head.weight head.bias", "out", transB=1)]
    weights = {"wte": normal(11, width), "ln.weight": np.ones(width, "f"), "ln.bias": np.zeros(width, "f"), "q.weight": normal(width, width),
               "k.weight": normal(width, width), "v.weight": normal(width, width), "up.weight": normal(width, 2 * width), "up.bias": normal(2 * width),
               "down.weight": normal(2 * width, width), "head.weight": normal(4, width), "head.bias": normal(4),
               "const_scale": np.array(width ** 0.5, "f"), "const_mask": np.triu(np.full((length, length), -1e9, "f"), 1),
               "const_root": np.array(2 ** 0.5, "f"), "const_one": np.array(1, "f"), "const_half": np.array(0.5, "f")}
    return Case("block", nodes, random.integers(0, 11, (STEPS * ROWS, length)), [4], weights, artifacts.LossType.CrossEntropyLoss,
                artifacts.OptimType.AdamW, additional_output_names=["out"])


def main():
    folder = pathlib.Path(sys.argv[1])
    losses, optimizers = artifacts.LossType, artifacts.OptimType
    numbers = random.normal(size=(STEPS * ROWS, 2)).astype("f")
    classifier(losses.CrossEntropyLoss, optimizers.AdamW, 3, "classifier", epsilon=True).write(folder / "classifier", classes(3))
    classifier(losses.MSELoss, optimizers.SGD, 2, "regressor").write(folder / "regressor", numbers)
    classifier(losses.L1Loss, optimizers.SGD, 2, "absolute").write(folder / "absolute", numbers)
    classifier(losses.BCEWithLogitsLoss, optimizers.AdamW, 2, "yes-or-no").write(folder / "yes-or-no", (numbers > 0).astype("f"))
    convnet().write(folder / "convnet", classes(3))
    block().write(folder / "block", classes(4))


main()
