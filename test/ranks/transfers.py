"""transfers.py MODEL.mlir EDITED.mlir: the perceptron's level 1 with tensors that travel and come home. Activations go round the
ring of three ranks and back, and a weight that is alike on all ranks is taken from rank 1: every number stays what it was."""
import re
import sys

text = open(sys.argv[1]).read()
ranks = "ranks = 3 : i64"


def travel(result, operand, name, how, type_):
    return f"{result} = dist.{name} {operand} {{kedge.place = #kedge.place<forward \"\", \"travel\">, {how}, {ranks}}} : ({type_}) -> {type_}\n    "


def edit(pattern, make):
    global text
    text, count = re.subn(pattern, make, text)
    assert count == 1, (pattern, count)


edit(r"(%\w+ = onnx\.Tanh )(%\w+)( .*?: \((\S+)\))",
     lambda m: travel("%there", m[2], "send_recv", "from = array<i64: 1, 2, 0>", m[4]) +
     travel("%back", "%there", "send_recv", "from = array<i64: 2, 0, 1>", m[4]) + m[1] + "%back" + m[3])
edit(r"(%\w+ = onnx\.Gemm %\w+, )(%arg3)(, %arg4 .*?: \(\S+, (\S+),)",
     lambda m: travel("%given", m[2], "broadcast", "root = 1 : i64", m[4]) + m[1] + "%given" + m[3])
open(sys.argv[2], "w").write(text)
