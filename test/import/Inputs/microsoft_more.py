"""More cases of microsoft.py: operators that onnxruntime's CPU mostly has no kernel for, and which it is given as parts."""
import numpy as np
from onnx import helper

from microsoft_cases import B, C, RNG, T, add, add2, packed

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def with_parts(c, y, *parts):
    """(operator, inputs, attributes): each makes c.name/pK of its number K, the last one y. An operator with a dot is com.microsoft's."""
    nodes = []
    for k, (op, inputs, attributes) in enumerate(parts):
        count = attributes.pop("outputs", 1)
        outs = [f"{c.name}/p{k}"] if count == 1 else [f"{c.name}/p{k}_{part}" for part in range(count)]
        nodes.append(helper.make_node(op.strip("."), [i.replace("@", f"{c.name}/p") for i in inputs], outs if k + 1 < len(parts) else [y], domain="com.microsoft" if op[-1] == "." else "", **attributes))
    c.reference = c.nodes[:-1] + nodes
    return y


@case
def bias_split_gelu(c, x):
    before, bias = add(c, x), c.weight("bias", C)
    return with_parts(c, c.node("BiasSplitGelu", [before, bias]), ("Add", [before, bias], {}), ("Split", ["@0"], dict(outputs=2, axis=-1, num_outputs=2)), ("Gelu.", ["@1_1"], {}),
                      ("Mul", ["@1_0", "@2"], {}))


@case
def bias_add(c, x):
    before, bias = add(c, x), c.weight("bias", C)
    return with_parts(c, c.node("BiasAdd", [before, bias, x]), ("Add", [before, bias], {}), ("Add", ["@0", x], {}))


@case
def bias_softmax(c, x):
    before, bias = add(c, x), add2(c, x)
    return with_parts(c, c.node("BiasSoftmax", [before, bias], axis=2, is_inner_broadcast=0), ("Add", [before, bias], {}), ("Softmax", ["@0"], dict(axis=-1)))


@case
def bias_dropout(c, x):
    """Of ratio 0: what it drops has a test of its own (Dropout's)."""
    before, bias = add(c, x), c.weight("bias", C)
    y = c.node("BiasDropout", [before, bias, x, c.const("ratio", np.float32(0)), c.const("mode", np.array(True))])
    return with_parts(c, y, ("Add", [before, bias], {}), ("Add", ["@0", x], {}))


@case
def bitmask_bias_dropout(c, x):
    before, bias = add(c, x), c.weight("bias", C)
    return with_parts(c, c.node("BitmaskBiasDropout", [before, bias, x, c.const("ratio", np.float32(0))]), ("Add", [before, bias], {}), ("Add", ["@0", x], {}))


@case
def bitmask_dropout(c, x):
    before = add(c, x)
    return with_parts(c, c.node("BitmaskDropout", [before, c.const("ratio", np.float32(0))]), ("Identity", [before], {}))


@case
def transposed_matmul(c, x):
    return c.node("TransposeMatMul", [add(c, x), add2(c, x)], transB=1, alpha=0.3)


@case
def matmul_activation(c, x):
    before, other = add(c, x), c.weight("other", C, 5)
    y = c.node("FusedMatMulActivation", [before, other], alpha=0.5, activation="Tanh")
    return with_parts(c, y, ("FusedMatMul.", [before, other], dict(alpha=0.5)), ("Tanh", ["@0"], {}))


@case
def nhwc_fused_conv(c, x):
    shape = c.const("shape", np.array([B, T, C // 4, 4]))
    picture = c.node("Reshape", [add(c, x), shape], domain="")
    weight, bias = c.weight("conv", 6, 4, 3, 3), c.weight("bias", 6)
    y = c.node("NhwcFusedConv", [picture, weight, bias], pads=[1, 1, 1, 1], activation="Relu")
    return with_parts(c, y, ("Transpose", [picture], dict(perm=[0, 3, 1, 2])), ("Conv", ["@0", weight, bias], dict(pads=[1, 1, 1, 1])), ("Relu", ["@1"], {}),
                      ("Transpose", ["@2"], dict(perm=[0, 2, 3, 1])))


@case
def dequantized(c, x):
    """Codes of com.microsoft's DequantizeLinear are a frozen weight."""
    codes = c.const("codes", RNG.integers(0, 256, (C, 5)).astype("u1"))
    weight = c.node("DequantizeLinear", [codes, c.const("scales", RNG.uniform(0.01, 0.05, 5).astype("f4")), c.const("points", RNG.integers(100, 150, 5).astype("u1"))], axis=1)
    return c.node("MatMul", [add(c, x), weight], domain="")


@case
def gather_8_bits(c, x):
    codes, ids = c.const("codes", RNG.integers(0, 256, (7, C)).astype("u1")), c.const("ids", RNG.integers(0, 7, (B, T)))
    y = c.node("GatherBlockQuantized", [codes, ids, c.const("scales", RNG.uniform(0.001, 0.01, (7, C // 16)).astype("f4"))], block_size=16, bits=8)
    return c.node("Mul", [y, add(c, x)], domain="")


@case
def matmul_2_bits(c, x):
    codes = packed(RNG.integers(0, 4, (5, C // 16, 16)), 2)
    return c.node("MatMulNBits", [add(c, x), c.const("codes", codes), c.const("scales", RNG.uniform(0.1, 0.5, 5 * C // 16).astype("f4"))], K=C, N=5, bits=2, block_size=16)


@case
def pad(c, x):
    return c.node("Pad", [add(c, x), c.const("pads", np.array([0, 1, 2, 0, 1, 0])), c.const("value", np.float32(0.25))], mode="constant")


@case
def gather_nd(c, x):
    return c.node("GatherND", [add(c, x), c.const("places", np.array([[0, 2], [1, 5], [0, 2]]))])


@case
def expand_dims(c, x):
    return c.node("Mul", [c.node("ExpandDims", [add(c, x), c.const("axis", np.array(1, "i4"))]), c.weight("factor", 3, 1, C)], domain="")


def complex_parts(c, y, a, b, sign):
    halves = dict(axis=-1, num_outputs=2, outputs=2)
    return with_parts(c, y, ("Split", [a], dict(halves)), ("Split", [b], dict(halves)), ("Mul", ["@0_0", "@1_0"], {}), ("Mul", ["@0_1", "@1_1"], {}), ("Mul", ["@0_0", "@1_1"], {}),
                      ("Mul", ["@0_1", "@1_0"], {}), *((("Sub", ["@2", "@3"], {}), ("Add", ["@4", "@5"], {})) if sign > 0 else (("Add", ["@2", "@3"], {}), ("Sub", ["@5", "@4"], {}))),
                      ("Concat", ["@6", "@7"], dict(axis=-1)))


def complex_product(c, x, op, sign):
    pairs = c.const("pairs", np.array([0, 0, C // 2, 2]))
    a, b = (c.node("Reshape", [value, pairs], domain="") for value in (add(c, x), add2(c, x)))
    return complex_parts(c, c.node(op, [a, b]), a, b, sign)


@case
def complex_mul(c, x):
    return complex_product(c, x, "ComplexMul", 1)


@case
def complex_mul_conj(c, x):
    return complex_product(c, x, "ComplexMulConj", -1)
