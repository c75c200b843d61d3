"""Models that once crashed the compiler, or were taken: hostile.py FOLDER. Runs kedge on each, and checks that there is one
error that says what is wrong, and nothing written."""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

folder = sys.argv[1]
weight = np.ones((10, 4), "f4")
value = h.make_tensor_value_info
failures = []


def model(name, nodes, inputs, outputs, tensors, opset=18):
    graph = h.make_graph(nodes, "g", inputs, outputs, [nh.from_array(array, key) for key, array in tensors])
    made = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)])
    made.ir_version = 9
    path = os.path.join(folder, name + ".onnx")
    with open(path, "wb") as file:
        file.write(made.SerializeToString())
    return path


def check(path, options, expected, command="compile", code=1):
    output = os.path.join(folder, "program")
    words = ["kedge", command, path, *options] + (["-o", output] if command == "compile" else [])
    done = subprocess.run(words, capture_output=True, timeout=100)
    text = (done.stdout + done.stderr).decode()
    if done.returncode != code or expected not in text or (code == 1 and (os.path.exists(output) or "kedge: error: " not in text)):
        failures.append(f"{' '.join(words)[:200]}: exit code {done.returncode}, expected {code} and '{expected[:500]}':\n{text[-500:]}")
    if os.path.exists(output):
        os.unlink(output)


def linear(name, *labels, product="y"):
    nodes = [h.make_node("MatMul", ["x", "w"], ["y"])]
    nodes += [h.make_node("Cast", ["y"], [product], to=T.INT64)] if product != "y" else []
    kind = T.FLOAT if product == "y" else T.INT64
    return model(name, nodes, [value("x", T.FLOAT, [8, 10]), *labels], [value(product, kind, [8, 4])], [("w", weight)])


def with_loss(name, op, kind, shape):
    nodes = [h.make_node("MatMul", ["x", "w"], ["y"]), h.make_node(op, ["y", "l"], ["loss"], name="theloss")]
    return model(name, nodes, [value("x", T.FLOAT, [8, 10]), value("l", kind, shape)], [value("loss", T.FLOAT, [])],
                 [("w", weight)])


# An op that cannot be made.
check(linear("f64", value("labels", T.DOUBLE, [8, 4])), ["--loss", "mse"], "expected 'tensor<8x4xf32>' for --loss mse")
check(linear("few", value("labels", T.INT64, [7])), ["--loss", "cross-entropy"], "expected 'tensor<8xi64>'")
check(linear("truth", value("labels", T.BOOL, [8])), ["--loss", "cross-entropy"], "takes int64 or int32 labels, but input labels is bool")
check(linear("integers", product="z"), ["--loss", "mse", "--logits", "z"], "nothing trains")
# Numbers of operators that are none.
for op, key in (("Elu", "alpha"), ("LeakyRelu", "alpha"), ("HardSigmoid", "beta"), ("Swish", "alpha")):
    path = model(f"nan-{op}", [h.make_node("MatMul", ["x", "w"], ["z"]), h.make_node(op, ["z"], ["y"], name="bent", **{key: float("nan")})],
                 [value("x", T.FLOAT, [8, 10]), value("labels", T.FLOAT, [8, 4])], [value("y", T.FLOAT, [8, 4])], [("w", weight)], 24)
    check(path, ["--loss", "mse"], f"attribute '{key}' is NaN; expected a number")
for op in ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"):
    for number, (kind, shape) in enumerate([(T.INT64, [7]), (T.FLOAT, [8]), (T.INT64, [8, 4]), (T.INT64, [])]):
        check(with_loss(f"{op}{number}", op, kind, shape), ["--loss-output", "loss"], "'theloss'")

