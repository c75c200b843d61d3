"""What a newcomer types, and what the answer is: newcomer.py FOLDER -> the transcript. Needs numpy and onnx."""
import os
import pathlib
import shlex
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
os.chdir(folder)
draw = numpy.random.default_rng(1)


def model():
    weights = [numpy_helper.from_array(draw.standard_normal(shape).astype("f4"), name)
               for name, shape in {"body.weight": (64, 8), "body.bias": (8,), "head.weight": (8, 3), "head.bias": (3,)}.items()]
    nodes = [helper.make_node("Gemm", ["x", "body.weight", "body.bias"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
             helper.make_node("Gemm", ["r", "head.weight", "head.bias"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")


def data():
    x, classes = draw.standard_normal((32, 64)).astype("f4"), draw.integers(0, 3, 32)
    arrays = {"x": x, "labels": classes, "onehot": numpy.eye(3, dtype="i8")[classes], "values": draw.standard_normal((32, 3)).astype("f4"),
              "flat": x.reshape(32, 8, 8), "pixels": draw.integers(0, 256, (32, 64)).astype("u1"), "short": classes[:7],
              "classes": classes + 1, "text": numpy.array(["a", "b"])}
    for name, array in arrays.items():
        numpy.save(name + ".npy", array)
    numpy.savez("both.npz", x=x, labels=classes)
    pathlib.Path("model.py").write_text("import torch\n")
    pathlib.Path("table.csv").write_text("x,y\n1,2\n")


model()
data()
COMPILE = "kedge compile model.onnx --shape x=8x64"
TRAIN = "./train --data x=x.npy labels=labels.npy --steps 2"
LINES = f"""
kedge
kedge train model.onnx
kedge compile model.onnx -o train
kedge compile model.pt -o train
kedge compile model.py -o train
kedge compile x.npy -o train
kedge compile both.npz -o train
kedge compile model.onnx --shape 8x64 -o train
kedge compile model.onnx --shape input=8x64 -o train
kedge compile model.onnx --shape x=8x65 -o train
kedge compile model.onnx --batch-size 8 -o train
{COMPILE} --loss CrossEntropyLoss -o train
{COMPILE} --loss mean -o train
{COMPILE} --optimizer AdamWW -o train
{COMPILE} --precision float16 -o train
{COMPILE} --learning-rate 0.1 -o train
{COMPILE} --epochs 3 -o train
{COMPILE} --data x=x.npy -o train
{COMPILE} --gradient-accumulation-steps 4 -o train
{COMPILE} --gradient-checkpointing -o train
{COMPILE} --max_grad_norm 1 -o train
{COMPILE} --output train
{COMPILE} --lr fast -o train
{COMPILE} --train head -o train
{COMPILE} --freeze heads -o train
{COMPILE} --freeze x -o train
{COMPILE} --train-only decoder -o train
{COMPILE} --train-only '^head' --loss CROSS_ENTROPY -o train-head
{COMPILE} --loss mse -o train-mse
{COMPILE} --loss cross-entropy -o train
./train
./train --help-me
./train --data x=x.npy labels=labels.npy
./train --data x=x.npy --steps 2
./train --data inputs=x.npy labels=labels.npy --steps 2
./train --data x=x.npy labels=onehot.npy --steps 2
./train --data x=flat.npy labels=labels.npy --steps 2
./train --data x=x.npy labels=short.npy --steps 2
./train --data x=x.npy labels=classes.npy --steps 2
./train --data x=both.npz labels=labels.npy --steps 2
./train --data x=table.csv labels=labels.npy --steps 2
./train --data x=missing.npy labels=labels.npy --steps 2
./train --data x=text.npy labels=labels.npy --steps 2
./train --data x=pixels.npy labels=labels.npy --steps 1
./train-mse --data x=x.npy labels=labels.npy --steps 2
{TRAIN} --learning-rate 0.1
{TRAIN} --batch-size 4
{TRAIN} --optimizer sgd
{TRAIN} --schedule Cosin
{TRAIN} --early-stopping-patience 3
./train --data x=x.npy labels=labels.npy --steps 0
{TRAIN} --schedule COSINE --checkpoint-dir ck
{TRAIN} --schedule cosine --checkpoint-dir ck --resume
./train --data x=x.npy labels=labels.npy --steps 4 --checkpoint-dir ck --resume
{TRAIN} --checkpoint-dir ck
""".strip().splitlines()
for line in LINES:
    done = subprocess.run(shlex.split(line), capture_output=True, text=True)
    said = [text for text in (done.stdout + done.stderr).splitlines() if not text.startswith(("training ", "step "))]
    print("\n".join([f"$ {line}", *said, f"[exit {done.returncode}]", ""]))
