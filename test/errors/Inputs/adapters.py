"""Adapters and weights in few bits that do not fit: adapters.py FOLDER. Needs numpy and onnx."""
import json
import pathlib
import shutil
import sys

import numpy
from cases import Small, array, expect, words

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "golden"))
from quantised_files import NF4, state, write  # noqa: E402

folder = pathlib.Path(sys.argv[1])
shutil.rmtree(folder, ignore_errors=True)
generator = numpy.random.default_rng(3)
weights = {"fc.weight": generator.normal(size=(8, 16)).astype(numpy.float32)}
small = Small(folder / "model", [("Gemm", ["x", "fc.weight"], ["y"], {"transB": 1})], weights, {"x": array(numpy.ones((2, 16)))}, {"y": [2, 8]})
LORA = ("--loss", "mse", "--lora", "fc", "--lora-rank", "2")
A, B = "base_model.model.fc.lora_A.weight", "base_model.model.fc.lora_B.weight"


def compiled(*options, expected=None):
    """Of the small model; `expected`: a piece of the error."""
    out = folder / "program"
    out.unlink(missing_ok=True)
    text = words("kedge", "compile", small.model, *options, "-o", out, code=1 if expected else 0)
    if expected:
        expect(text, "kedge: error: ", expected)
    return out


program = compiled(*LORA).rename(folder / "lora")
plain = compiled("--loss", "mse").rename(folder / "plain")
words(program, "--steps", "0", "--export-adapter", folder / "good", code=0)
config = json.loads((folder / "good/adapter_config.json").read_text())
good = {A: numpy.ones((2, 16), numpy.float32), B: numpy.ones((8, 2), numpy.float32)}


def refused(run, *pieces):
    expect(words(*run, "--steps", "0", code=1), "kedge: error: ", *pieces)


def adapter(tensors=good, **settings):
    path = folder / "adapter"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    (path / "adapter_config.json").write_text(json.dumps(config | settings))
    write(path / "adapter_model.safetensors", tensors)
    return path


def without(name, **more):
    return {key: value for key, value in (good | more).items() if key != name}


for option in ("--adapter", "--export-adapter", "--export-onnx-adapters"):
    refused((plain, option, folder / "good"), f"{option} ", "the program has no adapters: compile it with --lora REGEX or --adapter DIR")
(folder / "file").write_text("")
refused((program, "--export-adapter", folder / "file"), "--export-adapter ", "expected a folder, found a file")
refused((program, "--export-adapter", folder / "file/in"), "--export-adapter ", "file")
compiled("--loss", "mse", "--lora", "fc", "--adapter", folder / "good", expected="the folder says which weights have adapters; give one of them")
compiled("--loss", "mse", "--double-quantize", expected="--double-quantize needs --quantize REGEX=nf4|fp4")
compiled("--loss", "mse", "--lora-alpha", "4", expected="--lora-alpha needs --lora REGEX, whose adapters it describes")
compiled("--loss", "mse", "--adapter", folder / "good", "--lora-alpha", "4", expected="; leave it out: ")
compiled("--loss", "mse", "--quantize", "fc=nf4", expected="trains, and quantised weights cannot; freeze it")
print("what was given beside adapters was refused")

QAT = ("--loss", "mse", "--qat", "fc=int8")
for other, text in {("--precision", "fp8"): "--precision fp8", ("--lora", "fc"): "adapters (--lora, --adapter)", ("--same-bits", "4"): "--same-bits",
                    ("--quantize", "fc=nf4"): "--quantize", ("--mesh", "tensor=2"): "the axis 'tensor' of a mesh",
                    ("--accumulate", "2", "--batchnorm", "exact"): "--batchnorm exact"}.items():
    compiled(*QAT, *other, expected=f"--qat with {text} is not available yet")
