"""The model of the cases, its data and its runs. Needs numpy and onnx."""
import pathlib
import sys

import numpy
from cases import ROWS, WIDTH, x_of

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "precision" / "Inputs"))
from small import Small, tensors  # noqa: E402


class Losses:
    """One program of several cases."""

    def __init__(self, folder, cases, batch=ROWS):
        nodes, parameters, outputs, data = [], {}, {}, {}
        for case in cases:
            for output, (name, value) in zip(case.outputs, case.parameters.items()):
                shape = numpy.array([batch, *case.shape])
                parameters[name], parameters[f"shape_{output}"] = value, shape
                nodes += [("MatMul", ["x", name], [f"flat_{output}"]), ("Reshape", [f"flat_{output}", f"shape_{output}"], [output])]
                outputs[output] = shape.tolist()
            if case.labels is not None:
                data["labels" if len(cases) == 1 else f"labels_{case.outputs[0]}"] = case.labels
            data |= case.more
        self.small = Small(folder, nodes, parameters, {"x": x_of(batch)}, outputs)
        self.small.add_data("x", x_of())
        for name, value in data.items():
            self.small.add_data(name, value)
        self.loss = ",".join(case.term() for case in cases)

    def compile(self, *options, name="program"):
        return self.small.compile(name, "--loss", self.loss, "--optimizer", "sgd", *options)

    def gradients(self, program, *options, ranks=1):
        """{'loss': of the first step, 'w_...': its gradients}"""
        dumped = self.small.folder / "gradients.safetensors"
        words = ("--steps", "1", "--lr", "0.01", "--dump-gradients", dumped, "--dump-step", "0", *options)
        lines = self.small.run(program, *words) if ranks == 1 else self.small.run_on(ranks, program, *words)[0]
        return {"loss": lines[0]["loss"]} | tensors(dumped)


def gap(found, wanted):
    """The largest difference of loss and gradients, relative to the largest element of each."""
    worst = {"loss": abs(found["loss"] - wanted["loss"]) / abs(wanted["loss"])}
    for name, value in wanted.items():
        if name != "loss":
            value = numpy.asarray(value)
            worst[name] = float(numpy.max(numpy.abs(found[name] - value.reshape(found[name].shape))) / numpy.max(numpy.abs(value)))
    return worst
