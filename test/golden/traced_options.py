#!/usr/bin/env python3
"""What --tie, --freeze, --allow and exports make of files that TorchScript wrote: traced_options.py OUT."""
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent / "traced"
OUT = pathlib.Path(sys.argv[1])


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def lint(model, *options):
    result = run("kedge", "lint", HERE / model, "--json", *options)
    return json.loads(result.stdout) if result.returncode in (0, 2) else result.stderr


def codes(report, severity="error"):
    return sorted({f["code"] for f in report["findings"] if f["severity"] == severity})


def verdicts(report):
    return {i["name"]: i["verdict"] for i in report["initializers"]}


def expect(what, found, wanted):
    assert found == wanted, f"{what}: found {found}, expected {wanted}"


def ties():
    # Of five norms' weights that were merged two are tied on purpose: the others get tensors of their own.
    tied = verdicts(lint("clones.onnx", "--repair", "--tie", r"norm2\.weight"))
    expect("norms tied", [n for n in sorted(tied) if n.endswith(("norm1.weight", "norm2.weight"))],
           ["encoder.layers.0.norm1.weight", "encoder.layers.0.norm2.weight", "encoder.layers.1.norm1.weight"])
    expect("all tied", codes(lint("mlp.onnx", "--tie", "norm|2")), [])
    expect("all tied", codes(lint("mlp.onnx", "--tie", "norm|2"), "note"), ["tied-parameters"])
    expect("table tied without --repair", codes(lint("gpt2.onnx", "--tie", "wte|lm_head", "--allow", "merged-parameters")), [])
    for pattern, message in (("nothing", "matches no parameter that shares"), ("^2.weight", "matches '2.weight' alone"), ("(", "not a regular expression")):
        assert message in lint("mlp.onnx", "--tie", pattern), lint("mlp.onnx", "--tie", pattern)


def freezes():
    by_path = verdicts(lint("gpt2.onnx", "--freeze", r"attention\.query\.weight"))
    frozen = ["h.0.attention.query.weight_transposed", "h.1.attention.query.weight_transposed"]
    expect("frozen by path", sorted(n for n, v in by_path.items() if v == "frozen"), frozen)
    query = next(f["tensor"] for f in lint("gpt2.onnx")["findings"] if f["code"] == "renamed-parameter" and "h.0.attention.query" in f["reason"])
    for more, name in (((), frozen[0]), (("--repair",), "h.0.attention.query.weight")):
        expect("frozen by the file's name", [n for n, v in verdicts(lint("gpt2.onnx", "--freeze", query + "$", *more)).items() if v == "frozen"], [name])
    expect("all frozen", [f for f in lint("mlp.onnx", "--freeze", "norm|2")["findings"] if f["severity"] == "error"], [])
    expect("one of the merged frozen", codes(lint("mlp.onnx", "--freeze", "0.norm")), ["merged-parameters"])


def exports():
    words = ["--shape", "input_ids=4x8", "--loss", "cross-entropy"]
    data = [w for n in ("input_ids", "labels") for w in ("--data", f"{n}={HERE / f'gpt2-{n}.npy'}")]
    built = run("kedge", "compile", HERE / "gpt2.onnx", *words, "--repair", "-o", OUT / "first")
    assert built.returncode == 0, built.stderr
    trained = run(OUT / "first", *data, "--steps", 3, "--export-onnx", OUT / "trained.onnx", "--export-safetensors", OUT / "trained.safetensors")
    assert trained.returncode == 0, trained.stderr
    report = json.loads(run("kedge", "lint", OUT / "trained.onnx", "--json").stdout)
    expect("errors of the export", codes(report), [])
    original = json.loads((HERE / "gpt2.json").read_text())["norms"]
    expect("names of the export", sorted(set(original) - set(verdicts(report))), [])
    again = run("kedge", "compile", OUT / "trained.onnx", *words, "-o", OUT / "again")
    assert again.returncode == 0, again.stderr
    losses = []
    for program, options in ((OUT / "first", ["--weights", OUT / "trained.safetensors"]), (OUT / "again", [])):
        done = run(program, *data, "--steps", 5, *options, "--log", OUT / "log.jsonl")
        assert done.returncode == 0, done.stderr
        losses.append([json.loads(line)["loss"] for line in (OUT / "log.jsonl").read_text().splitlines()])
    assert all(abs(a - b) <= 1e-6 * b for a, b in zip(*losses)), losses


def computed():
    report = lint("gemma.onnx", "--repair")
    expect("scales of 1 + weight", [f["tensor"] for f in report["findings"] if f["code"] == "computed-parameter"], ["n.0.Mul_1", "n.1.Mul_1"])
    expect("scales of 1 + weight", [verdicts(report)[n] for n in ("n.0.Mul_1", "n.1.Mul_1")], ["parameter"] * 2)
    expect("a bias of logits", verdicts(report)["head.final_logits_bias"], "buffer")
    assert "buffer-by-name" in codes(report, "note"), codes(report, "note")
    # A layer that is called twice is one parameter, though it was folded twice.
    expect("called twice", [n for n in verdicts(lint("twice.onnx", "--repair")) if "MatMul" in n or "weight" in n], ["f.weight"])
    found = lint("repeated.onnx")["findings"]
    expect("merged beside a module that is called twice", sorted(f["reason"].split("'")[1] for f in found if f["severity"] == "error"),
           ["other.bias", "other.weight"])
    expect("called twice", sorted(verdicts(lint("repeated.onnx", "--repair"))),
           ["f.0.bias", "f.0.weight", "f.1.weight", "ln_1.bias", "ln_1.weight", "other.bias", "other.weight"])


def unfolded():
    # Without constant folding the head reads the table itself: told for people, too, not only in JSON.
    result = run("kedge", "lint", HERE / "unfolded.onnx")
    assert result.returncode == 2 and "'wte.weight' and 'lm_head.weight' train as one tensor" in result.stdout, result
    assert "wte.weight  is lm_head.weight, too  at /lm_head/Transpose" in result.stdout, result.stdout


ties()
unfolded()
freezes()
exports()
computed()
print("ties, frozen tensors and exports as asked")