# Counts that do not fit 64 bits, or any machine.
big = np.array([2**32, 2**32], "i8")
for number, ones in enumerate([np.ones((1, 1), "f4"), np.ones((1, 1), "i8")]):
    nodes = [h.make_node("Expand", ["c", "s"], ["e"], name="huge"), h.make_node("ReduceSum", ["e"], ["r"], keepdims=0),
             h.make_node("Cast", ["r"], ["f"], to=T.FLOAT), h.make_node("MatMul", ["x", "w"], ["y"]),
             h.make_node("Add", ["y", "f"], ["z"])]
    path = model(f"expand{number}", nodes, [value("x", T.FLOAT, [8, 10])], [value("z", T.FLOAT, [8, 4])],
                 [("w", weight), ("c", ones), ("s", big)])
    check(path, ["--loss", "mse"], "more than 2^44 elements")
open_rows = model("rows", [h.make_node("MatMul", ["x", "w"], ["y"])], [value("x", T.FLOAT, ["B", 10])],
                  [value("y", T.FLOAT, ["B", 4])], [("w", weight)])
for rows in (2**62, 2**63 - 1, 10**13):
    check(open_rows, ["--loss", "mse", "--shape", f"x={rows}x10"], "more than 2^44 elements", command="plan")
check(open_rows, ["--loss", "mse", "--shape", "x=100000000x10"], "", command="plan", code=0)
deep = [h.make_node("Reshape", ["x", "s"], ["r"]), h.make_node("Reshape", ["r", "t"], ["v"]), h.make_node("MatMul", ["v", "w"], ["y"])]
path = model("deep", deep, [value("x", T.FLOAT, [8, 10])], [value("y", T.FLOAT, [8, 4])],
             [("w", weight), ("s", np.array([8, 10] + [1] * 4998, "i8")), ("t", np.array([8, 10], "i8"))])
check(path, ["--loss", "mse"], "5000 dimensions, expected at most 64")

# Operators that import writes as others; and one that a pass refuses.
def single(op, expected, tensors=(), shape=(1, 2, 4, 4), options=(), name="it", **attributes):
    names = [f"t{k}" for k in range(len(tensors))]
    nodes = [h.make_node("Mul", ["x", "scale.weight"], ["y"]), h.make_node(op, ["y", *names], ["z"], name=name, **attributes),
             h.make_node("Cast", ["z"], ["f"], to=T.FLOAT), h.make_node("ReduceMean", ["f"], ["loss"], keepdims=0)]
    path = model(f"single-{len(os.listdir(folder))}", nodes, [value("x", T.FLOAT, shape)], [value("loss", T.FLOAT, [])],
                 [("scale.weight", np.ones(shape, "f4")), *zip(names, tensors)])
    decided = op == "RNN" or not any(np.asarray(tensor).dtype.kind == "f" for tensor in tensors)  # by the role of an operand
    trains = [] if decided else ["--train", "^t[0-9]"]
    check(path, ["--loss-output", "loss", *trains, *options], expected, command="plan")


kernel, offsets = np.ones((2, 2, 2, 2), "f4"), np.ones((1, 8, 3, 3), "f4")
single("DeformConv", "node 'it' (DeformConv): the offsets have the shape [1 x 8 x 3 x 3], expected [1 x 8 x 2 x 2]", [kernel, offsets], strides=[2, 2])
single("DeformConv", "2 input and 2 output channels do not divide into 3 groups and 1 of offsets", [kernel, offsets], group=3)
single("DeformConv", "the window [9 x 9] does not fit the image [4 x 4]", [np.ones((2, 2, 9, 9), "f4"), offsets])
single("DeformConv", "expected an image [N, C, spatial...]", [kernel, offsets], shape=(4, 4))
single("RNN", "clip is 0, expected a number above 0", [np.ones((1, 4, 4), "f4"), np.ones((1, 4, 4), "f4")], shape=(3, 2, 4), hidden_size=4, clip=0.0)
single("Det", "expected square matrices, found [2 x 3]", shape=(2, 3))
single("Det", "the determinant of 65 rows; at most 64 are supported", shape=(65, 65))
single("LpPool", "p is 0, expected at least 1", kernel_shape=[2, 2], p=0)
single("GlobalLpPool", "expected an input [N, C, spatial...], found rank 2", shape=(4, 4))
single("MaxUnpool", "X [1 x 2 x 4 x 4], I [1 x 2 x 4] and an output_shape of 4 entries do not fit", [np.ones((1, 2, 4), "i8")], kernel_shape=[2, 2])
single("Multinomial", "expected log probabilities [batch, classes] and a positive sample_size, found [1 x 2 x 4 x 4] and 1",
       options=["--train", "scale.weight"])
