#!/usr/bin/env python3
"""Trains the files of make.py for three steps and compares the first loss with onnxruntime's forward: run.py FILES OUT [NAME...] [--table FILE.md].

A row for each file goes to OUT/rows.json as it is made, so that a run that was stopped goes on; --table writes the table of docs from it. Right is a first
loss within 2e-5 (relative) of onnxruntime's, three finite losses, with one --shape for what reads tokens. Needs kedge in PATH, numpy, onnx, onnxruntime.
"""
import argparse
import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto

VOCABULARY = 200
SIZES = {"time": 3200, "audio_seq_len": 64, "audio_length": 7680, "encoder_sequence_len": 6, "codec_sequence_len": 4,
         "text_sequence_len": 12, "num_patches": 16, "height": 32, "width": 32, "mel_sequence_len": 200, "total_patches": 48, "num_images": 2, "num_image_tokens": 4, "num_feature_tokens": 4, "num_speech_tokens": 4, "num_quantizers": 16}
DTYPES = {TensorProto.FLOAT: "f4", TensorProto.INT64: "i8", TensorProto.INT32: "i4", TensorProto.BOOL: "?", TensorProto.FLOAT16: "f2"}


def size_of(dim, rows, tokens):
    if dim.HasField("dim_value"):
        return dim.dim_value
    parts = [part for part in dim.dim_param.split(" + ") if not part.startswith("past")]
    return sum(rows if part == "batch" else SIZES.get(part, tokens) for part in parts)


def shape_of(value, rows, tokens):
    return [size_of(dim, rows, tokens) for dim in value.type.tensor_type.shape.dim]


# Integers that shapes follow from: --value gives them. Two images of 4 x 4 and 4 x 8 patches; the places of 4 x 4 patches.
GRID = [[1, 4, 4], [1, 4, 8]]
PLACES = [[column, row] for row in range(4) for column in range(4)]
IMAGE_TOKEN = 250


def known(name, rows):
    if name.endswith("grid_thw"):
        return np.array(GRID, "i8")
    if name == "image_sizes":  # of one image, which is one crop beside the whole
        return np.array([[32, 32]], "i8")
    return np.array([PLACES] * rows, "i8") if name == "pixel_position_ids" else None


def data_of(value, rng, rows, tokens):
    """What onnxruntime is given: caches are empty or zeros, masks ones, positions count."""
    if (fixed := known(value.name, rows)) is not None:
        return fixed
    shape, kind = shape_of(value, rows, tokens), np.dtype(DTYPES[value.type.tensor_type.elem_type])
    name = value.name
    if name.startswith("past"):
        return np.zeros(shape, kind)
    if "position_ids" in name and kind.kind == "i" and len(shape) < 4 and "pixel" not in name:
        return np.broadcast_to(np.arange(shape[-1]), shape).astype(kind)
    if "mask" in name:
        return np.ones(shape, kind)
    if kind.kind == "f":
        return (rng.standard_normal(shape) * 0.5).astype(kind)
    return (rng.integers(0, VOCABULARY, shape) if "ids" in name and "type" not in name and len(shape) == 2 else np.zeros(shape)).astype(kind)


def has_default(name):
    return name.endswith("attention_mask") or name in ("position_ids", "token_type_ids") or name.startswith("past")


def output_of(model):
    """What the loss reads: the logits, or the first float output that is no cache."""
    outputs = [o for o in model.graph.output if not o.name.startswith("present") and o.type.tensor_type.elem_type in (TensorProto.FLOAT, 0)]
    named = [o.name for o in outputs if o.name == "logits"]
    return (named or [o.name for o in outputs] or [""])[0]


def loss_of(kind, y, labels):
    y = y.astype("f8")
    if kind == "mse":
        return float(((y - labels) ** 2).mean())
    shifted = y - y.max(-1, keepdims=True)
    log = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return float(-np.take_along_axis(log, labels[..., None], -1).mean())


