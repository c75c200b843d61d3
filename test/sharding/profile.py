#!/usr/bin/env python3
"""The training profile of docs/onnx-sharding.md, a check for each point: profile.py TEMP [CHECK...].

Each has a small annotated model, the collectives that follow, and losses on several ranks that are those of one.
"""
import pathlib
import sys

import onnx
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).parent / "Inputs"))
from annotate import configuration, cut, model, perceptron, stage, tensor, whole  # noqa: E402
from runs import Case, collectives  # noqa: E402

ALL_REDUCE = "all_reduce"


def columns_then_rows(made):
    cut(made, "up", "up.w", 1)
    cut(made, "down", "down.w", 0)
    return made


def stages_from_any_number_1(temp):
    """Stages 3 and 4; the node without one has that of the node that it reads."""
    made = configuration(perceptron())
    for node in ("up", "up.bias"):
        stage(made, node, 3)
    for node in ("down", "down.bias"):
        stage(made, node, 4)
    case = Case(temp, made, "--accumulate", "2")
    case.trains_alike(2, "--ranks", "2")


def sums_are_on_every_rank_2(temp):
    """Forward there is one all-reduce, behind the rows of `down`."""
    case = Case(temp, columns_then_rows(configuration(perceptron())))
    answer = case.explain("--ranks", "2")
    assert answer["follows"] == "pair" and answer["mesh"] == "tensor=2", answer
    assert collectives(answer, "forward") == [(ALL_REDUCE, "down", 2 * 4 * 8)], collectives(answer)
    case.trains_alike(2, "--ranks", "2")
    rows = columns_then_rows(configuration(perceptron()))
    cut(rows, "down", "down", 0)
    case = Case(temp / "rows", rows)
    assert collectives(case.explain("--ranks", "2"), "forward")[:1] == [("reduce_scatter", "down", 4 * 8)]
    case.trains_alike(2, "--ranks", "2")


def norm_of_rows_2(temp):
    """Sums cut by rows, a norm of them, columns again: the norm's weights have the gradient of all rows (Megatron-LM#1446), the bias
    of the row-wise product is added once (text-generation-inference#1036)."""
    made = configuration(model(
        [helper.make_node("MatMul", ["x", "up.w"], ["up"], "up"), helper.make_node("Relu", ["up"], ["act"], "relu"),
         helper.make_node("Gemm", ["act", "down.w", "down.b"], ["down"], "down"),
         helper.make_node("LayerNormalization", ["down", "norm.w", "norm.b"], ["norm"], "norm", axis=-1),
         helper.make_node("MatMul", ["norm", "out.w"], ["y"], "out")],
        [tensor("up.w", 8, 12), tensor("down.w", 12, 8), tensor("down.b", 8), tensor("norm.w", 8), tensor("norm.b", 8), tensor("out.w", 8, 8)]))
    columns_then_rows(made)
    cut(made, "down", "down", 0)
    cut(made, "norm", "down", 0)
    whole(made, "out", "norm")
    cut(made, "out", "out.w", 1)
    case = Case(temp, made)
    found = collectives(case.explain("--ranks", "2"), "forward")
    assert found[:2] == [("reduce_scatter", "down", 32), ("all_gather", "out", 32)], found
    case.trains_alike(2, "--ranks", "2")


def inputs_are_everywhere_3(temp):
    """Each device reads its rows of x and sends nothing; the gradients of the weights are summed. A weight that the next node
    wants whole is gathered."""
    made = configuration(perceptron())
    cut(made, "up", "x", 0)
    case = Case(temp / "rows", made)
    assert not any(node == "up" for _, node, _ in collectives(case.explain("--ranks", "2"), "forward"))
    case.trains_alike(2, "--ranks", "2")
    twice = configuration(model([helper.make_node("MatMul", ["x", "w"], ["a"], "first"),
                                 helper.make_node("Relu", ["a"], ["r"], "relu"),
                                 helper.make_node("MatMul", ["r", "w"], ["y"], "second")], [tensor("w", 8, 8)]))
    cut(twice, "first", "w", 1)
    whole(twice, "second", "w")
    whole(twice, "second", "r")
    case = Case(temp / "twice", twice)
    gathered = [row for row in collectives(case.explain("--ranks", "2"), "forward")]
    assert ("all_gather", "second", 64) in gathered, gathered
    case.trains_alike(2, "--ranks", "2")


