"""The cases of microsoft.py: an operator of com.microsoft each, with its parameters."""
import numpy as np
from onnx import helper

B, T, H, K, D = 2, 6, 4, 2, 16  # rows, tokens, heads, heads of keys, size of a head
C = H * D
RNG = np.random.default_rng(5)


class Branch:
    """The nodes of one case; tensors are named CASE.NAME, so parameters look like those of modules."""

    def __init__(self, name):
        self.name, self.nodes, self.weights, self.frozen, self.reference = name, [], {}, set(), None

    def weight(self, name, *shape, scale=0.5, plus=0.0):
        return self.const(f"{name}.weight", (RNG.standard_normal(shape) * scale + plus).astype("f4"), frozen=False)

    def const(self, name, value, frozen=True):
        full = f"{self.name}.{name}"
        self.weights[full] = np.asarray(value)
        if frozen:
            self.frozen.add(full)
        return full

    def node(self, op, inputs, outputs=1, domain="com.microsoft", **attributes):
        names = [f"{self.name}/{op}_{len(self.nodes)}_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=names[0], domain=domain, **attributes))
        return names[0] if outputs == 1 else names


def add(case, x, size=C, last=True):
    """A product before the operator, so that gradients reach its input."""
    return case.node("MatMul", [x, case.weight("proj", C, size, scale=0.3)], domain="")


def angles(case, size=D, positions=16):
    inverse = 1 / 100 ** (np.arange(size // 2) / (size // 2))
    table = np.outer(np.arange(positions), inverse)
    return case.const("cos_cache", np.cos(table).astype("f4")), case.const("sin_cache", np.sin(table).astype("f4"))


CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


@case
def gelu(c, x):
    return c.node("Gelu", [add(c, x)])


@case
def bias_gelu(c, x):
    return c.node("BiasGelu", [add(c, x), c.weight("bias", C)])


@case
def fast_gelu(c, x):
    return c.node("FastGelu", [add(c, x), c.weight("bias", C)])


@case
def quick_gelu(c, x):
    return c.node("QuickGelu", [add(c, x)], alpha=1.5)


@case
def skip_layer_norm(c, x):
    y = c.node("SkipLayerNormalization", [add(c, x), x, c.weight("norm", C, plus=1), c.weight("beta", C), c.weight("bias", C)], 4, epsilon=1e-5)
    return c.node("Add", [y[0], y[3]], domain="")


@case
def skip_rms_norm(c, x):
    y = c.node("SkipSimplifiedLayerNormalization", [add(c, x), x, c.weight("norm", C, plus=1)], 4, epsilon=1e-5)
    return c.node("Add", [y[0], y[3]], domain="")


@case
def rms_norm(c, x):
    return c.node("SimplifiedLayerNormalization", [add(c, x), c.weight("norm", C, plus=1)], domain="", epsilon=1e-5, axis=-1)


@case
def embed_layer_norm(c, x):
    ids = c.const("ids", RNG.integers(0, 7, (B, T)).astype("i4"))
    segments = c.const("segments", RNG.integers(0, 2, (B, T)).astype("i4"))
    tables = [c.weight("words", 7, C), c.weight("places", 9, C), c.weight("segments", 2, C)]
    return c.node("EmbedLayerNormalization", [ids, segments, *tables, c.weight("norm", C, plus=1), c.weight("beta", C)], 2, epsilon=1e-5)[0]


@case
def fused_matmul(c, x):
    return c.node("FusedMatMul", [add(c, x), c.weight("other", 5, C)], transB=1, alpha=0.7)


@case
def fused_matmul_both(c, x):
    return c.node("FusedMatMul", [add(c, x), add2(c, x)], transA=1, alpha=0.2)


def add2(c, x):
    return c.node("MatMul", [x, c.weight("proj2", C, C, scale=0.3)], domain="")


@case
def fused_gemm(c, x):
    rows = c.node("Reshape", [add(c, x), c.const("shape", np.array([-1, C]))], domain="")
    return c.node("FusedGemm", [rows, c.weight("other", 5, C), c.weight("bias", 5)], transB=1, activation="LeakyRelu", activation_alpha=0.2)


@case
def fused_conv(c, x):
    picture = c.node("Reshape", [add(c, x), c.const("shape", np.array([B, 3, 8, 16]))], domain="")
    return c.node("FusedConv", [picture, c.weight("conv", 4, 3, 3, 3), c.weight("bias", 4)], pads=[1, 1, 1, 1], activation="Relu")


@case
def attention(c, x):
    mask = c.const("mask", (np.arange(T)[None] < np.array([[T], [4]])).astype("i4"))
    return c.node("Attention", [add(c, x), c.weight("qkv", C, 3 * C, scale=0.1), c.weight("bias", 3 * C), mask], num_heads=H)


@case
def attention_causal(c, x):
    return c.node("Attention", [add(c, x), c.weight("qkv", C, 3 * C, scale=0.1), c.weight("bias", 3 * C)], num_heads=H, unidirectional=1)


@case
def attention_lengths(c, x):
    return c.node("Attention", [add(c, x), c.weight("qkv", C, 3 * C, scale=0.1), c.weight("bias", 3 * C), c.const("lengths", np.array([T, 4], "i4"))], num_heads=H)


@case
def multi_head(c, x):
    bias = c.weight("scores", 1, H, T, T)
    return c.node("MultiHeadAttention", [add(c, x), add2(c, x), x, c.weight("bias", 3 * C), "", bias], num_heads=H)


@case
def multi_head_packed(c, x):
    """onnxruntime's CPU has no such form: it is given the parts."""
    packed = c.node("Reshape", [add(c, x, 3 * C), c.const("shape", np.array([0, 0, H, 3, D]))], domain="")
    y = c.node("MultiHeadAttention", [packed], num_heads=H, scale=0.4)
    c.reference = c.nodes[:-1] + [helper.make_node("Split", [packed], ["q5", "k5", "v5"], axis=3, num_outputs=3)] + [
        helper.make_node("Reshape", [f"{name}5", c.const("flat", np.array([0, 0, C]))], [f"{name}3"]) for name in "qkv"] + [
        helper.make_node("MultiHeadAttention", ["q3", "k3", "v3"], [y], domain="com.microsoft", num_heads=H, scale=0.4)]
    return y


def shown(rows):
    """The first so many keys of each row."""
    return (np.arange(T)[None] < np.array(rows)[:, None]).astype("i4")


@case
def multi_head_keys(c, x):
    return c.node("MultiHeadAttention", [add(c, x), add2(c, x), x, "", c.const("mask", shown([T, 4]))], num_heads=H)


@case
def multi_head_queries(c, x):
    mask = np.tril(np.ones((B, T, T), "i4"))
    return c.node("MultiHeadAttention", [add(c, x), add2(c, x), x, "", c.const("mask", mask)], num_heads=H, mask_filter_value=-1000.0)


@case
def multi_head_causal(c, x):
    return c.node("MultiHeadAttention", [add(c, x), add2(c, x), x], num_heads=H, unidirectional=1)


@case
def multi_head_cross(c, x):
    """Keys and values in heads already, as a cross attention's are."""
    heads = [c.node("Transpose", [c.node("Reshape", [y, c.const(f"shape{k}", np.array([0, 0, H, D]))], domain="")], domain="", perm=[0, 2, 1, 3])
             for k, y in enumerate((add2(c, x), x))]
    return c.node("MultiHeadAttention", [add(c, x), *heads], num_heads=H)


@case
def multi_head_packed_keys(c, x):
    """onnxruntime's CPU has no such form: it is given the parts."""
    packed = c.node("Reshape", [add(c, x, 2 * C), c.const("shape", np.array([0, 0, H, 2, D]))], domain="")
    y = c.node("MultiHeadAttention", [x, packed], num_heads=H)
    c.reference = c.nodes[:-1] + [helper.make_node("Split", [packed], ["k7", "v7"], axis=3, num_outputs=2)] + [
        helper.make_node("Reshape", [f"{name}7", c.const("flat", np.array([0, 0, C]))], [f"{name}8"]) for name in "kv"] + [
        helper.make_node("MultiHeadAttention", [x, "k8", "v8"], [y], domain="com.microsoft", num_heads=H)]
    return y


def pictures(c, x, channels):
    return c.node("Reshape", [add(c, x), c.const("shape", np.array([B, 4, T * C // 4 // channels, channels]))], domain="")


def turned(names, x, y, perm):
    names.append(helper.make_node("Transpose", [x], [y], perm=perm))
    return y


@case
def group_norm(c, x):
    """onnxruntime's CPU has no such operator: it is given ONNX's."""
    picture = pictures(c, x, 8)
    scale, bias = c.weight("norm", 8, plus=1), c.weight("beta", 8)
    y = c.node("GroupNorm", [picture, scale, bias], groups=4, activation=1, epsilon=1e-4, channels_last=1)
    c.reference = group_norm_parts(c, picture, scale, bias, y)
    return y


def group_norm_parts(c, picture, scale, bias, y, before=()):
    name, nodes = c.name, list(before)
    x = turned(nodes, picture, f"{name}.chw", [0, 3, 1, 2])
    one, none = c.const("one", np.ones(4, "f4")), c.const("none", np.zeros(4, "f4"))
    column = c.const("column", np.array([8, 1, 1]))
    nodes += [helper.make_node("Shape", [x], [f"{name}.sizes"]), helper.make_node("Reshape", [x, c.const("groups", np.array([0, 4, -1]))], [f"{name}.groups3"]),
              helper.make_node("InstanceNormalization", [f"{name}.groups3", one, none], [f"{name}.normal"], epsilon=1e-4),
              helper.make_node("Reshape", [f"{name}.normal", f"{name}.sizes"], [f"{name}.back"]),
              helper.make_node("Reshape", [scale, column], [f"{name}.factor"]), helper.make_node("Reshape", [bias, column], [f"{name}.shift"]),
              helper.make_node("Mul", [f"{name}.back", f"{name}.factor"], [f"{name}.scaled"]), helper.make_node("Add", [f"{name}.scaled", f"{name}.shift"], [f"{name}.sum"]),
              helper.make_node("Sigmoid", [f"{name}.sum"], [f"{name}.gate"]), helper.make_node("Mul", [f"{name}.sum", f"{name}.gate"], [f"{name}.swish"])]
    turned(nodes, f"{name}.swish", y, [0, 2, 3, 1])
    return c.nodes[:-1] + nodes


@case
def skip_group_norm(c, x):
    picture = pictures(c, x, 8)
    scale, bias, skip, more = c.weight("norm", 8, plus=1), c.weight("beta", 8), c.weight("skip", B, 8), c.weight("more", 8)
    y = c.node("SkipGroupNorm", [picture, scale, bias, skip, more], 1, groups=4, activation=1, epsilon=1e-4, channels_last=1)
    before = [helper.make_node("Reshape", [skip, c.const("row", np.array([B, 1, 1, 8]))], [f"{c.name}.skip4"]),
              helper.make_node("Add", [picture, f"{c.name}.skip4"], [f"{c.name}.with"]), helper.make_node("Add", [f"{c.name}.with", more], [f"{c.name}.all"])]
    c.reference = group_norm_parts(c, f"{c.name}.all", scale, bias, y, before)
    return y


def spectrum(size):
    """Of a signal of this length: cosines and sines, [size, half, 2]."""
    waves = np.fft.rfft(np.eye(size))
    return np.stack([waves.real, waves.imag], -1).astype("f4")


@case
def rfft(c, x):
    """onnxruntime's CPU has no such operator: it is given the sums."""
    y = c.node("Rfft", [add(c, x)], signal_ndim=1, normalized=0, onesided=1)
    table = spectrum(C)
    flat = c.const("table", table.reshape(C, -1))
    c.reference = c.nodes[:-1] + [helper.make_node("MatMul", [c.nodes[-1].input[0], flat], [f"{c.name}.lines"]),
                                  helper.make_node("Reshape", [f"{c.name}.lines", c.const("pairs", np.array([0, 0, C // 2 + 1, 2]))], [y])]
    return y


@case
def irfft(c, x):
    """Like rfft; the first and the last number of a spectrum are real."""
    half = C // 2
    pairs = c.node("Reshape", [add(c, x), c.const("shape", np.array([0, 0, half, 2]))], domain="")
    y = c.node("Irfft", [pairs], signal_ndim=1, normalized=0, onesided=1)
    table = np.stack([np.fft.irfft(np.eye(half), axis=1), np.fft.irfft(1j * np.eye(half), axis=1)], 1).astype("f4")
    c.reference = c.nodes[:-1] + [helper.make_node("Reshape", [pairs, c.const("flat", np.array([0, 0, C]))], [f"{c.name}.lines"]),
                                  helper.make_node("MatMul", [f"{c.name}.lines", c.const("table", table.reshape(C, -1))], [y])]
    return y


@case
def distances(c, x):
    rows = c.node("Reshape", [add(c, x), c.const("shape", np.array([-1, C]))], domain="")
    return c.node("CDist", [rows, c.weight("others", 5, C)], metric="euclidean")


@case
def squared_distances(c, x):
    rows = c.node("Reshape", [add(c, x), c.const("shape", np.array([-1, C]))], domain="")
    return c.node("CDist", [rows, c.weight("others", 5, C)], metric="sqeuclidean")


@case
def nhwc_conv(c, x):
    """onnxruntime's CPU has no such kernel for floats: it is given Conv."""
    picture = pictures(c, x, 4)
    weight, bias = c.weight("conv", 6, 4, 3, 3), c.weight("bias", 6)
    y = c.node("NhwcConv", [picture, weight, bias], pads=[1, 1, 1, 1])
    nodes = []
    chw = turned(nodes, picture, f"{c.name}.chw", [0, 3, 1, 2])
    nodes.append(helper.make_node("Conv", [chw, weight, bias], [f"{c.name}.y"], pads=[1, 1, 1, 1]))
    turned(nodes, f"{c.name}.y", y, [0, 2, 3, 1])
    c.reference = c.nodes[:-1] + nodes
    return y


@case
def nhwc_max_pool(c, x):
    picture = pictures(c, x, 4)
    y = c.node("NhwcMaxPool", [picture], kernel_shape=[2, 2], strides=[2, 2])
    nodes = []
    chw = turned(nodes, picture, f"{c.name}.chw", [0, 3, 1, 2])
    nodes.append(helper.make_node("MaxPool", [chw], [f"{c.name}.y"], kernel_shape=[2, 2], strides=[2, 2]))
    turned(nodes, f"{c.name}.y", y, [0, 2, 3, 1])
    c.reference = c.nodes[:-1] + nodes
    return y


@case
def rotary(c, x):
    ids = c.const("ids", np.stack([np.arange(T), np.arange(T) + 3]))
    return c.node("RotaryEmbedding", [add(c, x), ids, *angles(c)])


@case
def rotary_interleaved(c, x):
    return c.node("RotaryEmbedding", [add(c, x), c.const("first", np.array([2])), *angles(c, D // 2)], interleaved=1, num_heads=H, rotary_embedding_dim=D // 2)


def grouped(c, x, rotates=True, sink=False, **attributes):
    lengths = c.const("lengths", np.full(B, T - 1, "i4"))
    inputs = [add(c, x, (H + 2 * K) * D), "", "", "", "", lengths, c.const("total", np.array(T, "i4"))]
    inputs += list(angles(c)) if rotates or sink else []
    inputs += ["", "", c.weight("sink", H)] if sink else []
    return c.node("GroupQueryAttention", inputs, 3, num_heads=H, kv_num_heads=K, do_rotary=int(rotates), **attributes)[0]


@case
def group_query(c, x):
    return grouped(c, x)


@case
def group_query_window(c, x):
    return grouped(c, x, local_window_size=3, softcap=2.0)


@case
def group_query_sink(c, x):
    return grouped(c, x, sink=True)


@case
def group_query_smooth(c, x):
    return grouped(c, x, rotates=False, smooth_softmax=1, scale=0.3)


@case
def group_query_separate(c, x):
    lengths = c.const("lengths", np.full(B, T - 1, "i4"))
    inputs = [add(c, x), c.node("MatMul", [x, c.weight("keys", C, K * D)], domain=""), c.node("MatMul", [x, c.weight("values", C, K * D)], domain="")]
    return c.node("GroupQueryAttention", [*inputs, "", "", lengths, c.const("total", np.array(T, "i4"))], 3, num_heads=H, kv_num_heads=K)[0]


def packed(values, bits):
    """Codes of a row as bytes, the first in the lowest bits."""
    each = 8 // bits
    groups = values.reshape(*values.shape[:-1], -1, each).astype("u1")
    return sum(groups[..., k] << (bits * k) for k in range(each)).astype("u1")


def few_bits(c, x, bits, points):
    width, block, rows = C, 16, 5
    blocks = width // block
    codes = packed(RNG.integers(0, 2 ** bits, (rows, blocks, block)), bits)
    inputs = [add(c, x), c.const("codes", codes), c.const("scales", RNG.uniform(0.01, 0.1, rows * blocks).astype("f4"))]
    if points:
        inputs.append(c.const("points", packed(RNG.integers(0, 2 ** bits, (rows, blocks + (-blocks) % (8 // bits))), bits).reshape(-1)))
    return c.node("MatMulNBits", inputs, K=width, N=rows, bits=bits, block_size=block)


@case
def matmul_4_bits(c, x):
    return few_bits(c, x, 4, True)


@case
def matmul_4_bits_middle(c, x):
    return few_bits(c, x, 4, False)


@case
def matmul_8_bits(c, x):
    return few_bits(c, x, 8, True)


@case
def gather_4_bits(c, x):
    codes = packed(RNG.integers(0, 16, (7, C)), 4)
    ids = c.const("ids", RNG.integers(0, 7, (B, T)))
    y = c.node("GatherBlockQuantized", [c.const("codes", codes), ids, c.const("scales", RNG.uniform(0.01, 0.1, (7, C // 16)).astype("f4"))], block_size=16, bits=4)
    return c.node("Mul", [y, add(c, x)], domain="")


@case
def matmul_bnb4(c, x):
    blocks = C * 5 // 16
    codes = RNG.integers(0, 256, C * 5 // 2).astype("u1")
    return c.node("MatMulBnb4", [add(c, x), c.const("codes", codes), c.const("absmax", RNG.uniform(0.1, 1, blocks).astype("f4"))], K=C, N=5, block_size=16, quant_type=1)


@case
def matmul_fp4(c, x):
    codes = RNG.integers(0, 256, C * 5 // 2).astype("u1")
    return c.node("MatMulBnb4", [add(c, x), c.const("codes", codes), c.const("absmax", RNG.uniform(0.1, 1, C * 5 // 64).astype("f4"))], K=C, N=5, block_size=64, quant_type=0)


@case
def trilu(c, x):
    return c.node("Trilu", [add(c, x)], upper=0)


FORMS = {"multi_head_keys", "multi_head_queries", "multi_head_causal", "multi_head_cross", "multi_head_packed_keys", "group_norm", "skip_group_norm", "rfft", "irfft",
         "distances", "squared_distances", "nhwc_conv", "nhwc_max_pool", "matmul_bnb4", "matmul_fp4"}
