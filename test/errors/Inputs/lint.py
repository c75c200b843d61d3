"""What lint says before compile would: lint.py FOLDER. Needs numpy and onnx."""
import pathlib
import sys

import numpy
import onnx
from cases import Small, array, expect, words
from onnx import TensorProto, helper, numpy_helper

folder = pathlib.Path(sys.argv[1])
square, row = array([[1, 2], [3, 4]]), array([[1, 1]])
head = [("MatMul", ["x", "fc.weight"], ["h"]), ("Add", ["h", "fc.bias"], ["y"])]
weights = {"fc.weight": square, "fc.bias": array([0, 0])}


def small(name, nodes, outputs, parameters=weights, inputs=None):
    return Small(folder / name, nodes, parameters, inputs or {"x": row}, outputs)


def lint(case, *options, code=0):
    return " ".join(words("kedge", "lint", case.model, *options, code=code).split())  # lines are broken anywhere


def both_say(case, options, code, *pieces):
    """Lint says it, and compile says the same first."""
    expect(lint(case, *options, code=code), *pieces)
    if code:
        text = " ".join(words("kedge", "compile", case.model, *options, "-o", folder / "no", code=1).split())
        expect(text, *pieces, "not compiled: lint found")
    assert not (folder / "no").exists()


# What was trained, and what the file cannot tell.
plain = small("plain", head, {"y": [1, 2]})
expect(lint(plain), "clean: no damage found in 2 tensors with 6 elements (0 errors, 0 warnings, 0 notes)",
       "the file cannot show frozen parameters or a custom backward not known: whether the model has Dropout: an export in inference mode leaves it out")
expect(lint(plain, "--freeze", "bias"), "clean: no damage found in 1 tensor with 4 elements")
hinted = small("hinted", head, {"y": [1, 2]})
model = onnx.load(hinted.model)
model.graph.node[1].name = "node__native_batch_norm_legit_no_training_1"
onnx.save(model, hinted.model)
expect(lint(hinted), "'node__native_batch_norm_legit_no_training_1' says that")
fresh = {"n.weight": array(numpy.ones(2)), "n.bias": array(numpy.zeros(2))}
merged = small("merged", [("LayerNormalization", ["x", "n.weight", "n.bias"], ["h"]), ("LayerNormalization", ["h", "n.weight", "n.bias"], ["y"])],
               {"y": [1, 2]}, fresh)
expect(lint(merged), "2 operators read it, all its values are equal, and the file has no paths of modules")
dropped = small("dropped", [head[0], ("Add", ["h", "fc.bias"], ["b"]), ("Dropout", ["b", "ratio", "on"], ["y"])], {"y": [1, 2]},
                weights | {"ratio": array(0.5), "on": numpy.array(True)})
assert "not known: Dropout" not in lint(dropped)
off = small("off", [head[0], ("Add", ["h", "fc.bias"], ["b"]), ("Dropout", ["b", "ratio"], ["y"])], {"y": [1, 2]}, weights | {"ratio": array(0.5)})
expect(lint(off, "--train-mode"), "mended: 1 Dropout set to training mode clean:")
expect(words("kedge", "compile", off.model, "--loss", "mse", "--train-mode", "--emit", "onnx"), "kedge: note: 1 Dropout set to training mode")
expect(lint(plain, "--train-mode"), "--train-mode changed nothing: the file has no Dropout")
images = array(numpy.ones((1, 1, 3, 3)))
folded = small("folded", [("Conv", ["x", "onnx::Conv_7", "onnx::Conv_8"], ["y"])], {"y": [1, 1, 3, 3]},
               {"onnx::Conv_7": array(numpy.ones((1, 1, 1, 1))), "onnx::Conv_8": array([0.5])}, {"x": images})
expect(lint(folded), "not known: BatchNormalization: the file has none and no record of the modules; an export in inference mode",
       "such as 'y'")

# The loss would see probabilities.
soft = small("soft", head + [("Softmax", ["y"], ["q"]), ("Identity", ["q"], ["p"])], {"p": [1, 2]})
sigmoid = small("sigmoid", head + [("Sigmoid", ["y"], ["p"])], {"p": [1, 2]})
both_say(soft, ["--loss", "cross-entropy"], 2, "error[activation-before-loss] the loss would see probabilities",
         "the output 'p' comes from a Softmax, and --loss cross-entropy has that in it already")