compiled("--loss", "mse", "--qat-observe", "3", expected="--qat-observe needs --qat REGEX=int8|uint8|int4, which it describes")
compiled(*QAT, "--qat-block", "8", expected="--qat-block would have no effect: give --qat-scales block with it")
compiled(*QAT, "--qat-activations", "none", "--qat-freeze", "3", expected="--qat-freeze would have no effect")
compiled(*QAT, "--qat-activations", "none", "--qat-sums", expected="--qat-sums would have no effect")
compiled(*QAT, "--qat-learned", "--qat-freeze", "3", expected="--qat-freeze cannot be given with --qat-learned")
compiled(*QAT, "--qat-learned", "--qat-sums", expected="--qat-learned with --qat-sums is not available yet")
compiled(*QAT, "--qat-form", "matmulnbits", expected="--qat-form matmulnbits needs --qat-scales block")
compiled("--qat-learned", expected="--qat-learned needs --qat REGEX")
rounding = compiled(*QAT).rename(folder / "rounding")
refused((rounding, "--export-quantized"), "--export-quantized needs --export-onnx FILE")
refused((rounding, "--export-quantized", "--export-training-mode", "--export-onnx", folder / "q.onnx"), "integers do not train")
refused((rounding, "--export-quantized", "--export-onnx", folder / "q.onnx"), "'fc.input_min' has seen nothing but zeros: train for a step first")
refused((plain, "--export-quantized", "--export-onnx", folder / "q.onnx"), "rounds nothing to integers: compile it with --qat")
print("what does not fit to training for integers was refused")

refused((program, "--adapter", folder / "missing"), "missing/adapter_config.json")
shutil.copytree(folder / "good", folder / "bare")
(folder / "bare/adapter_model.safetensors").unlink()
refused((program, "--adapter", folder / "bare"), "bare/adapter_model.safetensors")
for text, piece in (("[]", "expected a JSON object"), ("{", "damaged: "), ("{}", "'peft_type' is missing, expected \"LORA\"")):
    (folder / "bare/adapter_config.json").write_text(text)
    refused((program, "--adapter", folder / "bare"), "bare/adapter_config.json: ", piece)
cut = adapter()
(cut / "adapter_model.safetensors").write_bytes((cut / "adapter_model.safetensors").read_bytes()[:-4])
refused((program, "--adapter", cut), "adapter_model.safetensors: ")
wide = {A: numpy.ones((2, 17), numpy.float32), B: good[B]}
other = {name.replace(".fc.", ".other."): value for name, value in good.items()}
for tensors, settings, piece in ((without(A), {}, f"has no tensor '{A}'"), (without(B), {}, f"has no tensor '{B}'"),
                                 (without("", lm_head=good[A]), {}, "tensor 'lm_head' does not begin with 'base_model.model.'"),
                                 (without("", **{"base_model.model.fc.lora_embedding_A": good[A]}), {}, "has no tensor 'base_model.model.fc.lora_embedding_B'"),
                                 ({"base_model.model.fc.bias": good[A]}, {}, "holds no adapter"),
                                 (good, {"r": 3}, "has rank 2, 'adapter_config.json' says 3"), (good, {"r": "two"}, "has rank 2, 'adapter_config.json' says \"two\""),
                                 (good, {"rank_pattern": {"fc": 2.5}}, "has rank 2, 'adapter_config.json' says 2.5"),
                                 (good, {"use_rslora": "x"}, "adapter_config.json: damaged: "),
                                 (good, {"lora_dropout": 1}, "'lora_dropout' is 1, expected a number from 0 to below 1"),
                                 (good, {"lora_dropout": "0.1"}, "'lora_dropout' is \"0.1\", expected a number"),
                                 (good, {"alpha_pattern": {"fc": 1e300}}, "'lora_alpha' of 'fc' is 1e+300: expected a number that float32 holds"),
                                 (good, {"rank_pattern": {"(": 2}}, "a pattern is no regular expression"),
                                 (good, {"use_dora": True}, "has no tensor 'base_model.model.fc.lora_magnitude_vector'"),
                                 (without("", **{"base_model.model.fc.lora_magnitude_vector": good[A][:, 0]}), {}, "is a magnitude, and 'use_dora' of"),
                                 (good, {"use_qalora": True}, "'use_qalora' is true, which is not available"),
                                 (good, {"lora_alpha": 64}, "scales 'fc' by 32, the program by 4: compile it with --adapter"),
                                 (other, {}, "adapts 'other', which this program does not: compile it with --adapter"),
                                 (wide, {}, f"tensor '{A}' is f32[2, 17], the program takes f32[2, 16]: it is an adapter of another model")):
    refused((program, "--adapter", adapter(tensors, **settings)), piece)
