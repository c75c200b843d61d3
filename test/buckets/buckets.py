#!/usr/bin/env python3
"""Programs for rows of several lengths: buckets.py losses|resume|ranks|documents|masked GOLDEN OUT, buckets.py plan < PLAN.json"""
import json
import pathlib
import shutil
import subprocess
import sys

import numpy

LENGTHS, ROWS, LONGEST = (8, 16, 24), 90, 24
EQUAL = 1e-5


def rows(out, count=ROWS):
    """Rows of real lengths, most of them short, padded to the longest; a row's first token tells which it is."""
    random = numpy.random.default_rng(7)
    source = numpy.load(golden / "input_ids.npy")
    tokens = numpy.zeros((count, LONGEST), numpy.int64)
    labels = numpy.full((count, LONGEST), -100, numpy.int64)
    ends = []
    for row in range(count):
        end = int(random.choice((5, 7, 8, 12, 16, 20, 24), p=(.3, .2, .2, .1, .1, .05, .05)))
        tokens[row, :end] = source[row % len(source), :end]
        tokens[row, 0] = row % 60
        labels[row, :end] = numpy.roll(tokens[row], -1)[:end]
        labels[row, end - 1] = row % 7
        ends.append(end)
    numpy.save(out / "input_ids.npy", tokens)
    numpy.save(out / "labels.npy", labels)
    return numpy.array(ends)