single("ReverseSequence", "node 'it' (ReverseSequence): has no kernel for CUDA", [np.full(4, 2)], shape=(4, 4), options=["--target", "cuda"])

# Names.
long = "w" + "a" * 100000
path = model("long", [h.make_node("MatMul", ["x", long], ["y"])], [value("x", T.FLOAT, [8, 10])], [value("y", T.FLOAT, [8, 4])],
             [(long, weight)])
check(path, ["--loss", "mse", "--freeze", "(a|b)*c", "--emit", "onnx"], "matches nothing")
check(path, ["--loss", "mse", "--freeze", "(a)\\1"], "not a regular expression")
check(path, ["--loss", "mse", "--freeze", "(" * 5000], "not a regular expression")
steering = model("steering", [h.make_node("Floor", ["x"], ["n"], name="n\x1b]0;t\x07"), h.make_node("MatMul", ["n", "w"], ["y"])],
                 [value("x", T.FLOAT, [8, 10])], [value("y", T.FLOAT, [8, 4])], [("w\x1b[31m", weight), ("w", weight)])
# A pass refuses the node, whose name may look as an op's.
for name in (long, "'" * 100000, "'a.b" * 20000 + "' op "):  # a long name is shown by its first 400 bytes
    single("ReverseSequence", f"node '{name[:400]}... ({len(name)} bytes)' (ReverseSequence): has no kernel for CUDA", [np.full(4, 2)], shape=(4, 4),
           options=["--target", "cuda"], name=name)
for options, code in ((["--loss", "mse"], 0), (["--loss", "mse", "--memory-budget", "10"], 2)):
    done = subprocess.run(["kedge", "plan", path, *options], capture_output=True)
    if done.returncode != code or len(done.stdout + done.stderr) > 60000:
        failures.append(f"kedge plan {options} of a long name: exit code {done.returncode}, {len(done.stdout + done.stderr)} bytes")
for command in ("lint", "plan", "compile"):
    words = ["kedge", command, steering, "--loss", "mse"] + (["-o", os.path.join(folder, "steer")] if command == "compile" else [])
    done = subprocess.run(words, capture_output=True)
    if b"\x1b" in done.stdout + done.stderr:
        failures.append(f"{command} lets a name steer the terminal: {done.stdout + done.stderr}")
with open(open_rows, "rb") as file:
    changed = file.read().replace(b"\x12\x01x", b"\x12\x01\xe9")
for at, what in ((changed, "UTF-8"),):
    path = os.path.join(folder, "latin.onnx")
    with open(path, "wb") as file:
        file.write(at.replace(b"\n\x01x", b"\n\x01\xe9"))
    check(path, ["--loss", "mse"], what)
latin = os.path.join(os.fsencode(folder), b"caf\xe9")
os.makedirs(latin, exist_ok=True)
with open(open_rows, "rb") as file, open(os.path.join(latin, b"m.onnx"), "wb") as copy:
    copy.write(file.read())
done = subprocess.run(["kedge", "compile", os.path.join(latin, b"m.onnx"), "--shape", "x=8x10", "--loss", "mse", "-o",
                       os.path.join(folder, "program")], capture_output=True)
if done.returncode != 1 or b"caf\\xe9/m.onnx: the path is not UTF-8" not in done.stderr:
    failures.append(f"a folder's name of Latin-1: {done.returncode} {done.stderr}")
done = subprocess.run(["kedge", "compile", open_rows, "--shape", "x=8x10", "--loss", "mse", "-o", os.path.join(latin, b"p\xe9")],
                      capture_output=True)