deep = {key.replace(".fc.", ".m.h.1.fc."): value for key, value in good.items()}
refused((program, "--adapter", adapter(deep, layers_to_transform=[0])), "is of a layer that 'layers_to_transform' of adapter_config.json ([0]) leaves out")
refused((program, "--adapter", adapter(deep, layers_to_transform=1)), "adapts 'm.h.1.fc', which this program does not")
two = Small(folder / "two", [("Gemm", ["x", "fc.weight"], ["h"], {"transB": 1}), ("Gemm", ["h", "out.weight"], ["y"], {"transB": 1})],
            weights | {"out.weight": generator.normal(size=(4, 8)).astype(numpy.float32)}, {"x": array(numpy.ones((2, 16)))}, {"y": [2, 4]})
half = adapter(good, target_modules=["fc", "out"])
for target, code, piece in ((["fc", "out"], 1, "has 'out', but 'out.weight' has no tensors of that adapter"), (["fc", "gate"], 0, "")):
    half = adapter(good, target_modules=target)
    expect(words("kedge", "compile", two.model, "--loss", "mse", "--adapter", half, "-o", folder / "program", code=code), piece)
print("folders that are damaged, or of another model, were refused")

compiled(*LORA, "--ia3", "fc", expected="--ia3 with --lora is not available yet")
compiled("--loss", "mse", "--ia3", "fc", "--train-tokens", "fc=1", expected="--ia3 with --train-tokens is not available yet")
compiled("--loss", "mse", "--ia3-inputs", "fc", expected="--ia3-inputs needs --ia3 REGEX")
compiled("--loss", "mse", "--ia3", "fc", "--adapter", folder / "good", expected="the folder says what trains; give one of them")
compiled("--loss", "mse", "--train-tokens", "fc=1", expected="--train-tokens 'fc=1': no table that rows are looked up in has such a name")
compiled("--loss", "mse", "--train-tokens", "fc=1-x", expected="--train-tokens 'fc=1-x': expected REGEX=ROW,FIRST-LAST,... with rows from 0")
scaled = compiled("--loss", "mse", "--ia3", "fc").rename(folder / "ia3")
refused((scaled, "--export-onnx-adapters", folder / "a.onnx"), "not available yet for --lora-dora")
L = "base_model.model.fc.ia3_l"
for tensors, piece in (({L: numpy.ones((1, 16), numpy.float32)}, "scales inputs of 'fc', which this program does not"),
                       ({L: numpy.ones((9, 1), numpy.float32)}, f"tensor '{L}' is f32[9, 1], the program takes f32[8, 1]"),
                       ({L: numpy.ones((1, 8, 1, 1), numpy.float32)}, "scales are not available yet but for linear modules")):
    refused((scaled, "--adapter", adapter(tensors, peft_type="IA3")), piece)
rows = Small(folder / "rows", [("Gather", ["embed.weight", "x"], ["h"], {"axis": 0}), ("MatMul", ["h", "out.weight"], ["y"])],
             {"embed.weight": generator.normal(size=(9, 4)).astype(numpy.float32), "out.weight": generator.normal(size=(4, 4)).astype(numpy.float32)},
             {"x": array(numpy.ones(2), numpy.int64)}, {"y": [2, 4]})
TOKENS = ("kedge", "compile", rows.model, "--loss", "mse", "-o", folder / "program")
words(*TOKENS, "--train-tokens", "embed=2,5", code=0)
token = folder / "tokens"
(folder / "program").rename(token)
delta = {"base_model.model.embed.trainable_tokens_delta": numpy.ones((2, 4), numpy.float32)}
refused((token, "--adapter", adapter(delta, peft_type="TRAINABLE_TOKENS", token_indices=[2, 6])), "has rows of 'embed' that this program does not train")
words(*TOKENS, "--train-tokens", "embed=2,5", "--train", "out", code=0)
refused((folder / "program", "--export-adapter", folder / "out"), "folders of trainable tokens hold nothing else, and 'out.weight' trains, too")
print("scales and rows that do not fit were refused")

