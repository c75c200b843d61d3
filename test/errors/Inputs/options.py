"""Options that do not do what was meant: options.py FOLDER. Needs numpy and onnx."""
import pathlib
import sys

import numpy
from cases import Small, array, data_of, expect, words

folder = pathlib.Path(sys.argv[1])
square, row = array([[1, 2], [3, 4]]), array([[1, 1]])
head = [("MatMul", ["x", "fc.weight"], ["h"]), ("Add", ["h", "fc.bias"], ["y"])]
weights = {"fc.weight": square, "fc.bias": array([0, 0])}


def small(name, nodes, outputs, parameters=weights, inputs=None):
    return Small(folder / name, nodes, parameters, inputs or {"x": row}, outputs)


plain = small("plain", head, {"y": [1, 2]})
one = small("one", [("MatMul", ["x", "w"], ["y"])], {"y": [1, 1]}, {"w": array([[1], [2]])})
scalar = small("scalar", head + [("ReduceMean", ["y"], ["loss"], {"keepdims": 0})], {"loss": []})
soft = small("soft", head + [("Softmax", ["y"], ["p"])], {"p": [1, 2]})
flat = small("flat", head + [("ReduceSum", ["y", "axes"], ["s"], {"keepdims": 0})], {"s": [1]}, weights | {"axes": numpy.array([1])})
floats = small("floats", head, {"y": [1, 2]}, inputs={"x": row, "labels": row})


def refused(case, options, *pieces, command="compile"):
    out = folder / "program"
    out.unlink(missing_ok=True)
    expect(words("kedge", command, case.model, *options, *(["-o", out] if command == "compile" else []), code=1), "kedge: error: ", *pieces)
    assert not out.exists()


# The loss that nobody named.
text = words("kedge", "plan", plain.model)
expect(text, "kedge: note: no --loss was given: cross-entropy over the 2 classes of 'y' [1x2] along axis 1, the integer labels are a new input "
       "'labels'")
refused(one, [], "no --loss was given, and cross-entropy does not fit: the output 'y' [1x1] has one class along axis 1; give --loss mse")
refused(one, ["--shape", "x=1x2"], "cross-entropy does not fit")
refused(scalar, [], "no --loss was given: the output 'loss' [] is one number; take it as the loss by --loss-output loss")
refused(floats, [], "the input 'labels' holds float labels; give --loss mse")
refused(soft, [], "the output 'p' [1x2] comes from a Softmax, which the loss applies itself")

# What trains nothing.
for command in ("plan", "compile"):
    refused(plain, ["--loss", "mse", "--freeze", "."], "not compiled: lint found", "error[nothing-trained] nothing trains", "--freeze keeps all 2",
            command=command)
quantised = small("quantised", [("DequantizeLinear", ["q", "scale"], ["w"]), ("MatMul", ["x", "w"], ["y"])], {"y": [1, 2]},
                  {"q": numpy.array([[1, 2], [3, 4]], numpy.int8), "scale": array(0.5)})
refused(quantised, ["--loss", "mse"], "error[nothing-trained]", "1 tensors hold integers, which carry no gradient: a quantised model does not",
        "train")

# Expressions that fit nothing.
refused(plain, ["--loss", "mse", "--freeze", "wieght"], "--freeze 'wieght' matches nothing that trains; near misses: 'fc.weight'")
refused(plain, ["--loss", "mse", "--train", r"^fc\.wieght$"], "--train '^fc\\.wieght$' matches nothing that can train; near misses: 'fc.weight'")
refused(plain, ["--loss", "mse", "--weight-decay-exclude", "biass"], "--weight-decay-exclude 'biass' matches no parameter; near misses: 'fc.bias'")
refused(plain, ["--loss", "mse", "--lr-scale", "embedding=2"], "--lr-scale 'embedding=2' matches no parameter; there are 'fc.weight', 'fc.bias'")
refused(flat, ["--loss", "mse", "--freeze", "axes"], "--freeze 'axes' matches 'axes', which is a constant", "and nothing that trains")

