"""A small mixture of experts of any number of rows, with its data, for tests. Needs numpy and onnx."""
import json
import pathlib
import subprocess

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, EXPERTS, INNER, WORDS, LENGTH = 16, 8, 16, 31, 12
RANDOM = np.random.default_rng(3)


def normal(*shape):
    return (RANDOM.normal(size=shape) / shape[-1] ** 0.5).astype("f4")


WEIGHTS = {"embed.weight": normal(WORDS, WIDTH) * 4, "router.weight": normal(WIDTH, EXPERTS) * 2, "experts.gate_up_proj": normal(EXPERTS, 2 * INNER, WIDTH),
           "experts.gate_up_proj_bias": normal(EXPERTS, 2 * INNER), "experts.down_proj": normal(EXPERTS, WIDTH, INNER), "out.weight": normal(WIDTH, WORDS)}


def save(path, weights):
    experts = ["experts.gate_up_proj", "experts.gate_up_proj_bias", "experts.down_proj"]
    nodes = [helper.make_node("Gather", ["embed.weight", "ids"], ["x"]), helper.make_node("Flatten", ["x"], ["flat"], axis=2),
             helper.make_node("MatMul", ["flat", "router.weight"], ["scores"]),
             helper.make_node("MoE", ["x", "scores", *experts], ["m"], domain="com.microsoft", k=2, activation_type="swiglu", swiglu_fusion=1,
                              normalize_routing_weights=1),
             helper.make_node("Add", ["x", "m"], ["y"]), helper.make_node("MatMul", ["y", "out.weight"], ["logits"])]
    graph = helper.make_graph(nodes, "mixture", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["rows", LENGTH])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", LENGTH, WORDS])],
                              [numpy_helper.from_array(value, name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=10), path)


def weights_of(path):
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}


class Mixture:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        save(self.folder / "model.onnx", WEIGHTS)
        self.ids = RANDOM.integers(0, WORDS, (16, LENGTH))
        np.save(self.folder / "ids.npy", self.ids)
        np.save(self.folder / "labels.npy", RANDOM.integers(0, WORDS, (16, LENGTH)))

    def do(self, *command):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout

    def plan(self, file, *options, rows=4):
        return json.loads(self.do("kedge", "plan", self.folder / file, "--shape", f"ids={rows}x{LENGTH}", "--loss", "cross-entropy", *options, "--json"))

    def compile(self, name, *options, file="model.onnx", rows=4):
        self.do("kedge", "compile", self.folder / file, "--shape", f"ids={rows}x{LENGTH}", "--loss", "cross-entropy", *options, "-o", self.folder / name)
        return self.folder / name

    def run(self, program, *options, ranks=1):
        """Losses."""
        log = self.folder / "log.jsonl"
        before = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", ranks] if ranks > 1 else []
        self.do(*before, program, "--data", f"ids={self.folder / 'ids.npy'}", f"labels={self.folder / 'labels.npy'}", "--seed", 5, "--threads", 1, "--log", log, *options)
        return [json.loads(line)["loss"] for line in log.read_text().splitlines()]


def apart(found, wanted):
    assert len(found) == len(wanted)
    return max(abs(one - other) / other for one, other in zip(found, wanted))