PAGE = """# The architectures of mobius

<!-- written by scripts/sweep/mobius/run.py --table -->
`scripts/sweep/mobius/make.py` builds each architecture that `mobius-onnx` 0.1.0 registers, at tiny sizes with random weights, for the execution providers
default and cpu; the sizes are in its `sizes.py`, since mobius' own test configurations are not in its package. Grids of images and places of patches are given by `--value`. `run.py` trains each file for three
steps of SGD (rate 0.01, fp32), with `--shape input_ids=2x8` alone for what reads tokens; where onnxruntime does
not take that, with 1x8 (encoders whose mask of rows it reads as one of queries), 2x1 or 1x1 (a step of generation). "right": the first loss is within 2e-5 of the one that
onnxruntime's outputs have, and all three are finite. "onnxruntime cannot run it": at these sizes, so there is nothing to compare with; the file was not
compiled. [Files from hubs](guide/hub-files.md) says what the compiler does with them."""


class Refused(Exception):
    pass


def words_of(done):
    text = done.stdout + done.stderr
    codes = sorted(set(re.findall(r"error\[([a-z-]+)\]", text)))
    found = re.search(r"kedge: error: (.*(?:\n  .*)*)", text)
    message = re.sub(r"\S*\.onnx: ", "", found.group(1)) if found else text.strip()[-200:]
    return (", ".join(codes) + ": " if codes else "") + " ".join(message.split())[:260]


def run(*words, timeout=300):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=timeout)
    if done.returncode:
        raise Refused(words_of(done))
    return done.stdout + done.stderr


