"""A decoder in the form of onnxruntime-genai, in four bits by onnxruntime's own quantiser, fine-tuned by adapters: few_bits.py OUT [--form NAME].

Its first loss is that of onnxruntime's forward; the plan holds the packed bytes; both exports, run by onnxruntime, give the program's own outputs after three
steps, and the one with adapters has the operators and the codes of the first file. Gradients of the adapters are differences of onnxruntime's loss of that file. Needs kedge in PATH, numpy, onnx and onnxruntime.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import matmul_bnb4_quantizer, matmul_nbits_quantizer as quantizer

HIDDEN, HEADS, KEYS, SIZE, INNER, WORDS, ROWS, TOKENS, LAYERS = 64, 4, 2, 16, 96, 80, 2, 6, 2
FORMS = {"symmetric": dict(is_symmetric=True), "points": dict(is_symmetric=False), "wide": dict(is_symmetric=False, bits=8), "qdq": dict(is_symmetric=True, qdq=True),
         "nf4": dict(table=1, block=64), "fp4": dict(table=0, block=32)}


class Graph:
    def __init__(self):
        self.rng, self.nodes, self.weights = np.random.default_rng(7), [], []

    def weight(self, name, value):
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def node(self, op, name, inputs, outputs=1, domain="", **attributes):
        outs = [f"{name}/output_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, outs, name=name, domain=domain, **attributes))
        return outs[0] if outputs == 1 else outs

    def product(self, x, path, rows, columns):
        values = (self.rng.standard_normal((rows, columns)) / rows ** 0.5).astype("f4")
        return self.node("MatMul", "/" + path.replace(".", "/") + "/MatMul", [x, self.weight(f"{path}.weight", values)])

    def norm(self, name):
        return self.weight(f"{name}.weight", (1 + 0.1 * self.rng.standard_normal(HIDDEN)).astype("f4"))


def layer(g, k, x, skip, lengths, total, tables):
    path = f"model.layers.{k}"
    if skip is None:
        h = g.node("SimplifiedLayerNormalization", f"/{path}/input_norm", [x, g.norm(f"{path}.input_layernorm")], axis=-1, epsilon=1e-5)
        residual = x
    else:
        h, residual = g.node("SkipSimplifiedLayerNormalization", f"/{path}/input_norm", [skip, x, g.norm(f"{path}.input_layernorm")], 4, "com.microsoft", epsilon=1e-5)[::3]
    q = g.product(h, f"{path}.attn.q_proj", HIDDEN, HEADS * SIZE)
    key = g.product(h, f"{path}.attn.k_proj", HIDDEN, KEYS * SIZE)
    value = g.product(h, f"{path}.attn.v_proj", HIDDEN, KEYS * SIZE)
    y = [f"/{path}/attn/output", f"present.{k}.key", f"present.{k}.value"]
    g.nodes.append(helper.make_node("GroupQueryAttention", [q, key, value, f"past_key_values.{k}.key", f"past_key_values.{k}.value", lengths, total, *tables], y,
                                    name=f"/{path}/attn/GroupQueryAttention", domain="com.microsoft", num_heads=HEADS, kv_num_heads=KEYS, do_rotary=1))
    o = g.product(y[0], f"{path}.attn.o_proj", HEADS * SIZE, HIDDEN)
    h, residual = g.node("SkipSimplifiedLayerNormalization", f"/{path}/post_norm", [residual, o, g.norm(f"{path}.post_attention_layernorm")], 4, "com.microsoft", epsilon=1e-5)[::3]
    gate, up = g.product(h, f"{path}.mlp.gate_proj", HIDDEN, INNER), g.product(h, f"{path}.mlp.up_proj", HIDDEN, INNER)
    act = g.node("Mul", f"/{path}/mlp/act", [gate, g.node("Sigmoid", f"/{path}/mlp/sigmoid", [gate])])
    return g.product(g.node("Mul", f"/{path}/mlp/mul", [act, up]), f"{path}.mlp.down_proj", INNER, HIDDEN), residual


def decoder():
    g = Graph()
    table = g.weight("model.embed_tokens.weight", g.rng.standard_normal((WORDS, HIDDEN)).astype("f4"))
    x = g.node("Gather", "/model/embed_tokens/Gather", [table, "input_ids"])
    ones = g.weight("one", np.array([1], "i8"))
    counts = g.node("ReduceSum", "/mask/sum", ["attention_mask", ones], keepdims=0)
    lengths = g.node("Cast", "/mask/lengths", [g.node("Sub", "/mask/less", [counts, ones])], to=TensorProto.INT32)
    width = g.node("Gather", "/mask/width", [g.node("Shape", "/mask/shape", ["attention_mask"]), g.weight("place", np.array(1, "i8"))], axis=0)
    total = g.node("Cast", "/mask/total", [width], to=TensorProto.INT32)
    angles = np.outer(np.arange(16), 1 / 100 ** (np.arange(SIZE // 2) / (SIZE // 2)))
    tables = [g.weight("cos_cache", np.cos(angles).astype("f4")), g.weight("sin_cache", np.sin(angles).astype("f4"))]
    skip = None
    for k in range(LAYERS):
        x, skip = layer(g, k, x, skip, lengths, total, tables)
    h = g.node("SkipSimplifiedLayerNormalization", "/model/norm", [skip, x, g.norm("model.norm")], 4, "com.microsoft", epsilon=1e-5)[0]
    logits = g.product(h, "lm_head", HIDDEN, WORDS)
    g.nodes.append(helper.make_node("Identity", [logits], ["logits"], name="/logits"))
    ints = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "sequence"]), helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "total"])]
    caches = [f"{{}}.{k}.{part}" for k in range(LAYERS) for part in ("key", "value")]
    past = [helper.make_tensor_value_info(name.format("past_key_values"), TensorProto.FLOAT, ["batch", KEYS, "past", SIZE]) for name in caches]
    present = [helper.make_tensor_value_info(name.format("present"), TensorProto.FLOAT, ["batch", KEYS, "total", SIZE]) for name in caches]
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "sequence", WORDS])
    graph = helper.make_graph(g.nodes, "decoder", ints + past, [logits, *present], g.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)], ir_version=10)


def quantised(model, form):
    of = FORMS[form]
    if "table" in of:
        made = matmul_bnb4_quantizer.MatMulBnb4Quantizer(model, of["table"], of["block"])
        made.process()
        return made.model.model
    config = quantizer.DefaultWeightOnlyQuantConfig(
        block_size=16, is_symmetric=of["is_symmetric"], bits=of.get("bits", 4), op_types_to_quantize=("MatMul",) if of.get("bits") or of.get("qdq") else ("MatMul", "Gather"),
        quant_format=quantizer.QuantFormat.QDQ if of.get("qdq") else quantizer.QuantFormat.QOperator)
    made = quantizer.MatMulNBitsQuantizer(model, algo_config=config)
    made.process()
    return made.model.model


def feeds(ids):
    caches = {f"past_key_values.{k}.{part}": np.zeros((ROWS, KEYS, 0, SIZE), "f4") for k in range(LAYERS) for part in ("key", "value")}
    return {"input_ids": ids, "attention_mask": np.ones(ids.shape, "i8"), **caches}


def logits_of(path, ids):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path if isinstance(path, bytes) else str(path), options, providers=["CPUExecutionProvider"]).run(["logits"], feeds(ids))[0]


def loss_of(logits, labels):
    shifted = logits.astype("f8") - logits.max(-1, keepdims=True)
    log = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return float(-np.take_along_axis(log, labels[..., None], -1).mean())


def command(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{words[0]} {words[1]}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def codes_of(path):
    """Bytes of the tensors that hold codes, by their names."""
    names = set()
    model = onnx.load(path)
    for node in model.graph.node:
        if node.op_type in ("MatMulNBits", "MatMulBnb4", "DequantizeLinear", "GatherBlockQuantized"):
            names.update(node.input[1 if node.op_type.startswith("MatMul") else 0:][:1])
    return {t.name: t.raw_data or t.int32_data for t in model.graph.initializer if t.name in names}


def relative(a, b):
    return float(np.abs(a - b).max() / np.abs(b).max())


def gradients_in(path):
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    entries = {name: entry for name, entry in json.loads(raw[8:8 + size]).items() if name != "__metadata__"}
    return {name: np.frombuffer(raw[8 + size + e["data_offsets"][0]:8 + size + e["data_offsets"][1]], "f4").reshape(e["shape"]) for name, e in entries.items()}


def wrong_gradients(gradients, file, ids, labels, precision):
    """Of adapters, beside differences of onnxruntime's loss of the file that has them as initializers."""
    model, wrong, rng = onnx.load(file), [], np.random.default_rng(11)
    tensors = {t.name: t for t in model.graph.initializer}
    adapters = {name for name in tensors if ".lora_A" in name or ".lora_B" in name}
    if set(gradients) != adapters or not adapters:
        return [f"gradients of {sorted(gradients)}, the file has {sorted(adapters)}"]

    def moved(name, direction):
        value = numpy_helper.to_array(tensors[name])
        kept = tensors[name].SerializeToString()
        tensors[name].CopyFrom(numpy_helper.from_array((value + direction).astype("f4"), name))
        loss = loss_of(logits_of(model.SerializeToString(), ids), labels)
        tensors[name].ParseFromString(kept)
        return loss

    for name, gradient in gradients.items():
        size = float(np.linalg.norm(gradient))
        direction = rng.standard_normal(gradient.shape)
        direction = direction / np.linalg.norm(direction) + gradient / size
        difference, along = (moved(name, 2e-3 * direction) - moved(name, -2e-3 * direction)) / 4e-3, float((gradient * direction).sum())
        if not abs(difference - along) < (1e-2 if precision == "fp32" else 5e-2) * size + 1e-4:
            wrong.append(f"{name}: its gradient gives {along} along a direction, differences {difference}")
    return wrong