def uneven_parts_are_rounded_up_4(temp):
    """A width of 5 over two ranks (pytorch#150336: it lost its size) is 3 and 2, one of 9 is 5 and 4."""
    for width in (5, 9):
        case = Case(temp / str(width), columns_then_rows(configuration(perceptron(width=width))))
        assert collectives(case.explain("--ranks", "2"), "forward") == [(ALL_REDUCE, "down", 64)]
        case.trains_alike(2, "--ranks", "2")


def groups_hold_wholes_5(temp):
    """A key that stands for all devices has the whole tensor on each of them."""
    made = columns_then_rows(configuration(perceptron()))
    whole(made, "up", "x", devices=[-1], groups={-1: [0, 1]})
    case = Case(temp, made)
    assert collectives(case.explain("--ranks", "2"), "forward") == [(ALL_REDUCE, "down", 64)]
    case.trains_alike(2, "--ranks", "2")


def factors_of_an_axis_6(temp):
    """Three tensors in a row, each cut by itself."""
    shape = helper.make_node("Split", ["all"], ["q", "k", "v"], "split", axis=1, num_outputs=3)
    made = configuration(model(
        [helper.make_node("MatMul", ["x", "qkv"], ["all"], "qkv"), shape,
         helper.make_node("Mul", ["q", "k"], ["qk"], "multiply"), helper.make_node("Add", ["qk", "v"], ["sum"], "add"),
         helper.make_node("MatMul", ["sum", "out"], ["y"], "out")], [tensor("qkv", 8, 36), tensor("out", 12, 8)]))
    cut(made, "qkv", "qkv", 1, (3, 1), (12, 2))
    cut(made, "out", "out", 0)
    case = Case(temp, made)
    assert collectives(case.explain("--ranks", "2"), "forward") == [(ALL_REDUCE, "out", 64)]
    case.trains_alike(2, "--ranks", "2")


def ops_follow_their_loops_7(temp):
    """What has no rule is computed whole and listed; what it reads is gathered."""
    made = configuration(model(
        [helper.make_node("MatMul", ["x", "up"], ["a"], "up"), helper.make_node("CumSum", ["a", "axis"], ["c"], "sum"),
         helper.make_node("MatMul", ["c", "down"], ["y"], "down")],
        [tensor("up", 8, 12), tensor("down", 12, 8), helper.make_tensor("axis", TensorProto.INT64, [], [1])]))
    cut(made, "up", "up", 1)
    case = Case(temp, made)
    answer = case.explain("--ranks", "2")
    assert ("all_gather", "sum", 48) in collectives(answer), collectives(answer)
    assert [(row["node"], row["op"]) for row in answer["without_rule"]] == [("sum", "onnx.CumSum")], answer["without_rule"]
    case.trains_alike(2, "--ranks", "2")


def dropout_of_the_whole_tensor_8(temp):
    """The masks are those of one rank (tt-metal#55947: masks that differed, or did not, where they should not)."""
    made = configuration(model(
        [helper.make_node("MatMul", ["x", "up"], ["a"], "up"),
         helper.make_node("Dropout", ["a", "ratio", "on"], ["d"], "dropout"), helper.make_node("MatMul", ["d", "down"], ["y"], "down")],
        [tensor("up", 8, 12), tensor("down", 12, 8), helper.make_tensor("ratio", TensorProto.FLOAT, [], [0.5]),
         helper.make_tensor("on", TensorProto.BOOL, [], [True])]))
    case = Case(temp, columns_then_rows_of(made))
    case.trains_alike(2, "--ranks", "2")


def columns_then_rows_of(made):
    cut(made, "up", "up", 1)
    cut(made, "down", "down", 0)
    return made


def replicas_of_a_configuration_9(temp):
    """Two devices on four ranks: two replicas, each with half of the rows, and ZeRO over them."""
    made = columns_then_rows(configuration(perceptron()))
    case = Case(temp, made, "--shape", "x=4x8")
    assert case.explain("--ranks", "4")["mesh"] == "data=2,tensor=2"
    halves = case.losses(4, "--ranks", "4", "--zero", "1")
    del made.graph.input[0].type.tensor_type.shape.dim[0]
    made.graph.input[0].type.tensor_type.shape.dim.insert(0, helper.make_tensor_value_info("x", 1, [8]).type.tensor_type.shape.dim[0])
    one = Case(temp / "one", whole_batch(made), "--shape", "x=8x8").losses(1, "--configuration", "none")
    for own, other in zip(halves, one, strict=True):
        assert abs(own - other) <= 1e-5 * abs(other), (halves, one)


