"""--weights as Hugging Face writes them: weights.py FOLDER. Needs numpy and onnx."""
import json
import pathlib
import sys

import numpy
from cases import Small, array, data_of, expect, tensors, words

folder = pathlib.Path(sys.argv[1])
TYPES = {"F32": numpy.float32, "F16": numpy.float16, "I64": numpy.int64}
rng = numpy.random.default_rng(0)
made = {"transformer.wte.weight": rng.standard_normal((5, 4)), "transformer.h.0.fc.weight": rng.standard_normal((4, 4)),
        "transformer.h.0.fc.bias": rng.standard_normal(4), "transformer.ln_f.weight": rng.standard_normal(4)}
made = {name: value.astype(numpy.float32) for name, value in made.items()}


def bf16(values):
    """Rounded to nearest even, as its bits."""
    bits = values.view(numpy.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)


def write(path, values, dtype="F32"):
    header, body = {"__metadata__": {"format": "pt"}}, b""
    for name, value in values.items():
        data = bf16(value) if dtype == "BF16" else value if value.dtype == numpy.int64 else value.astype(TYPES[dtype])
        kind = "I64" if value.dtype == numpy.int64 else dtype
        header[name] = {"dtype": kind, "shape": list(value.shape), "data_offsets": [len(body), len(body) + data.nbytes]}
        body += data.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)
    return path


