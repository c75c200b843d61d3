#!/usr/bin/env python3
"""A GPT-2 as it is exported, cut by hand as Megatron cuts it: gpt2.py GPT2 TEMP. Two ranks have the losses and norms of one, with the
collectives that everyone knows; --shard names the same dimensions."""
import json
import pathlib
import re
import sys

import onnx

sys.path.insert(0, str(pathlib.Path(__file__).parent / "Inputs"))
from annotate import configuration, cut  # noqa: E402
from runs import succeed  # noqa: E402

OPTIONS = ["--shape", "input_ids=4x32", "--loss", "cross-entropy"]


def annotated(source, target):
    model = configuration(onnx.load(source))
    for node in model.graph.node:
        for name in node.input:
            if name.endswith("mlp.c_fc.weight"):
                cut(model, node.name, name, 1)
            if re.search(r"(mlp|attn)\.c_proj\.weight$", name):
                cut(model, node.name, name, 0)
            if name.endswith("attn.c_attn.weight"):
                cut(model, node.name, name, 1, (3, 1), (48, 2))
    onnx.save(model, target)
    onnx.checker.check_model(target)


def train(folder, temp, model, ranks, *words):
    program, log = temp / "program", temp / "log.jsonl"
    succeed("kedge", "compile", model, *OPTIONS, *words, "-o", program)
    log.unlink(missing_ok=True)
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", ranks] if ranks > 1 else []
    data = [word for name in ("input_ids", "labels") for word in ("--data", f"{name}={folder}/{name}.npy")]
    succeed(*mpirun, program, *data, "--steps", 4, "--threads", 1, "--log", log)
    return [(line["loss"], line["grad_norm"]) for line in map(json.loads, log.read_text().splitlines())]


def near(found, expected):
    for (loss, norm), (other, of) in zip(found, expected, strict=True):
        assert abs(loss - other) <= 1e-5 * other and abs(norm - of) <= 1e-4 * of, (found, expected)


def main():
    folder, temp = map(pathlib.Path, sys.argv[1:])
    temp.mkdir(parents=True, exist_ok=True)
    annotated(folder / "model.onnx", temp / "annotated.onnx")
    answer = json.loads(succeed("kedge", "shard", temp / "annotated.onnx", *OPTIONS, "--ranks", 2, "--explain", "--json").stdout)
    large = [(row["phase"], row["module"].split(".", 2)[2]) for row in answer["collectives"]
             if row["elements"] == 4 * 32 * 48 and row["collective"] == "reduce_scatter"]
    assert large == [("forward", f"h.{block}.{part}.c_proj") for block in (0, 1) for part in ("attn", "mlp")] + [
        ("backward", f"h.{block}.{part}") for block in (1, 0) for part in ("mlp.c_fc", "attn.c_attn")], large
    one = train(folder, temp, folder / "model.onnx", 1)
    near(train(folder, temp, temp / "annotated.onnx", 2, "--ranks", 2), one)
    near(train(folder, temp, folder / "model.onnx", 2, "--mesh", "tensor=2", "--shard", r"c_attn\.weight$=tensor:1",
               "--shard", r"c_proj\.weight$=tensor:0"), one)
    near(train(folder, temp, folder / "model.onnx", 3, "--mesh", "tensor=3", "--shard", r"mlp\.c_fc\.weight$=tensor:1"), one)
    print("annotated by hand: 8 sums of activations, losses and norms of one rank")


if __name__ == "__main__":
    main()
