#!/usr/bin/env python3
"""Annotations and meshes that cannot be followed: each is one error with the node, the tensor and what would do: refusals.py TEMP.

Specs that no op of a step can follow are notes, and what is left of them is followed: of nodes that one op has taken the place of.
"""
import pathlib
import sys

from onnx import helper

sys.path.insert(0, str(pathlib.Path(__file__).parent / "Inputs"))
from annotate import configuration, cut, entry, model, perceptron, stage, tensor, whole  # noqa: E402
from runs import Case, succeed  # noqa: E402

NODE = "MODEL: configuration 'pair': node 'up' (MatMul) "
SPEC = NODE + "has a sharding spec of 'up.w' "


def heads():
    """12 columns as 3 heads of 4."""
    return model([helper.make_node("MatMul", ["x", "up.w"], ["a"], "up"),
                  helper.make_node("Reshape", ["a", "heads"], ["h"], "heads"),
                  helper.make_node("Softmax", ["h"], ["s"], "softmax", axis=2),
                  helper.make_node("Reshape", ["s", "flat"], ["f"], "flat"),
                  helper.make_node("MatMul", ["f", "down.w"], ["y"], "down")],
                 [tensor("up.w", 8, 12), tensor("down.w", 12, 8), helper.make_tensor("heads", 7, [3], [4, 3, 4]),
                  helper.make_tensor("flat", 7, [2], [4, 12])])


def norm():
    """A layer norm of many nodes, a name more for its result, and a node that nothing reads."""
    node = helper.make_node
    return model([node("MatMul", ["x", "up.w"], ["a"], "up"), node("ReduceMean", ["a", "last"], ["mean"], "mean"),
                  node("Sub", ["a", "mean"], ["centered"], "sub"), node("Mul", ["centered", "centered"], ["squares"], "square"),
                  node("ReduceMean", ["squares", "last"], ["variance"], "variance"), node("Add", ["variance", "eps"], ["above"], "eps"),
                  node("Sqrt", ["above"], ["deviation"], "sqrt"), node("Div", ["centered", "deviation"], ["normal"], "div"),
                  node("Mul", ["normal", "scale"], ["scaled"], "scale"), node("Add", ["scaled", "shift"], ["normed"], "shift"),
                  node("Identity", ["normed"], ["same"], "same"), node("Relu", ["a"], ["unused"], "unused"),
                  node("Identity", ["x"], ["again"], "again"), node("MatMul", ["same", "down.w"], ["down"], "down"),
                  node("Add", ["down", "again"], ["y"], "residual")],
                 [tensor("up.w", 8, 12), tensor("scale", 12), tensor("shift", 12), tensor("down.w", 12, 8),
                  helper.make_tensor("last", 7, [1], [-1]), helper.make_tensor("eps", 1, [], [1e-5])])


#: By what is cut along axis 0: the note, or the node whose gather shows that the spec is followed elsewhere.
WITHIN = ("' that nothing follows: the node is a part of onnx.LayerNormalization at node 'shift', which is cut as a whole; give it "
          "layouts of 'a', 'scale', 'shift' or of 'normed'")
GONE = "' that nothing follows: no op of a step computes the node; leave it out"
UNREAD = {
    ("sub", "centered"): "MODEL: node 'sub' (Sub): has a sharding spec of 'centered" + WITHIN,
    ("eps", "above"): "MODEL: node 'eps' (Add): has a sharding spec of 'above" + WITHIN,
    ("unused", "unused"): "MODEL: node 'unused' (Relu): has a sharding spec of 'unused" + GONE,
    ("again", "x"): "MODEL: node 'again' (Identity): has a sharding spec of 'x" + GONE,
    ("mean", "a"): None,
    ("same", "same"): None,
    ("residual", "again"): None,
}