def shards(place, values, lost=""):
    """A folder as save_pretrained leaves it; `lost` is a shard that was not fetched."""
    names = sorted(values)
    files = [f"model-{i + 1:05}-of-00002.safetensors" for i in range(2)]
    where = {name: files[i % 2] for i, name in enumerate(names)}
    for file in files:
        if file != lost:
            write(place / file, {name: values[name] for name in names if where[name] == file})
    (place / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": where}))
    return place


# The model that a wrapper exported: a head apart from its embedding, a buffer of frequencies.
nodes = [("Gather", ["transformer.wte.weight", "ids"], ["e"]), ("Mul", ["e", "transformer.rotary.inv_freq"], ["r"]),
         ("MatMul", ["r", "transformer.h.0.fc.weight"], ["h"]), ("Add", ["h", "transformer.h.0.fc.bias"], ["b"]),
         ("Mul", ["b", "transformer.ln_f.weight"], ["n"]), ("Transpose", ["lm_head.weight"], ["head"], {"perm": [1, 0]}),
         ("MatMul", ["n", "head"], ["logits"])]
buffer = array([1, 0.5, 0.25, 0.125])
zeros = {name: 0 * value for name, value in made.items()} | {"lm_head.weight": numpy.zeros((5, 4), numpy.float32)}
case = Small(folder / "case", nodes, zeros | {"transformer.rotary.inv_freq": buffer}, {"ids": numpy.zeros((2, 3), numpy.int64)},
             {"logits": [2, 3, 5]})
# A file of its kind says which tensor is a buffer.
import onnx  # noqa: E402
model = onnx.load(case.model)
for name, kind in [(name, "PARAMETER") for name in zeros] + [("transformer.rotary.inv_freq", "BUFFER")]:
    info = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
    info.metadata_props.add(key="pkg.torch.export.graph_signature.InputSpec.kind", value=kind)
    model.graph.value_info.append(info)
onnx.save(model, case.model)
case.trains = []
program = case.compile("program", "--loss", "cross-entropy")
tied = made | {"lm_head.weight": made["transformer.wte.weight"]}


def starts(weights, expected, *notes, options=()):
    """What the program holds before its first step."""
    out = case.folder / "held.safetensors"
    text = words(program, "--steps", "0", "--weights", weights, "--export-safetensors", out, *options)
    expect(text, *notes)
    held = tensors(out)
    for name, value in expected.items():
        assert numpy.array_equal(held[name], value), (name, held[name], value)
    assert numpy.array_equal(held["transformer.rotary.inv_freq"], buffer)
    return text


TIED = "kedge: note: {}: 'lm_head.weight' is not in the file: it takes '{}', to which such models tie it"
BUFFER = "1 buffers that the file lacks come from the model: 'transformer.rotary.inv_freq'"
# One file, the tied head left out, buffers left out; another one that the program lacks.
path = write(folder / "one.safetensors", made | {"transformer.h.0.attn.masked_bias": array([-1e4])})
starts(path, tied, TIED.format(path, "transformer.wte.weight"), BUFFER,
       "1 of the file's tensors are none of the program's: 'transformer.h.0.attn.masked_bias'")
# The other way round: the embedding was left out.
path = write(folder / "head.safetensors", {("lm_head.weight" if "wte" in name else name): value for name, value in made.items()})
starts(path, tied, f"{path}: 'transformer.wte.weight' is not in the file: it takes 'lm_head.weight'")
# Shards, by their folder and by the index; a folder with one file.
starts(shards(folder / "sharded", made), tied)
starts(folder / "sharded" / "model.safetensors.index.json", tied)
for kept in ("model-00002-of-00002.safetensors", "model.safetensors.index.json"):
    expect(words(program, "--steps", "0", "--weights", folder / "sharded", "--export-safetensors", folder / "sharded" / kept, code=1),
           "would overwrite --weights", "which this run reads")
write(folder / "plain" / "model.safetensors", made)
starts(folder / "plain", tied)
# A base model's file lacks the prefix; one of a larger model has more of it.
bare = {name.removeprefix("transformer."): value for name, value in made.items()}
text = starts(write(folder / "bare.safetensors", bare), tied, "4 names of the program are the file's without 'transformer.' in front")
assert text.count("in front") == 1, text
more = {"model." + name: value for name, value in made.items()}
text = starts(write(folder / "more.safetensors", more), tied, "4 names of the program are the file's with 'model.' in front")
assert text.count("in front") == 1, text
# 16 bits widen.
half = {name: value.astype(numpy.float16).astype(numpy.float32) for name, value in tied.items()}
starts(write(folder / "half.safetensors", made, "F16"), half)
brain = {name: (bf16(value).astype(numpy.uint32) << 16).view(numpy.float32) for name, value in tied.items()}
starts(write(folder / "brain.safetensors", made, "BF16"), brain)
# What is missing is named, and kept only when that was asked for.
part = {name: value for name, value in made.items() if "fc" not in name}
path = write(folder / "part.safetensors", part)
text = words(program, "--steps", "0", "--weights", path, code=1)
expect(text, f"kedge: error: {path}: has no tensor 'transformer.h.0.fc.weight', 'transformer.h.0.fc.bias'", "--weights-partial")
assert "--init" not in text, text
starts(path, {name: value for name, value in tied.items() if name in part} | {"transformer.h.0.fc.bias": numpy.zeros(4, numpy.float32)},
       "2 of the program's parameters keep their initial values (--weights-partial): 'transformer.h.0.fc.weight', "
       "'transformer.h.0.fc.bias'", options=["--weights-partial"])
# Which of two is meant cannot be told; folders and indexes that are not whole.
twice = {f"{side}.{name}": value for side in ("encoder", "decoder") for name, value in made.items()}
expect(words(program, "--steps", "0", "--weights", write(folder / "twice.safetensors", twice), code=1),
       "4 tensors fit the program's names after 'decoder.', and as many after 'encoder.': which of them is meant cannot be told")
lost = "model-00002-of-00002.safetensors"
expect(words(program, "--steps", "0", "--weights", shards(folder / "lost", made, lost), code=1), f"its shard '{lost}' is missing: fetch all")
(folder / "torch").mkdir(exist_ok=True)
(folder / "torch" / "pytorch_model.bin").write_bytes(b"")
expect(words(program, "--steps", "0", "--weights", folder / "torch", code=1),
       "expected model.safetensors or model.safetensors.index.json in this folder; 'pytorch_model.bin' is PyTorch's own format")
(folder / "empty.index.json").write_text('{"weight_map": {}}')
expect(words(program, "--steps", "0", "--weights", folder / "empty.index.json", code=1), "whose 'weight_map' names the file of each tensor")
(folder / "away.index.json").write_text('{"weight_map": {"a": "../model.safetensors"}}')
expect(words(program, "--steps", "0", "--weights", folder / "away.index.json", code=1), "expected the name of a file in the index's folder")
index = json.loads((folder / "sharded" / "model.safetensors.index.json").read_text())
index["weight_map"]["gone"] = lost
(folder / "sharded" / "model.safetensors.index.json").write_text(json.dumps(index))
expect(words(program, "--steps", "0", "--weights", folder / "sharded", code=1), "has no tensor 'gone', which")
wrong = made | {"transformer.ln_f.weight": array([1, 2])}
expect(words(program, "--steps", "0", "--weights", write(folder / "wrong.safetensors", wrong), code=1),
       "tensor 'transformer.ln_f.weight' is f32[2], the program takes f32[4]")
for value, told in ((numpy.nan, "nan"), (-numpy.inf, "-inf")):
    sick = made | {"transformer.h.0.fc.bias": array([1, 2, value, value])}
    expect(words(program, "--steps", "0", "--weights", write(folder / "sick.safetensors", sick), code=1),
           f"before the first step the parameter 'transformer.h.0.fc.bias' is not finite ({told} at element 2)", "--freeze")
expect(words(program, "--steps", "0", "--weights-partial", code=1), "--weights-partial needs --weights")
expect(words(program, "--steps", "0", "--init", "lm_haed=zeros", code=1), "no parameter or buffer has such a name; near misses: 'lm_head.weight'")
print("weights came as Hugging Face writes them")