def compiled(name, shape, *words):
    done = subprocess.run(["kedge", "compile", golden / "model.onnx", "--shape", shape, *words, "-o", out / name], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return name


def run(program, *words, steps, log="log.jsonl", ranks=1, data=True):
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks)] if ranks > 1 else []
    files = ["--data", f"input_ids={out}/input_ids.npy", "--data", f"labels={out}/labels.npy"] if data else []
    done = subprocess.run([*mpirun, out / program, *files, "--steps", str(steps), "--threads", "1", "--lr", "3e-3", "--log", out / log, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (out / log).read_text().splitlines()]


def farthest(a, b, key="loss"):
    assert len(a) == len(b)
    return max(abs(x[key] - y[key]) / abs(y[key]) for x, y in zip(a, b))


def padding(steps):
    """The share of padding over all steps of equal numbers of rows."""
    room = sum(step["length"] for step in steps)
    return sum(step["padding"] * step["length"] for step in steps) / room


def losses():
    ends = rows(out)
    buckets = compiled("buckets", "input_ids=4x{8,16,24}", "--clip-norm", "1")
    alone = compiled("alone", "input_ids=4x24", "--clip-norm", "1")
    evaluates = ["--eval-data", f"input_ids={out}/input_ids.npy", "--eval-data", f"labels={out}/labels.npy"]
    a = run(buckets, *evaluates, "--memory-report", out / "memory.json", steps=25)
    b = run(alone, *evaluates, steps=25)
    assert farthest(a, b) < EQUAL, farthest(a, b)
    assert farthest(a, b, "grad_norm") < 1e-4
    assert abs(a[-1]["eval_loss"] / b[-1]["eval_loss"] - 1) < EQUAL
    lengths = sorted({step["length"] for step in a})
    print(f"in order: {len(a)} losses of the longest alone, lengths {lengths}")
    for at, step in enumerate(a[:10]):  # what the rows say
        own = ends[[row % ROWS for row in range(4 * at, 4 * at + 4)]]
        assert step["length"] == min(length for length in LENGTHS if length >= own.max())
        assert abs(step["padding"] - (1 - own.sum() / (4 * step["length"]))) < 1e-12

    c = run(compiled("micro", "input_ids=4x{8,16,24}", "--accumulate", "3"), steps=10)
    d = run(compiled("micro-alone", "input_ids=4x24", "--accumulate", "3"), steps=10)
    assert farthest(c, d) < EQUAL and farthest(c, d, "grad_norm") < 1e-4, farthest(c, d)
    print(f"3 micro-batches: {len(c)} losses of the longest alone")

    shuffled = run(buckets, "--shuffle", "3", steps=45)
    print(f"shuffled: padding {padding(shuffled):.3f}, in order {padding(a):.3f}, at the longest alone {1 - ends.mean() / LONGEST:.3f}")
    assert padding(shuffled) < 0.5 * padding(a)
    # The order does not depend on the lengths that were compiled for; and it visits each row of an epoch once.
    other = run(compiled("other", "input_ids=4x{23,24}", "--clip-norm", "1"), "--shuffle", "3", steps=45)
    assert farthest(shuffled, other) < EQUAL, farthest(shuffled, other)
    filled = sum(4 * step["length"] * (1 - step["padding"]) for step in shuffled)
    assert round(filled) == 2 * ends.sum(), (filled, ends.sum())
    print("each row once in two epochs")
    report, plan = (json.loads(text) for text in ((out / "memory.json").read_text(), subprocess.run(
        ["kedge", "plan", golden / "model.onnx", "--shape", "input_ids=4x{8,16,24}", "--clip-norm", "1", "--json"], capture_output=True, text=True).stdout))
    assert report["arena_bytes"] == plan["arena_bytes"] == a[0]["memory_bytes"]
    assert sum(report["peak_breakdown"].values()) == report["arena_bytes"]
    print(f"arena: {plan['arena_bytes']} bytes planned and taken")


def numbers(steps):
    return [{key: value for key, value in step.items() if key not in ("seconds", "tokens_per_second", "samples_per_second", "memory_bytes")} for step in steps]


def resume():
    rows(out)
    buckets = compiled("buckets", "input_ids=4x{8,16,24}")
    whole = run(buckets, "--shuffle", "5", "--export-safetensors", out / "whole.safetensors", steps=30)
    kept = ["--checkpoint-dir", out / "kept"]
    run(buckets, "--shuffle", "5", *kept, steps=17, log="parts.jsonl")
    shutil.copytree(out / "kept", out / "other")
    parts = run(buckets, *kept, "--resume", "--export-safetensors", out / "parts.safetensors", steps=30, log="parts.jsonl")
    assert numbers(parts) == numbers(whole)
    assert (out / "parts.safetensors").read_bytes() == (out / "whole.safetensors").read_bytes()
    print(f"{len(parts)} equal steps, equal weights")
    # Half the rows, twice a step: the same rows in the same order.
    halves = run(compiled("halves", "input_ids=2x{8,16,24}", "--accumulate", "2"), "--checkpoint-dir", out / "other", "--resume", steps=30, log="halves.jsonl")
    assert farthest(halves, whole[17:]) < EQUAL, farthest(halves, whole[17:])
    print("other batches go on in the same order")


def ranks():
    rows(out)
    one = run(compiled("one", "input_ids=4x{8,16,24}"), "--shuffle", "2", steps=15)
    for stage in ("0", "2", "3"):
        two = run(compiled("two", "input_ids=2x{8,16,24}", "--ranks", "2", "--zero", stage), "--shuffle", "2", steps=15, ranks=2, log="two.jsonl")
        assert farthest(two, one) < EQUAL, farthest(two, one)
        assert [(step["length"], step["padding"]) for step in two] == [(step["length"], step["padding"]) for step in one]
        print(f"2 ranks, --zero {stage}: {len(two)} losses of one rank")


def documents():
    """A token file whose documents are rows: the losses of the same rows as files of their own, and of no document's prompt with --mask-prompt."""
    random = numpy.random.default_rng(3)
    sizes = [int(size) for size in random.choice((5, 8, 11, 16, 22, 24, 40), 50)]
    tokens = random.integers(0, 60, sum(sizes))
    begins = numpy.cumsum([0] + sizes)[:-1]
    answers = begins + 2
    numpy.save(out / "tokens.npy", tokens)
    numpy.save(out / "documents.npy", numpy.stack([begins, answers], axis=1))
    ids, following = [], []
    for begin, size in zip(begins, sizes):
        for at in range(begin, begin + size, LONGEST):
            end = min(at + LONGEST, begin + size)
            ids.append(numpy.pad(tokens[at:end], (0, LONGEST - (end - at))))
            row = [tokens[place + 1] if place + 1 < begin + size and place + 1 >= begin + 2 else -100 for place in range(at, end)]
            following.append(numpy.pad(numpy.array(row), (0, LONGEST - len(row)), constant_values=-100))
    numpy.save(out / "input_ids.npy", numpy.array(ids))
    numpy.save(out / "labels.npy", numpy.array(following))
    alone = run(compiled("alone", "input_ids=4x24"), steps=20)
    compiled("buckets", "input_ids=4x{8,16,24}")
    words = ["--tokens", out / "tokens.npy", "--documents", out / "documents.npy", "--mask-prompt"]
    same = run("buckets", *words, steps=20, data=False)
    assert farthest(same, alone) < EQUAL, farthest(same, alone)
    print(f"{len(ids)} rows of {len(sizes)} documents: {len(same)} losses of the same rows in files of their own")
    done = subprocess.run([out / "buckets", "--tokens", out / "tokens.npy", "--steps", "1"], capture_output=True, text=True)
    assert done.returncode == 1 and "give --documents, whose documents are rows of their own then" in done.stderr, done.stderr


def masked():
    """A model that sees all places: its mask tells where rows end."""
    random = numpy.random.default_rng(5)
    source = {name: numpy.load(golden / f"{name}.npy") for name in ("input_ids", "token_type_ids", "labels")}
    count, longest = source["input_ids"].shape
    ends = numpy.where(numpy.arange(count) // 4 % 2, random.integers(3, longest // 2 + 1, count), random.integers(3, longest + 1, count))
    mask = (numpy.arange(longest)[None, :] < ends[:, None]).astype(numpy.int64)
    for name, values in {**source, "attention_mask": mask}.items():
        numpy.save(out / f"{name}.npy", values)
    names = ("input_ids", "attention_mask", "token_type_ids")
    short = longest // 2
    words = {name: ["--data", f"{name}={out}/{name}.npy"] for name in ("attention_mask", "token_type_ids")}
    shapes = [[word for name in names for word in ("--shape", f"{name}=4x{sizes}")] for sizes in (f"{{{short},{longest}}}", str(longest))]
    runs = []
    for name, (first, *rest) in zip(("buckets", "alone"), ([shape for shape in each if shape != "--shape"] for each in shapes)):
        runs.append(run(compiled(name, first, *rest), *words["attention_mask"], *words["token_type_ids"], steps=25))
    assert farthest(*runs) < EQUAL, farthest(*runs)
    assert {step["length"] for step in runs[0]} == {short, longest}
    print(f"bert: {len(runs[0])} losses of the longest alone")
    done = subprocess.run([out / "buckets", "--data", f"input_ids={out}/input_ids.npy", f"labels={out}/labels.npy", "--steps", "1"], capture_output=True, text=True)
    assert done.returncode == 1 and "'attention_mask' says where a row ends: give --data attention_mask=FILE.npy" in done.stderr, done.stderr


def plan():
    report = json.load(sys.stdin)
    buckets = report["buckets"]
    assert [bucket["shapes"] for bucket in buckets] == [{"input_ids": [4, length]} for length in LENGTHS]
    assert [bucket["length"] for bucket in buckets] == [str(length) for length in LENGTHS]
    for key in ("arena_bytes", "peak_bytes", "step_seconds", "flops"):
        values = [bucket[key] for bucket in buckets]
        assert values == sorted(values) and values[0] < values[-1], (key, values)
    assert report["arena_bytes"] >= buckets[-1]["arena_bytes"]
    assert sum(report["peak_breakdown"].values()) == report["arena_bytes"]


if sys.argv[1] == "plan":
    plan()
else:
    golden, out = map(pathlib.Path, sys.argv[2:4])
    {"losses": losses, "resume": resume, "ranks": ranks, "documents": documents, "masked": masked}[sys.argv[1]]()