#: By options for a model without annotations.
MESHES = {
    ("--tensor", "3", "--ranks", "4"): "--tensor 3 --ranks 4: 3 does not divide 4 ranks; sizes that do are 1, 2, 4",
    ("--mesh", "tensor=2", "--ranks", "3"): "--mesh tensor=2 --ranks 3: 2 does not divide 3 ranks; sizes that do are 1, 3",
    ("--mesh", "rows=2"): "--mesh rows=2: 'rows' is no axis of a mesh; the axes are pipeline, replica, data, expert, context, tensor",
    ("--mesh", "tensor=2", "--shard", "gate=tensor:0"): "MODEL: --shard gate=tensor:0: no parameter has such a name",
    ("--mesh", "tensor=2", "--shard", "up.w=tensor:2"): "MODEL: 'up.w': --shard up.w=tensor:2: 'up.w' has 2 dimensions, the first is 0",
    ("--mesh", "tensor=2", "--shard", "up.w=data:0"): "--shard 'up.w=data:0': expected REGEX=tensor:DIM with a dimension from 0",
    ("--ranks", "2", "--configuration", "pair"): "MODEL: has no device configuration 'pair'; it has none",
}


def annotated(change, made=None, devices=2):
    made = configuration(made or perceptron(), devices=devices)
    change(made)
    return made


CASES = {
    "unknown tensor": (lambda m: cut(m, "up", "nothing", 1),
                       NODE + "has a sharding spec of 'nothing' which is none of its tensors; its inputs are x, up.w; its outputs are up"),
    "two specs": (lambda m: (cut(m, "up", "up.w", 1), cut(m, "up", "up.w", 0)), SPEC + "twice; expected one spec for each tensor"),
    "unknown device": (lambda m: cut(m, "up", "up.w", 1, devices=[0, 2]),
                       SPEC + "on device 2, which is neither one of the 2 devices of the configuration (0 to 1) nor a key of "
                       "index_to_device_group_map"),
    "overlapping groups": (lambda m: cut(m, "up", "up.w", 1, 2, devices=[-1, -2], groups={-1: [0, 1], -2: [1]}),
                           SPEC + "whose groups overlap: device 1 is in two of them; expected disjoint groups"),
    "a key that is a device": (lambda m: cut(m, "up", "up.w", 1, 2, devices=[0, 1], groups={0: [1], 1: [0]}),
                               SPEC + "whose index_to_device_group_map has the key 0, which is a device's number too, with devices 1; "
                               "expected 0 alone, or a negative key"),
    "parts and devices": (lambda m: cut(m, "up", "up.w", 1, 3), SPEC + "of 3 parts (the product of num_shards) on 2 devices or groups of "
                          "devices; expected as many of both"),
    "no axis": (lambda m: cut(m, "up", "up.w", 2), SPEC + "that cuts axis 2, but the tensor has 2 axes: 8x12"),
    "sizes of factors": (lambda m: cut(m, "up", "up.w", 1, (3, 1), (6, 2)),
                         SPEC + "whose axis 1 has 18 elements by its dim_value, but the tensor has 12 there"),
    "no parts": (lambda m: cut(m, "up", "up.w", 1, 0), SPEC + "with num_shards 0 on axis 1; expected 1 or more"),
    "missing configuration": (lambda m: entry(m, "relu", "three"),
                              "MODEL: configuration 'pair': node 'relu' (Relu) refers to a device configuration 'three', which the model "
                              "does not have; it has 'pair'"),
    "contradictory stages": (lambda m: (stage(m, "up", 1), stage(m, "down", 0)),
                             "MODEL: configuration 'pair': node 'down' (MatMul) is of pipeline stage 0, but reads a value of node 'up' "
                             "(MatMul), which is of stage 1: values go to later stages only; give it stage 1 or more"),
    "stages with a gap": (lambda m: (stage(m, "up", 0), stage(m, "down", 2)),
                          "MODEL: configuration 'pair' has the pipeline stages 0, 2; expected consecutive numbers"),
    "a single stage": (lambda m: (cut(m, "up", "up.w", 1), stage(m, "down", 0)),
                       NODE + "has no pipeline stage, while others are of stage 0, the only one; expected a stage for each annotated node, or none"),
    "no devices": (lambda m: cut(m, "up", "up.w", 1, 4, devices=[]),
                   SPEC + "of 4 parts without devices; expected a device for each part, or as many parts as 2 devices"),
    "two devices of a name": (lambda m: m.configuration[0].device.extend(["gpu", "gpu"]),
                              "MODEL: configuration 'pair' has two devices named 'gpu'; expected unique names"),
    "other order": (lambda m: cut(m, "up", "up.w", 1, devices=[1, 0]),
                    SPEC + "on the devices 1, 0: other devices than 0, 1, in this order, are not available yet"),
    "two axes": (lambda m: (cut(m, "up", "up.w", 1).sharded_dim.add(axis=0).simple_sharding.add(num_shards=1),
                            whole(m, "relu", "hidden", devices=[0])),
                 "MODEL: configuration 'pair': node 'relu' (Relu) has a sharding spec of 'hidden' on the devices 0: other devices than 0, "
                 "1, in this order, are not available yet"),
    "contradictory specs": (lambda m: (cut(m, "up", "x", 0), cut(m, "up", "up.w", 1)),
                            "MODEL: node 'up' (MatMul): has sharding specs that contradict each other: 'up.w' is cut along axis 1, another "
                            "one of its tensors along something else; the op is computed in parts along one of both"),
}