if done.returncode != 0 or subprocess.run([os.path.join(latin, b"p\xe9"), "--help"], capture_output=True).returncode != 0:
    failures.append(f"a program's name of Latin-1: {done.returncode} {done.stderr}")
meta = model("meta", [h.make_node("MatMul", ["x", "__metadata__"], ["y"])], [value("x", T.FLOAT, [8, 10])],
             [value("y", T.FLOAT, [8, 4])], [("__metadata__", weight)])
program = os.path.join(folder, "metaprogram")
subprocess.run(["kedge", "compile", meta, "--loss", "mse", "-o", program], check=True)
np.save(os.path.join(folder, "x.npy"), np.ones((8, 10), "f4"))
np.save(os.path.join(folder, "l.npy"), np.ones((8, 4), "f4"))
data = ["--data", f"x={folder}/x.npy", "--data", f"labels={folder}/l.npy", "--checkpoint-dir", f"{folder}/ck", "--lr", "0.1"]
for words in (["--steps", "2"], ["--steps", "4", "--resume"], ["--steps", "4", "--resume", "--export-safetensors", f"{folder}/a.safetensors"]):
    done = subprocess.run([program, *data, *words], capture_output=True)
    if done.returncode != 0:
        failures.append(f"a tensor named __metadata__: {words}: {done.stderr}")
again = [program, "--steps", "0", "--weights", f"{folder}/a.safetensors", "--export-safetensors", f"{folder}/b.safetensors"]
done = subprocess.run(again, capture_output=True)
if done.returncode != 0 or open(f"{folder}/a.safetensors", "rb").read() != open(f"{folder}/b.safetensors", "rb").read():
    failures.append(f"a tensor named __metadata__ by --weights: {done.stderr}")

# Other files that are given for a model, and damaged ones: one line that names the file, in words of ONNX and of no parser.
whole = open(open_rows, "rb").read()
others = {b"PK\x03\x04" + bytes(40): "found a zip archive, as torch.save", b"\x80\x02}q\x00.": "found a Python pickle",
          b"\x80\x04\x95\x00": "found a Python pickle", (16).to_bytes(8, "little") + b'{"a":{}}        ': "found a safetensors file",
          b"GGUF\x03\x00": "found a GGUF file", b"\x89HDF\r\n\x1a\n": "found an HDF5 file", b"\x1c\x00\x00\x00TFL3": "TensorFlow Lite",
          b"\x18\x00\x00\x00ORTM": "ONNX Runtime's own format", b"\x1f\x8b\x08\x00": "found a gzip archive",
          b"version https://git-lfs.github.com/spec/v1\n": "git lfs pull", b"<!DOCTYPE html>": "web page",
          b"ir_version: 8\n": "text form", b'{"irVersion": 8}': "found a JSON text", bytes(64): "damaged ONNX file: no field begins here, at byte 0",
          b"\x0f" + whole: "damaged ONNX file: no field begins here, at byte 0",
          b"\x3a": "damaged ONNX file: field 7 ends too early", whole[:-1]: "the file seems to be cut short",
          b"\x38\x01": "field 7 should be a text, a list or a part with fields of its own, but is a whole number"}
for number, (content, expected) in enumerate(others.items()):
    path = os.path.join(folder, f"other{number}.onnx")
    with open(path, "wb") as file:
        file.write(content)
    for command in ("compile", "lint", "plan"):
        check(path, [], expected, command=command)
        done = subprocess.run(["kedge", command, path] + (["-o", os.path.join(folder, "program")] if command == "compile" else []), capture_output=True)
        if done.stderr.count(b"\n") != 1 or not done.stderr.startswith(f"kedge: error: {path}: ".encode()) or b"wire" in done.stderr:
            failures.append(f"{command} of {path} says {done.stderr}")

print("\n".join(failures) or "all refused as they should be")
sys.exit(bool(failures))