def check(out, form, precision):
    out.mkdir(parents=True, exist_ok=True)
    file = out / "decoder.onnx"
    onnx.save(quantised(decoder(), form), file)
    rng = np.random.default_rng(3)
    ids, labels = rng.integers(0, WORDS, (ROWS, TOKENS)), rng.integers(0, WORDS, (ROWS, TOKENS))
    np.save(out / "ids.npy", ids), np.save(out / "labels.npy", labels)
    first = loss_of(logits_of(file, ids), labels)
    options = [file, "--shape", f"input_ids={ROWS}x{TOKENS}", "--loss", "cross-entropy", "--logits", "logits", "--lora", "q_proj|v_proj|down_proj", "--lora-rank", "4",
               "--precision", precision, "--optimizer", "adamw"]
    plan = json.loads(command("kedge", "plan", *options, "--json"))
    program, data = out / "program", [f"input_ids={out / 'ids.npy'}", f"labels={out / 'labels.npy'}"]
    command("kedge", "compile", *options, "-o", program)
    log, mine = out / "log.jsonl", out / "logits.npy"
    command(program, "--steps", 3, "--lr", 0.05, "--threads", 1, "--log", log, *[w for d in data for w in ("--data", d)], *[w for d in data for w in ("--eval-data", d)],
            "--predict", f"logits={mine}", "--export-onnx", out / "merged.onnx", "--export-onnx-adapters", out / "adapters.onnx", "--export-adapter", out / "adapter")
    losses = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    bound = 2e-5 if precision == "fp32" else 2e-2
    own, wrong = np.load(mine), []
    if not abs(losses[0] - first) < bound * first:
        wrong.append(f"the first loss is {losses[0]}, onnxruntime's {first}")
    if not losses[2] < losses[0]:
        wrong.append(f"the loss does not fall: {losses}")
    for name in ("merged", "adapters"):
        if not (error := relative(logits_of(out / f"{name}.onnx", ids), own)) < bound:
            wrong.append(f"{name}.onnx differs from the program's outputs by {error:.2g} of the largest")
    command("kedge", "compile", *options[:7], "--adapter", out / "adapter", "--precision", precision, "-o", out / "again")
    command(out / "again", "--steps", 1, "--lr", 0, "--data", data[0], "--data", data[1], "--eval-data", data[0], "--eval-data", data[1], "--predict", f"logits={out / 'again.npy'}",
            "--dump-gradients", out / "g", "--dump-step", 0)
    wrong += wrong_gradients(gradients_in(out / "g"), out / "adapters.onnx", ids, labels, precision)
    if not (error := relative(np.load(out / "again.npy"), own)) < bound:
        wrong.append(f"the folder of adapters gives other outputs, by {error:.2g} of the largest")
    if relative(logits_of(file, ids), own) < 100 * bound and precision == "fp32":
        wrong.append("training changed nothing")
    if codes_of(out / "adapters.onnx") != codes_of(file):
        wrong.append("the file with adapters has other codes")
    frozen, held = plan["state_bytes"]["parameters"] - plan["state_bytes"]["gradients"], bytes_of(file)
    if precision == "fp32" and not frozen <= held:
        wrong.append(f"the plan has {frozen} bytes of frozen weights, the file {held}")
    return wrong, frozen, held


def bytes_of(path):
    """Of the weights as they lie in the file, without tables of angles."""
    sizes = {TensorProto.FLOAT: 4, TensorProto.UINT8: 1, TensorProto.UINT4: 0.5, TensorProto.INT4: 0.5}
    tensors = [t for t in onnx.load(path).graph.initializer if t.data_type in sizes and not t.name.endswith("_cache")]
    return sum(int(np.prod(t.dims) * sizes[t.data_type]) for t in tensors)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--form", default="points", choices=FORMS)
    parser.add_argument("--precision", default="fp32")
    args = parser.parse_args()
    wrong, frozen, held = check(args.out, args.form, args.precision)
    print("\n".join(wrong))
    print(f"{frozen} of {held} bytes of frozen weights")
    print(f"{args.form}: {len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
