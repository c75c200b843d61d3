"""A decoder of one layer with a cache, as Optimum and onnxruntime-genai write them: decoder.py OUT. Beside it rows of tokens and labels, and the loss that
onnxruntime's logits have on them."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

B, T, V, H, D = 2, 6, 11, 2, 8
OUT = pathlib.Path(sys.argv[1])
OUT.mkdir(parents=True, exist_ok=True)
RNG = np.random.default_rng(3)


def value(name, kind, *shape):
    return helper.make_tensor_value_info(name, kind, shape)


def weight(name, *shape):
    return numpy_helper.from_array((RNG.standard_normal(shape) * 0.4).astype("f4"), name)


past = [value(f"past_key_values.0.{part}", TensorProto.FLOAT, "batch", H, "past_sequence_length", D) for part in ("key", "value")]
inputs = [value("input_ids", TensorProto.INT64, "batch", "sequence_length"),
          value("attention_mask", TensorProto.INT64, "batch", "total_sequence_length"),
          value("position_ids", TensorProto.INT64, "batch", "sequence_length"), *past, value("unread", TensorProto.INT64, "batch")]
present = [value(f"present.0.{part}", TensorProto.FLOAT, "batch", H, "total_sequence_length", D) for part in ("key", "value")]
outputs = [value("logits", TensorProto.FLOAT, "batch", "sequence_length", V), *present]
nodes = [
    helper.make_node("Cast", ["attention_mask"], ["seen"], to=TensorProto.FLOAT), helper.make_node("Unsqueeze", ["seen", "axes"], ["mask"]),
    helper.make_node("Gather", ["model.words.weight", "input_ids"], ["words"]), helper.make_node("Gather", ["model.places.weight", "position_ids"], ["places"]),
    helper.make_node("Add", ["words", "places"], ["sum"]), helper.make_node("Mul", ["sum", "mask"], ["x"]), *[helper.make_node("MatMul", ["x", f"model.{name}.weight"], [name]) for name in "qkv"],
    helper.make_node("Attention", ["q", "k", "v", "", past[0].name, past[1].name], ["y", present[0].name, present[1].name], q_num_heads=H, kv_num_heads=H,
                     is_causal=1),
    helper.make_node("MatMul", ["y", "model.head.weight"], ["logits"])]
weights = [weight("model.words.weight", V, H * D), weight("model.places.weight", 16, H * D), *[weight(f"model.{name}.weight", H * D, H * D) for name in "qkv"],
           weight("model.head.weight", H * D, V), numpy_helper.from_array(np.array([2]), "axes")]
graph = helper.make_graph(nodes, "decoder", inputs, outputs, weights)
path = OUT / "decoder.onnx"
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10), path)

# Under both names of the default domain: the last one counts.
twice = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx", 23)], ir_version=10)
onnx.save(twice, OUT / "twice.onnx")

ids, labels = RNG.integers(0, V, (B, T)), RNG.integers(0, V, (B, T))
np.save(OUT / "ids.npy", ids)
np.save(OUT / "labels.npy", labels)
np.save(OUT / "unread.npy", np.zeros(B, "i8"))
feeds = {"input_ids": ids, "attention_mask": np.ones((B, T), "i8"), "position_ids": np.broadcast_to(np.arange(T), (B, T)).copy(), "unread": np.zeros(B, "i8"),
         **{info.name: np.zeros((B, H, 0, D), "f4") for info in past}}
y = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(["logits"], feeds)[0].astype("f8")
log = y - np.log(np.exp(y).sum(-1, keepdims=True))
np.save(OUT / "expected.npy", y.astype("f4"))
again = onnxruntime.InferenceSession(str(OUT / "twice.onnx"), providers=["CPUExecutionProvider"]).run(["logits"], feeds)[0]
assert np.array_equal(again, y.astype("f4"))
print(f"expected loss {-np.take_along_axis(log, labels[..., None], -1).mean():.4f}")