# Options without effect.
mse = ["--loss", "mse"]
for options, words_expected in [
        ([*mse, "--momentum", "0.9"], "--momentum would have no effect: --optimizer adamw has no momentum"),
        ([*mse, "--optimizer", "sgd", "--moments", "int8"], "--moments would have no effect: --optimizer sgd has no such moments"),
        ([*mse, "--optimizer", "adamw8bit", "--moments", "int8"], "--moments would have no effect"),
        ([*mse, "--optimizer", "lion", "--moments", "int4"], "--moments would have no effect: --optimizer lion has no moments of 4 bits; give adamw or adam"),
        ([*mse, "--optimizer", "muon", "--proj-rank", "4"], "--proj-rank would have no effect: it is of projections; give --optimizer galore or apollo"),
        ([*mse, "--optimizer", "galore", "--scale-type", "tensor"], "--scale-type would have no effect: it is of apollo's factors"),
        ([*mse, "--precondition-frequency", "4"], "--precondition-frequency would have no effect: it is of soap"),
        ([*mse, "--optimizer", "sgd", "--nesterov"], "--nesterov would have no effect: it is a form of momentum"),
        ([*mse, "--optimizer", "sgd", "--betas", "0.8,0.9"], "--betas would have no effect: --optimizer sgd has none"),
        ([*mse, "--optimizer", "sgd", "--eps", "1e-6"], "--eps would have no effect"),
        ([*mse, "--loss-output", "y"], "--loss has no float output left in addition to --loss-output y; give one of the two, or another output; the outputs are 'y'"),
        (["--loss-output", "y", "--label-smoothing", "0.1"], "--label-smoothing would have no effect: the graph computes its loss itself"),
        (["--loss-output", "y", "--labels", "x"], "--labels would have no effect"),
        ([*mse, "--ignore-index", "0"], "--ignore-index would have no effect: --loss mse has no classes"),
        ([*mse, "--class-axis", "0"], "--class-axis would have no effect"),
        ([*mse, "--accumulate-dtype", "bf16"], "--accumulate-dtype would have no effect: without --accumulate there are no accumulators"),
        ([*mse, "--batchnorm", "exact"], "--batchnorm would have no effect: without --accumulate a step has one micro-batch"),
        ([*mse, "--batchnorm", "exact", "--accumulate", "2"], "has no BatchNormalization in training, whose statistics are what joins micro-batches"),
        ([*mse, "--batchnorm", "exact", "--accumulate", "2", "--mesh", "pipeline=2"], "--batchnorm exact is not available yet for a pipeline"),
        ([*mse, "--batchnorm", "exact", "--accumulate", "2", "--same-bits", "2"], "--same-bits 2: not available with --batchnorm exact"),
        ([*mse, "--bucket-bytes", "1MiB"], "--bucket-bytes would have no effect: it is for several ranks"),
        ([*mse, "--sync-batchnorm"], "--sync-batchnorm would have no effect"),
        ([*mse, "--ranks", "2", "--persist-bytes", "1MiB"], "--persist-bytes would have no effect: parameters are in parts with --zero 3 alone"),
        ([*mse, "--pipeline", "3", "--ranks", "4"], "3 does not divide 4 ranks; sizes that do are 1, 2, 4"),
        ([*mse, "--mesh", "data=2", "--ranks", "4"], "--mesh data=2 --ranks 4: the mesh has 2 ranks; leave --ranks out, or give --ranks 2"),
        ([*mse, "--mesh", "rows=2"], "--mesh rows=2: 'rows' is no axis of a mesh; the axes are pipeline, replica, data, expert, context, tensor"),
        ([*mse, "--mesh", "data=2", "--ranks", "1,2"], "a mesh is of one number of ranks; give one"),
        ([*mse, "--mesh", "tensor=2", "--tensor", "2"], "tensor ranks are named twice; name them in one of both"),
        ([*mse, "--replicas", "node"], "--replicas node: expected one number of ranks, --ranks N, and no --mesh"),
        ([*mse, "--same-bits", "3"], "--same-bits 3: expected a power of two from 1 to 1048576"),
        ([*mse, "--same-bits", "4", "--ranks", "3"], "--same-bits 4: 3 ranks do not divide 4 parts; numbers that do are 1, 2, 4"),
        ([*mse, "--precision-policy", "autocast"], "--precision-policy would have no effect: it is for 16 bits"),
        ([*mse, "--loss-scale-window", "5"], "--loss-scale-window would have no effect: --precision fp32 does not scale its loss"),
        ([*mse, "--host-memory-budget", "1GiB"], "--host-memory-budget would have no effect: nothing goes to host memory")]:
    refused(plain, options, words_expected)
refused(plain, [*mse, "--allow", "unsupported-op"], "--allow unsupported-op: what that finding names cannot be compiled, so it cannot be accepted")
refused(plain, [*mse, "--allow", "fused"], "--allow fused: there is no such finding; the codes are")
expect(words("kedge", "compile", plain.model, *mse, "--train-mode", "--emit", "onnx"),
       "kedge: note: --train-mode changed nothing: the file has no Dropout and no BatchNormalization")

# Of a program.
plain.add_data("labels", row)
program = plain.compile("program", *mse, "--optimizer", "sgd")
for options, pieces in [
        (["--dump-gradients", folder / "g", "--dump-step", "2"], "--dump-step 2: expected a step of this run, which takes the steps 0 to 1"),
        (["--min-lr", "0.1"], "--min-lr would have no effect: --schedule constant keeps the rate"),
        (["--decay-steps", "1"], "--decay-steps would have no effect"),
        (["--warmup-start", "0.5"], "--warmup-start would have no effect: there is no warm-up"),
        (["--betas", "0.8,0.9"], "--betas would have no effect: the program was compiled with --optimizer sgd"),
        (["--eps", "1e-6"], "--eps would have no effect"),
        (["--export-ema"], "--export-ema needs an export, such as --export-onnx FILE"),
        (["--export-ema", "--export-onnx", folder / "o.onnx"], "--export-ema: the program keeps no averages of its weights; compile it with --ema 0.999"),
        (["--eval-ema"], "--eval-ema needs --eval-data or --eval-tokens: it says what is evaluated"),
        (["--keep", "3"], "--keep needs --checkpoint-dir")]:
    expect(words(program, *data_of(plain), "--steps", "2", *options, code=1), "kedge: error: ", pieces)
print("what was not meant was refused")