both_say(sigmoid, ["--loss", "bce-with-logits"], 2, "the output 'p' comes from a Sigmoid")
expect(lint(soft), "note[activation-before-loss]")
expect(lint(sigmoid, "--loss", "mse"), "clean:")

# Adapters.
lora = small("lora", [("MatMul", ["x", "q.base_layer.weight"], ["h"]), ("MatMul", ["x", "q.lora_A.default.weight"], ["a"]),
                      ("MatMul", ["a", "q.lora_B.default.weight"], ["b"]), ("Add", ["h", "b"], ["y"])], {"y": [1, 2]},
             {"q.base_layer.weight": square, "q.lora_A.default.weight": array([[1], [1]]), "q.lora_B.default.weight": array([[1, 1]])})
expect(lint(lora), "warning[adapters-and-base] adapters do not train alone", "2 tensors are adapters, and 1 others train together with them",
       "--freeze '^(?!.*(lora_|ia3_|adapter))'")
text = lint(lora, "--freeze", "^(?!.*(lora_|ia3_|adapter))")
expect(text, "clean: no damage found in 2 tensors with 4 elements")
assert "adapters-and-base" not in text


def with_graphs(name, nodes, inputs, extra=()):
    """A model whose nodes have subgraphs."""
    case = Small(folder / name, head, weights, {"x": row}, {"y": [1, 2]})
    value = lambda text, kind, shape: helper.make_tensor_value_info(text, kind, shape)
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [1, 2]), *(value(*one) for one in inputs)],
                              [value("y", TensorProto.FLOAT, [1, 2])],
                              [numpy_helper.from_array(tensor, key) for key, tensor in [*weights.items(), *extra]])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), case.model)
    return case


def branch(name, op):
    out = helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2])
    return helper.make_graph([helper.make_node(op, ["h", "h"], [name])], name, [], [out])


choose = helper.make_node("If", ["c"], ["y"], then_branch=branch("t", "Add"), else_branch=branch("e", "Mul"), name="choose")
product = helper.make_node("MatMul", ["x", "fc.weight"], ["h"])
both_say(with_graphs("if", [product, choose], [("c", TensorProto.BOOL, [])]), ["--loss", "mse"], 2, "error[unsupported-op]",
         "the condition depends on data; only an If whose condition is known at compile time works", "choose")
known = [product, helper.make_node("Size", ["x"], ["n"]), helper.make_node("Greater", ["n", "one"], ["c"]), choose]
expect(lint(with_graphs("known", known, [], [("one", numpy.array(1))])), "clean:")
value = helper.make_tensor_value_info
body = helper.make_graph([helper.make_node("Add", ["acc", "acc"], ["next"]), helper.make_node("ReduceSum", ["next"], ["sum"], keepdims=0),
                          helper.make_node("Less", ["sum", "bound"], ["on"])], "body",
                         [value("i", TensorProto.INT64, []), value("cond", TensorProto.BOOL, []), value("acc", TensorProto.FLOAT, [1, 2])],
                         [value("on", TensorProto.BOOL, []), value("next", TensorProto.FLOAT, [1, 2])])
loop = lambda trips: helper.make_node("Loop", [trips, "", "h"], ["y"], body=body, name="again")
bound = [("bound", array(9)), ("four", numpy.array(4))]
both_say(with_graphs("trips", [product, loop("n")], [("n", TensorProto.INT64, [])], bound), ["--loss", "mse"], 2,
         "the trip count depends on data", "again")
both_say(with_graphs("end", [product, loop("four")], [], bound), ["--loss", "mse"], 2, "the end depends on data", "again")


def data_decides(name, kind, shape, node, *extra):
    """One operand is fed where compile must know it."""
    both_say(with_graphs(name, [product, node], [("n", kind, shape)], extra), ["--loss", "mse"], 2, "error[unsupported-op]",
             "input 1 ('n') must be known at compile time, but depends on data", "decided")


data_decides("reshape", TensorProto.INT64, [2], helper.make_node("Reshape", ["h", "n"], ["y"], name="decided"))
data_decides("slice", TensorProto.INT64, [1], helper.make_node("Slice", ["h", "n", "ends"], ["y"], name="decided"), ("ends", numpy.array([2])))
shaped = [product, helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Reshape", ["h", "s"], ["y"])]
expect(lint(with_graphs("shaped", shaped, [])), "clean:")
print("lint says it first")
