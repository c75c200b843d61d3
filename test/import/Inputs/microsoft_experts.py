"""The cases of microsoft.py --experts: mixtures of experts, and of experts in few bits."""
import numpy as np
from onnx import numpy_helper
from microsoft_cases import B, C, RNG, T, add, packed

EXPERTS, CHOSEN, INNER, TOKENS = 5, 2, 32, B * T
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def scores(c, x, name="router"):
    """So far apart that neither rounding nor a difference of a weight changes which experts are chosen."""
    flat = c.node("Reshape", [x, c.const("flat", np.array([-1, C], "i8"))], domain="")
    apart = np.array([RNG.permutation(EXPERTS) for _ in range(TOKENS)], "f4")
    product = c.node("MatMul", [flat, c.weight(name, C, EXPERTS, scale=0.02)], domain="")
    return c.node("Add", [product, c.node("Constant", [], domain="", value=numpy_helper.from_array(apart))], domain="")


def moe(c, x, fused=1, third=False, biases=True, **attributes):
    sizes = [("fc1", fused * INNER, C), ("fc2", C, INNER), *([("fc3", INNER, C)] if third else [])]
    inputs = [add(c, x), scores(c, x)]
    for name, outputs, width in sizes:
        inputs += [c.weight(name, EXPERTS, outputs, width, scale=0.2), c.weight(f"{name}_bias", EXPERTS, outputs) if biases else ""]
    while not inputs[-1]:
        inputs.pop()
    return inputs, c.node("MoE", inputs, k=CHOSEN, **attributes)


def by_parts(c, inputs, inner, normalised):
    """What has no kernel on onnxruntime's CPU, as all experts for all tokens. inner: from products with x to what meets fc2."""
    known, c.nodes = c.nodes, c.nodes[:-1]

    def product(x, equation, weight, bias):
        y = c.node("Einsum", [x, weight], domain="", equation=equation)
        return c.node("Add", [y, bias], domain="") if bias else y

    x, router, *weights = inputs + [""] * (8 - len(inputs))
    flat = c.node("Reshape", [x, c.const("rows", np.array([-1, C], "i8"))], domain="")
    hidden = inner(product(flat, "th,enh->ten", *weights[0:2]), weights[4] and product(flat, "th,enh->ten", *weights[4:6]))
    each = product(hidden, "tei,ehi->teh", *weights[2:4])
    top, places = c.node("TopK", [c.node("Softmax", [router], domain="", axis=-1), c.const("count", np.array([CHOSEN], "i8"))], 2, domain="", axis=-1)
    if normalised:
        top = c.node("Div", [top, c.node("ReduceSum", [top, c.const("last", np.array([-1], "i8"))], domain="")], domain="")
    shares = c.node("ScatterElements", [c.const("none", np.zeros((TOKENS, EXPERTS), "f4")), places, top], domain="", axis=1)
    mixed = c.node("Einsum", [each, shares], domain="", equation="teh,te->th")
    c.node("Reshape", [mixed, c.const("whole", np.array([B, T, C], "i8"))], domain="")
    c.nodes[-1].output[0] = known[-1].output[0]
    c.nodes, c.reference = known, c.nodes
    return known[-1].output[0]


def silu(c, x, slope=1.0):
    steep = c.node("Mul", [x, c.const("slope", np.array(slope, "f4"))], domain="")
    return c.node("Mul", [x, c.node("Sigmoid", [steep], domain="")], domain="")


@case
def moe_relu(c, x):
    return moe(c, x)[1]


@case
def moe_gelu(c, x):
    return moe(c, x, activation_type="gelu", normalize_routing_weights=1, biases=False)[1]


@case
def moe_silu(c, x):
    return moe(c, x, activation_type="silu")[1]


@case
def moe_identity(c, x):
    return moe(c, x, activation_type="identity", normalize_routing_weights=1)[1]


@case
def moe_swiglu(c, x):
    return moe(c, x, fused=2, activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.702, activation_beta=1.0, swiglu_limit=1.5, normalize_routing_weights=1)[1]


@case
def moe_swiglu_plain(c, x):
    return moe(c, x, fused=2, activation_type="swiglu", swiglu_fusion=1, biases=False)[1]


@case
def moe_swiglu_halves(c, x):
    inputs, _ = moe(c, x, fused=2, activation_type="swiglu", swiglu_fusion=2, activation_alpha=1.5)

    def inner(both, _):
        gate, up = c.node("Split", [both], 2, domain="", axis=-1, num_outputs=2)
        return c.node("Mul", [silu(c, gate, 1.5), up], domain="")
    return by_parts(c, inputs, inner, normalised=False)


@case
def moe_swiglu_apart(c, x):
    inputs, _ = moe(c, x, third=True, activation_type="swiglu", normalize_routing_weights=1)
    return by_parts(c, inputs, lambda gate, up: c.node("Mul", [silu(c, gate), up], domain=""), normalised=True)


@case
def moe_mixtral(c, x):
    inputs, _ = moe(c, x, third=True, biases=False, activation_type="silu", normalize_routing_weights=1)
    return by_parts(c, inputs, lambda gate, up: c.node("Mul", [silu(c, gate), up], domain=""), normalised=True)


def q_moe(c, x, bits, block=0, points=False, own_weights=False, **attributes):
    """Experts in few bits, with the SwiGLU that onnxruntime's kernel has."""
    inputs, more = [add(c, x), scores(c, x)], []
    for name, rows, width in (("fc1", 2 * INNER, C), ("fc2", C, INNER)):
        blocks = width // block if block else 1
        magnitudes = RNG.uniform(0.2, 0.6, (EXPERTS, rows, blocks)[:3 if block else 2]) * 2.0 ** (1 - bits)
        inputs += [c.const(f"{name}.codes", packed(RNG.integers(0, 2 ** bits, (EXPERTS, rows, width)), bits)), c.const(f"{name}.scales", magnitudes.astype("f4")),
                   c.weight(f"{name}_bias", EXPERTS, rows)]
        held = (EXPERTS, rows, blocks + blocks * bits % 8 // bits) if block else (EXPERTS, rows)
        if points:
            more.append(c.const(f"{name}.points", packed(RNG.integers(0, 2 ** bits, held), bits)))
    if points or own_weights:
        inputs += ["", "", "", *(more or ["", ""])]
    if own_weights:
        inputs += ["", c.node("Sigmoid", [scores(c, x, "shares")], domain="")]
    sizes = {"block_size": block} if block else {}
    return c.node("QMoE", inputs, k=CHOSEN, expert_weight_bits=bits, activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.702, activation_beta=1.0,
                  swiglu_limit=2.0, **sizes, **attributes)


@case
def q_moe_4_bits(c, x):
    return q_moe(c, x, 4)


@case
def q_moe_8_bits(c, x):
    return q_moe(c, x, 8, normalize_routing_weights=1)


@case
def q_moe_blocks(c, x):
    return q_moe(c, x, 4, block=16)


@case
def q_moe_points(c, x):
    return q_moe(c, x, 4, block=16, points=True)


@case
def q_moe_row_points(c, x):
    return q_moe(c, x, 4, points=True)


@case
def q_moe_own_weights(c, x):
    return q_moe(c, x, 4, block=32, own_weights=True)


@case
def q_moe_own_weights_normalised(c, x):
    return q_moe(c, x, 8, own_weights=True, normalize_routing_weights=1)