def whole_batch(made):
    made.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 8
    return made


def one_of_several_configurations_10(temp):
    made = columns_then_rows(configuration(perceptron()))
    configuration(made, "other")
    cut(made, "up", "up.w", 1, name="other")
    configuration(made, "four", devices=4)
    case = Case(temp, made)
    error = case.refusal("--ranks", "2")
    assert error == ("MODEL: --ranks 2 fits several device configurations of the file: 'pair' (2 devices), 'other' (2 devices); name one "
                     "with --configuration, or none"), error
    assert collectives(case.explain("--ranks", "2", "--configuration", "pair"), "forward") == [(ALL_REDUCE, "down", 64)]
    assert case.explain("--configuration", "other")["mesh"] == "tensor=2"
    case.trains_alike(2, "--ranks", "2", "--configuration", "other")
    assert case.refusal("--ranks", "2", "--configuration", "third") == (
        "MODEL: has no device configuration 'third'; it has 'pair', 'other', 'four'")


def written_by_onnx_ir(temp):
    """onnx-ir writes axes that count from the back, and specs without devices; stages of another file."""
    import onnx_ir
    onnx.save(perceptron(), temp.parent / "plain.onnx")
    for name, mesh in (("cut", "tensor=2"), ("stages", "pipeline=2")):
        made = onnx_ir.load(temp.parent / "plain.onnx")
        made.ir_version = 11
        pair = made.add_device_configuration("pair", num_devices=2)
        nodes = {node.name: node for node in made.graph}
        if name == "cut":
            nodes["up"].shard(nodes["up"].inputs[1], configuration=pair, axis=-1, num_shards=2)
            nodes["down"].shard(nodes["down"].inputs[1], configuration=pair, axis=0, num_shards=2, device_indices=(0, 1))
        else:
            for node, number in (("up", 0), ("relu", 0), ("down", 1)):
                nodes[node].set_pipeline_stage(pair, number)
        onnx_ir.save(made, temp.parent / f"{name}.onnx")
        case = Case(temp / name, onnx.load(temp.parent / f"{name}.onnx"), *(["--accumulate", "2"] if name == "stages" else []))
        answer = case.explain("--ranks", "2")
        assert (answer["follows"], answer["mesh"]) == ("pair", mesh), answer
        if name == "cut":
            assert collectives(answer, "forward") == [(ALL_REDUCE, "down", 64)], collectives(answer)
        case.trains_alike(2, "--ranks", "2")


def experts_uneven_4(temp):
    """Three experts on two ranks: two and one."""
    made = configuration(model(
        [helper.make_node("MatMul", ["x", "experts.up"], ["up"], "up"), helper.make_node("Relu", ["up"], ["act"], "relu"),
         helper.make_node("MatMul", ["act", "experts.down"], ["down"], "down"), helper.make_node("ReduceSum", ["down", "first"], ["y"], "sum", keepdims=0)],
        [tensor("experts.up", 3, 8, 12), tensor("experts.down", 3, 12, 8), helper.make_tensor("first", TensorProto.INT64, [1], [0])]))
    cut(made, "up", "experts.up", 0)
    cut(made, "down", "experts.down", 0)
    case = Case(temp, made)
    assert collectives(case.explain("--ranks", "2"), "forward") == [(ALL_REDUCE, "sum", 64)], collectives(case.explain("--ranks", "2"))
    case.trains_alike(2, "--ranks", "2")


CHECKS = [stages_from_any_number_1, sums_are_on_every_rank_2, norm_of_rows_2, inputs_are_everywhere_3, uneven_parts_are_rounded_up_4, groups_hold_wholes_5,
          factors_of_an_axis_6, ops_follow_their_loops_7, dropout_of_the_whole_tensor_8, replicas_of_a_configuration_9,
          one_of_several_configurations_10, experts_uneven_4, written_by_onnx_ir]


def main():
    temp, wanted = pathlib.Path(sys.argv[1]), sys.argv[2:]
    for check in CHECKS:
        if not wanted or check.__name__ in wanted:
            check(temp / check.__name__)
            print(f"{check.__name__}: as it should be", flush=True)


if __name__ == "__main__":
    main()