name = next(iter(weights))
codes = numpy.zeros((64, 1), numpy.uint8)


def four_bits(shape=(8, 16), more={}, **changed):
    """A file with the weight in nf4; None takes a key out."""
    tensors = {name: codes, f"{name}.absmax": numpy.ones(2, numpy.float32)}
    state(tensors, name, shape, more)
    tensors |= {name + key: value for key, value in changed.items()}
    return write(folder / "few.safetensors", {key: value for key, value in tensors.items() if value is not None})


#: bitsandbytes' dynamic map: 0, 1 and seven decades of equal cells on both sides.
DYNAMIC = numpy.sort([0, 1] + [sign * 10.0 ** (decade - 6) * (0.1 + 0.9 * (cell + 0.5) / 2 ** decade)
                               for sign in (-1, 1) for decade in range(7) for cell in range(2 ** decade)]).astype(numpy.float32)


def nested(**changed):
    return {".absmax": numpy.zeros(2, numpy.uint8), ".nested_absmax": numpy.ones(1, numpy.float32), ".nested_quant_map": DYNAMIC} | changed


few = compiled(*LORA, "--quantize", "fc=nf4").rename(folder / "nf4")
words(few, "--steps", "0", "--weights", four_bits(), code=0)
doubled = {"nested_blocksize": 256, "nested_offset": 0.5}
for file, piece in (({"shape": (16, 8)}, "is quantised as [16, 8], the program takes [8, 16]: these are weights of another model"),
                    ({"shape": (0, 8)}, "has no elements"), ({"more": {"shape": "x"}}, "is damaged: "),
                    ({"more": doubled, **nested(**{".nested_absmax": None})}, f"'{name}.nested_absmax', which belongs to it, is missing"),
                    ({"more": doubled | {"nested_blocksize": 128}}, "has a nested_blocksize of 128, expected 256: quantise it again with that"),
                    ({"more": doubled, **nested(**{".nested_quant_map": numpy.zeros_like(DYNAMIC)})}, f"'{name}.nested_quant_map' has 0 for the code 0"),
                    ({".absmax": numpy.ones(2, numpy.uint8)}, f"'{name}.absmax' is u8[2], expected 2 elements of f32")):
    refused((few, "--weights", four_bits(**file)), "few.safetensors: ", piece)
eight = {name: numpy.zeros((8, 16, 1), numpy.int8), "fc.SCB": numpy.ones(8, numpy.float32)}
refused((few, "--weights", write(folder / "few.safetensors", eight)), "is [8, 16, 1], expected the codes of a matrix")

# The same file in two shards.
shards = folder / "shards"
index, first, second = shards / "model.safetensors.index.json", shards / "1.safetensors", shards / "2.safetensors"
parts = {name: codes}
state(parts, name, (8, 16))


def sharded(**moved):
    shutil.rmtree(shards, ignore_errors=True)
    shards.mkdir()
    write(first, parts)
    write(second, {f"{name}.absmax": numpy.ones(2, numpy.float32)})
    places = {key: first.name for key in parts} | {f"{name}.absmax": second.name} | moved
    index.write_text(json.dumps({"weight_map": places}))
    return few, "--weights", shards


words(*sharded(), "--steps", "0", code=0)
program = sharded()
second.unlink()
refused(program, f"{index}: its shard '2.safetensors' is missing: fetch all files of the model")
for shard, length, piece in ((first, -4, "is outside the file"), (second, 40, "truncated or no safetensors file: a header of ")):
    program = sharded()
    shard.write_bytes(shard.read_bytes()[:length])
    refused(program, f"{shard}: ", piece)
refused(sharded(**{"fc.bias": second.name}), f"{second}: has no tensor 'fc.bias', which {index} says is there: fetch both again")
refused(sharded(**{"fc.bias": "../2.safetensors"}), f"{index}: tensor 'fc.bias' is in \"../2.safetensors\", expected the name of a file")
print("quantised files that do not fit were refused")
