#!/usr/bin/env python3
"""Runs the commands of the page of examples, and gives the exported files the same rows in ONNX Runtime: examples.py OUT ROOT."""
import os
import pathlib
import re
import sys

import numpy
import onnxruntime

OUT, ROOT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(ROOT / "scripts/make"))
from guide_examples import BLOCK, commands, run  # noqa: E402


def printed():
    """What the page's evaluations print: one text each."""
    for name in ("examples", "scripts", "LICENSE"):
        (OUT / name).symlink_to(ROOT / name)
    os.environ["KEDGE_CPU_ISA"] = "avx2"
    found = []
    for block in BLOCK.finditer((ROOT / "docs/guide/examples.md").read_text()):
        for command in commands(block[2]):
            lines, code = run(command, OUT, 0)
            assert code == 0, f"{command}\n" + "\n".join(lines)
            if (OUT / "train-digits").exists() and any(line.startswith("eval") for line in lines):
                found += [" ".join(lines)] if lines[0].count("  ") == 0 else lines
    return found


def logits(model, inputs):
    session = onnxruntime.InferenceSession(str(OUT / model), providers=["CPUExecutionProvider"])
    return session.run(["logits"], {name: numpy.load(OUT / file) for name, file in inputs.items()})[0]


def log_likelihood(values, labels):
    values = values.astype(numpy.float64)
    every = values - numpy.logaddexp.reduce(values, axis=-1, keepdims=True)
    return numpy.take_along_axis(every, labels[..., None], -1)[..., 0]


def close(found, wanted, digits, what):
    assert abs(found - wanted) <= 0.6 * 10.0 ** -digits, f"{what}: ONNX Runtime has {found}, the program said {wanted}"


def number(text, name):
    return float(re.search(rf"{name} ([0-9.]+)", text)[1])


def classifier(model, inputs, labels, text, weights=None):
    values, wanted = logits(model, inputs), numpy.load(OUT / labels)
    weight = numpy.ones(len(wanted)) if weights is None else numpy.load(OUT / weights)[wanted]
    right = (values.argmax(1) == wanted).mean()
    close(right, number(text, "accuracy"), 4, model)
    close(-(weight * log_likelihood(values, wanted)).sum() / weight.sum(), number(text, "loss"), 4, model)
    print(f"{model}: {right:.4g} right, as the program says")
    return values.argmax(1), wanted


def bytes_model(text):
    tokens = numpy.load(OUT / "bytes/test.npy").astype(numpy.int64)
    rows = (len(tokens) - 1) // 64
    numpy.save(OUT / "rows.npy", tokens[:rows * 64].reshape(rows, 64))
    loss = -log_likelihood(logits("bytes.onnx", {"input_ids": "rows.npy"}), tokens[1:rows * 64 + 1].reshape(rows, 64)).mean()
    close(loss, number(text, "loss"), 4, "bytes.onnx")
    print(f"bytes.onnx: loss {loss:.4f}, as the program says")


def main():
    digits, plain, weighted, text, sentences = printed()
    classifier("digits.onnx", {"pixels": "digits/test-pixels.npy"}, "digits/test-labels.npy", digits)
    rare = {"pixels": "rare/test-pixels.npy"}
    without, labels = classifier("unweighted.onnx", rare, "rare/test-labels.npy", plain)
    found, _ = classifier("weighted.onnx", rare, "rare/test-labels.npy", weighted, "rare/weights.npy")
    bytes_model(text)
    classifier("sentences.onnx", {"input_ids": "sentences/test-ids.npy", "attention_mask": "sentences/test-mask.npy"},
               "sentences/test-labels.npy", sentences)
    sevens = [(guess[labels == 7] == 7).sum() for guess in (found, without)]
    assert sevens[0] > sevens[1], sevens
    print(f"weights help the rare class: {sevens[0]} of {(labels == 7).sum()} found, {sevens[1]} without")


main()
