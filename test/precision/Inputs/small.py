"""Small models, their data and their runs, for tests of 16-bit training. Needs numpy and onnx."""
import json
import pathlib
import shutil
import subprocess

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {numpy.dtype("float32"): TensorProto.FLOAT, numpy.dtype("int64"): TensorProto.INT64,
         numpy.dtype("int8"): TensorProto.INT8, numpy.dtype("bool"): TensorProto.BOOL}


def array(values, dtype=numpy.float32):
    return numpy.asarray(values, dtype)


def save_model(path, nodes, parameters, inputs, outputs, opset=20):
    """`parameters`: arrays by name; `inputs`: arrays of all rows, of which the first size is the batch."""
    initializers = [numpy_helper.from_array(value, name) for name, value in parameters.items()]
    declared = [helper.make_tensor_value_info(name, TYPES[value.dtype], value.shape) for name, value in inputs.items()]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()]
    graph = helper.make_graph([helper.make_node(*node[:-1], **node[-1]) if isinstance(node[-1], dict) else helper.make_node(*node)
                               for node in nodes], "small", declared, results, initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10), path)


class Small:
    """A model in a folder with data; `inputs` are one batch."""

    def __init__(self, folder, nodes, parameters, inputs, outputs, opset=20):
        self.folder = pathlib.Path(folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.model = self.folder / "model.onnx"
        save_model(self.model, nodes, parameters, inputs, outputs, opset)
        # These names and roles (a factor of an input) do not say that they train.
        self.trains = [name for name, value in parameters.items() if value.dtype == numpy.float32 and value.size > 1]
        self.data = {}
        for name, value in inputs.items():
            self.add_data(name, value)

    def add_data(self, name, rows):
        path = self.folder / f"{name}.npy"
        numpy.save(path, rows)
        self.data[name] = path

    def says_what_trains(self, options):
        if {"--train", "--freeze", "--lora"}.intersection(options) or not self.trains:
            return []
        report = json.loads(subprocess.run(["kedge", "lint", self.model, "--json"], capture_output=True, text=True).stdout)
        decided = {one["name"] for one in report["initializers"] if one["verdict"] == "parameter"} - {
            one["tensor"] for one in report["findings"] if one["code"] == "undecided-verdict"}
        left = [name for name in self.trains if name not in decided]
        return ["--train", f"^({'|'.join(left)})$"] if left else []

    def compile(self, name, *options):
        program = self.folder / name
        done = subprocess.run(["kedge", "compile", self.model, *self.says_what_trains(options), *options, "-o", program], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return program

    def text(self, level, *options):
        return subprocess.run(["kedge", "compile", self.model, *self.says_what_trains(options), *options, "--emit", level, "--with-places"], check=True, capture_output=True,
                              text=True).stdout

    def run(self, program, *options, expect=0):
        """The lines of the log."""
        log = self.folder / "log.jsonl"
        data = [word for name, path in self.data.items() for word in ("--data", f"{name}={path}")]
        done = subprocess.run([program, *data, "--log", log, *options], capture_output=True, text=True)
        assert done.returncode == expect, done.stderr
        return [json.loads(line) for line in log.read_text().splitlines()]

    def run_on(self, ranks, program, *options):
        """The lines of the log of several ranks, and the weights after them."""
        log, weights = self.folder / "log.jsonl", self.folder / "weights.safetensors"
        data = [word for name, path in self.data.items() for word in ("--data", f"{name}={path}")]
        done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks), program, *data, "--log", log,
                               "--export-safetensors", weights, "--threads", "1", *options], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in log.read_text().splitlines()], tensors(weights)

    def trained(self, program, *options):
        """The lines of the log, and the weights after them."""
        weights = self.folder / "weights.safetensors"
        lines = self.run(program, "--export-safetensors", weights, *options)
        return lines, tensors(weights)


def tensors(path):
    """Tensors of a safetensors file; bf16 as f32."""
    raw = pathlib.Path(path).read_bytes()
    size = int.from_bytes(raw[:8], "little")
    found = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + at for at in entry["data_offsets"])
        dtype = {"F32": numpy.float32, "F16": numpy.float16, "BF16": numpy.uint16, "I64": numpy.int64}[entry["dtype"]]
        values = numpy.frombuffer(raw[begin:end], dtype)
        if entry["dtype"] == "BF16":
            values = (values.astype(numpy.uint32) << 16).view(numpy.float32)
        found[name] = values.reshape(entry["shape"])
    return found


def close(found, wanted, relative):
    gap = numpy.max(numpy.abs(numpy.asarray(found, float) - numpy.asarray(wanted, float)))
    return numpy.all(numpy.isfinite(found)) and gap <= relative * max(1e-30, numpy.max(numpy.abs(wanted)))