def forward(path, output, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run([output], feeds)[0]


def judge(path, out):
    """Two rows of eight tokens, or as many as the model takes: one row, where a mask of [rows, tokens] is a mask of [queries, keys]; one token, where it is a step of
    generation."""
    out.mkdir(parents=True, exist_ok=True)
    model = onnx.load(path)
    output = output_of(model)
    if not output:
        return "no output of floats", {}
    for rows, tokens in ((2, 8), (1, 8), (2, 1), (1, 1)):
        rng = np.random.default_rng(3)
        feeds = {value.name: data_of(value, rng, rows, tokens) for value in model.graph.input}
        if "input_ids" in feeds and "grid_thw" in feeds:  # as many tokens as there are merged patches
            feeds["input_ids"].reshape(-1)[:SIZES["total_patches"] // 4] = IMAGE_TOKEN
        try:
            y = forward(path, output, feeds)
            break
        except Exception as error:  # in its words
            why = " ".join(str(error).split())[:260]
    else:
        return "onnxruntime cannot run it", {"why": why}
    kind = "cross-entropy" if output == "logits" and y.ndim in (2, 3) else "mse"
    labels = rng.integers(0, y.shape[-1], y.shape[:-1]) if kind == "cross-entropy" else rng.standard_normal(y.shape).astype("f4")
    expected = loss_of(kind, y, labels)
    given = {name: value for name, value in feeds.items() if not has_default(name) or not ("input_ids" in feeds or "inputs_embeds" in feeds)}
    shaped = ["input_ids"] if list(given) == ["input_ids"] else [name for name in given]
    values = {name: given.pop(name) for name in list(given) if known(name, rows) is not None}
    for name, value in {**given, "labels": labels}.items():
        np.save(out / f"{name}.npy", np.array(value, order="C"))
    log = out / "log.jsonl"
    shapes = [word for name in shaped if feeds[name].ndim for word in ("--shape", f"{name}={'x'.join(map(str, feeds[name].shape))}")]
    shapes += [word for name, value in values.items() for word in ("--value", f"{name}={','.join(map(str, value.flatten()))}")]
    words, mode = ["kedge", "compile", path, *shapes, "--logits", output, "--loss", kind, "--optimizer", "sgd", "-o", out / "program"], {}
    try:
        run(*words)
    except Refused as refused:
        if not str(refused).startswith("frozen-batchnorm"):
            raise
        mode = {"why": "frozen-batchnorm: with --train-mode=off, which the message names"}
        run(*words, "--train-mode=off")
    run(out / "program", "--steps", 3, "--lr", 1e-2, "--log", log, "--threads", 1, *[word for name in [*given, "labels"] for word in ("--data", f"{name}={out / name}.npy")])
    losses = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    facts = {"shape": f"{rows}x{tokens}", "onnxruntime": expected, "losses": losses, **mode}
    if None in losses or not np.isfinite([loss for loss in losses]).all() or not np.isfinite(expected):
        return "not finite", facts
    return ("right" if abs(losses[0] - expected) <= 2e-5 * max(1, abs(expected)) else "another loss"), facts


def machine():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "a processor without a name")


def build():
    return subprocess.run(["kedge", "--version"], capture_output=True, text=True).stdout.strip()


def made_on(rows):
    builds = {row.get("build") for row in rows.values()}
    return f"The last rows were made on {machine()}, {datetime.date.today()}; " + ("all rows are of one build." if len(builds) == 1 else "rows are not all of one build.")


def table(rows, made):
    """Of each architecture and provider, its parts' verdicts; then the reasons; then what mobius itself did not build."""
    built = {pathlib.Path(file).stem for entry in made.values() for file in entry.get("files", [])}
    rows = {name: row for name, row in rows.items() if name in built}
    named = {}
    for name, row in sorted(rows.items()):
        architecture, provider, part = re.match(r"(.*)-(default|cpu)-(.*)$", name).groups()
        named.setdefault(architecture, {}).setdefault(part, {})[provider] = row
    counts = {}
    for row in rows.values():
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    lines = [*PAGE.splitlines(), "", made_on(rows), "", "| verdict | files |", "|---|---|"]
    lines += [f"| {verdict} | {count} |" for verdict, count in sorted(counts.items(), key=lambda entry: -entry[1])]
    lines += ["", "| architecture | part | default | cpu | first loss, and after two steps |", "|---|---|---|---|---|"]
    for architecture, parts in named.items():
        for part, providers in parts.items():
            shown = [providers.get(provider, {}) for provider in ("default", "cpu")]
            losses = next((row["losses"] for row in shown if row.get("losses")), None)
            numbers = f"{losses[0]:.6g}, {losses[-1]:.6g}" if losses and None not in losses else ""
            lines.append(f"| {architecture} | {part} | {shown[0].get('verdict', '-')} | {shown[1].get('verdict', '-')} | {numbers} |")
    reasons = {}
    for name, row in rows.items():
        if row.get("why"):
            reasons.setdefault((row["verdict"], re.sub(r"/\S+/", "", re.sub(r"'[^']*'", "'...'", row["why"]))[:200]), []).append(name)
    lines += ["", "| why not | files | first of them |", "|---|---|---|"]
    for (verdict, why), names in sorted(reasons.items(), key=lambda entry: -len(entry[1])):
        lines.append(f"| {verdict}: {why.replace('|', '/')} | {len(names)} | {names[0]} |")
    unmade = sorted({name.rsplit("-", 1)[0] for name, entry in made.items() if "refused" in entry})
    lines += ["", f"Not built by mobius at these sizes: {', '.join(unmade) or 'none'}."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--again", action="store_true", help="files that have a row already, too")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    kept = args.out / "rows.json"
    rows = json.loads(kept.read_text()) if kept.exists() else {}
    same, by = {}, build()
    for path in sorted(args.files.glob("*.onnx"), key=lambda path: path.name.replace("-default-", "-0-")):
        if args.names and not any(path.stem.startswith(name + "-") or path.stem == name for name in args.names):
            continue
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        first = same.setdefault(digest, path.stem)
        if path.stem in rows and not args.again:
            continue
        try:
            verdict, facts = (rows[first]["verdict"], rows[first]) if first != path.stem and first in rows else judge(path, args.out / "work")
        except Refused as refused:
            verdict, facts = "refused", {"why": str(refused)}
        except Exception as error:  # a row of its own
            verdict, facts = "failed", {"why": f"{type(error).__name__}: {error}"[:260]}
        rows[path.stem] = {**facts, "verdict": verdict, "build": by}
        print(f"{path.stem}: {verdict} {facts.get('why', '')} {facts.get('losses', '')} {facts.get('onnxruntime', '')}", flush=True)
        kept.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")
    if args.table:
        args.table.write_text(table(rows, json.loads((args.files / "made.json").read_text())))


if __name__ == "__main__":
    sys.exit(main())