def main():
    temp = pathlib.Path(sys.argv[1])
    for number, (what, (change, expected)) in enumerate(CASES.items()):
        error = Case(temp / str(number), annotated(change)).refusal("--ranks", "2")
        assert error == expected, (what, error)
    one = annotated(lambda m: cut(m, "up", "up.w", 1), perceptron(width=1))
    error = Case(temp / "one", one).refusal("--ranks", "2")
    assert error == SPEC + "that cuts axis 1, but there is 1 element to cut; expected 2 or more", error
    split = annotated(lambda m: cut(m, "heads", "a", 1), heads())
    error = Case(temp / "heads", split).refusal("--ranks", "2")
    assert error == ("MODEL: node 'heads' (Reshape): has a sharding spec that cuts 'a' along axis 1 over 2 ranks, but has 3 units there that "
                     "stay whole (such as heads), and the parts end within them; numbers of ranks that divide them are 1, 3"), error
    no_rule = annotated(lambda m: cut(m, "softmax", "h", 2), heads())
    error = Case(temp / "no-rule", no_rule).refusal("--ranks", "2")
    assert error == ("MODEL: node 'softmax' (Softmax): has a sharding spec that cuts 'h' along axis 2, but has no rule to compute it in parts "
                     "along it; axes that it has: 0, 1; leave the spec out: the tensor is gathered for this node"), error
    case = Case(temp / "ranks", annotated(lambda m: cut(m, "up", "up.w", 1)))
    assert case.refusal("--ranks", "3", "--configuration", "pair") == (
        "MODEL: --ranks 3 --configuration pair: configuration 'pair' is of 2 devices; give a multiple of 2 ranks, or --configuration none")
    assert case.refusal("--mesh", "tensor=4", "--configuration", "pair") == (
        "MODEL: --mesh tensor=4 --configuration pair: configuration 'pair' is for --mesh tensor=2; give these axes, or --configuration none")
    assert case.refusal("--ranks", "2", "--shard", "up=tensor:1") == (
        "--shard up=tensor:1: the file's configuration 'pair' says how its tensors are cut; add --configuration none to take what --shard says")
    assert case.refusal("--ranks", "2", "--same-bits", "2") == (
        "--ranks 2: --same-bits 2 is not available yet with layouts of the file's configuration 'pair', which may cut sums; add --configuration none")
    three = Case(temp / "stages", annotated(lambda m: [stage(m, node, k) for k, node in enumerate(("up", "relu", "down"))]))
    assert three.refusal("--ranks", "2", "--accumulate", "2") == (
        "MODEL: configuration 'pair' has 3 pipeline stages on 2 devices: stages that share devices (interleaved) or leave some over are not "
        "available yet; expected a number of devices that 3 divides")
    print(f"{len(CASES) + 8} annotations refused")
    plain = Case(temp / "plain", perceptron())
    for options, expected in MESHES.items():
        assert (error := plain.refusal(*options)) == expected, (options, error)
    print(f"{len(MESHES)} meshes refused")
    for (node, name), expected in UNREAD.items():
        case = Case(temp / f"unread-{node}", annotated(lambda m: cut(m, node, name, 0), norm()))
        done = succeed("kedge", "plan", case.path, *case.options, "--ranks", "2")
        notes = [line.removeprefix("kedge: note: ").replace(str(case.path), "MODEL") for line in done.stderr.splitlines() if "sharding spec" in line]
        assert notes == ([expected] if expected else []), (node, notes)
        cuts = case.explain("--ranks", "2")["tensors"]
        assert (cuts == 0) == bool(expected), (node, cuts)
    print(f"{len(UNREAD)} specs followed or noted")


if __name__ == "__main__":
    main()
