#!/usr/bin/env python3
"""What a run does, along `tensor`, against one rank, each a check of its own: tensor_runs.py GOLDEN TEMP [--all] [CHECK...].

GOLDEN holds the golden models. `--all`: every optimizer and mesh; without it those that are cheap and differ in kind.
"""
import pathlib
import subprocess
import sys

from others import check_output, expect_near, tensors
from meshes import near
from stages import npy
from tensor import SGD, gpt

ADAPTERS = ["--lora", "qkv|proj|up|down", "--lora-rank", "4"]
IS_ALL = "--all" in sys.argv


def halves(golden, temp):
    (temp / "halves").mkdir()
    return gpt(golden, temp / "halves", 2)


def takes_any_optimizer(golden, temp):
    """Adafactor's factors, Lion's signs and Muon's matrices are those of whole tensors, on uneven parts, too."""
    cases = {"adafactor": ["--lr", "0.01"], "lion": ["--lr", "0.0003"], "rmsprop": ["--lr", "0.001"], "adagrad": ["--lr", "0.01"]}
    if IS_ALL:
        cases |= {name: ["--lr", "0.001"] for name in ("adamw", "adam", "muon", "adamw8bit", "adam8bit")}
        cases["sgd"] = SGD[2:]
    model = gpt(golden, temp)
    for name, options in cases.items():
        for mesh in ("tensor=2", "tensor=3", "tensor=4") if IS_ALL else ("tensor=3",):
            loose = {"loss": 1e-4, "norm": 1e-3} if name == "muon" else {}
            model.agrees(mesh, "--optimizer", name, *options, "--clip-norm", "0.5", weight=None, **loose)
            print(f"  {name} {mesh}: as one rank", flush=True)


def evaluates(golden, temp):
    """Loss and metrics of rows that are no whole batch, predictions, the best checkpoint."""
    meshes = {"": gpt(golden, temp), "tensor=2": gpt(golden, temp), "tensor=3": gpt(golden, temp), "data=2,tensor=2": halves(golden, temp)}
    data = [word for name, file in meshes[""].data.items() for word in ("--eval-data", f"{name}={file}")]
    found = {}
    for mesh, model in meshes.items():
        output = temp / f"logits-{mesh}.npy"
        model.run(mesh, *SGD, more=[*data, "--eval-every", "2", "--metric", "accuracy,top5,perplexity,f1", "--predict", f"logits={output}",
                                    "--keep-best", "loss", "--checkpoint-dir", temp / f"ck-{mesh}"])
        found[mesh] = model.evaluations(), npy(output)
        assert (temp / f"ck-{mesh}" / "best").exists(), mesh
    for mesh, (lines, logits) in found.items():
        for own, one in zip(lines, found[""][0], strict=True):
            assert own.keys() == one.keys() and all(abs(own[key] - value) <= 1e-4 * abs(value) for key, value in one.items()), (mesh, own, one)
        for own, one in zip(logits, found[""][1], strict=True):
            assert abs(own - one) <= 1e-4 * max(1, abs(one)), (mesh, own, one)


def goes_on_on_other_meshes(golden, temp):
    """A checkpoint of tensor=2 with AdamW's moments goes on on data=2, tensor=4, tensor=3 and one rank, and theirs on tensor=2; gradients
    that are written are whole."""
    whole, half = gpt(golden, temp), halves(golden, temp)
    meshes = {"": whole, "tensor=2": whole, "tensor=3": whole, "tensor=4": whole, "data=2": half}
    options = ["--optimizer", "adamw", "--lr", "0.003"]
    log, weights = whole.run("", *options, more=["--dump-gradients", temp / "gradients", "--dump-step", 4])
    for mesh in meshes if IS_ALL else ("tensor=2", "data=2", "tensor=3"):
        meshes[mesh].run(mesh, *options, more=["--checkpoint-dir", temp / f"ck-{mesh}"], steps=3)
        for other in meshes if IS_ALL or mesh == "tensor=2" else ["tensor=2"]:
            found, own = meshes[other].run(other, *options, more=["--resume", temp / f"ck-{mesh}", "--dump-gradients", temp / "own",
                                                                  "--dump-step", 4])
            near(found, log[3:])
            expect_near(own, weights, 1e-3)  # AdamW amplifies what is next to nothing
            expect_near(tensors(temp / "own"), tensors(temp / "gradients"), 1e-5)


def exports_wholes(golden, temp):
    """The ONNX file of tensor=3 has whole tensors, and trains on."""
    model = gpt(golden, temp)
    model.run("", *SGD, more=["--export-onnx", temp / "one.onnx"])
    model.run("tensor=3", *SGD, more=["--export-onnx", temp / "cut.onnx"])
    logs = []
    for name in ("one", "cut"):
        check_output("kedge", "compile", temp / f"{name}.onnx", *model.options, *SGD, "-o", temp / "again")
        again = gpt(golden, temp)
        again.programs[("", *SGD)] = temp / "again"
        logs.append(again.run("", *SGD)[0])
    near(logs[1], logs[0])


def adapts_on_uneven_parts(golden, temp):
    """LoRA, and QLoRA with the frozen weights in four bits; adapters that are exported are whole."""
    model = gpt(golden, temp)
    for more in ([], ["--quantize", "(up|down|qkv).weight=nf4", "--double-quantize"]):
        log, _ = model.run("", *SGD, *ADAPTERS, *more, more=["--export-adapter", temp / "one"])
        for mesh in ("tensor=2", "tensor=3"):
            found, _ = model.run(mesh, *SGD, *ADAPTERS, *more, more=["--export-adapter", temp / "cut"])
            near(found, log)
            files = [tensors(temp / name / "adapter_model.safetensors") for name in ("cut", "one")]
            expect_near(*files)


CHECKS = [takes_any_optimizer, evaluates, goes_on_on_other_meshes, exports_wholes, adapts_on_uneven_parts]


def main():
    golden, temp, *wanted = [word for word in sys.argv[1:] if word != "--all"]
    for check in CHECKS:
        if not wanted or check.__name__ in wanted:
            work = pathlib.Path(temp) / check.__name__
            subprocess.run(["rm", "-rf", work], check=True)
            work.mkdir(parents=True)
            check(pathlib.Path(golden), work)
            print(f"{check.__name__}: as it should be", flush=True)


if __name__ == "__main__":
    main()
