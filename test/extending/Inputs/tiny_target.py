"""Programs on the third target beside those for the processor: tiny_target.py FOLDER BUILD."""
import json
import pathlib
import subprocess
import sys

FOLDER, BUILD = map(pathlib.Path, sys.argv[1:])
GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden"


def compiled(model, name, *options):
    """The same program twice: linked by kedge for the processor, and by hand with the tiny target."""
    words = ["kedge", "compile", model, *options]
    plain, tiny = FOLDER / f"{name}-cpu", FOLDER / f"{name}-tiny"
    subprocess.run([*words, "-o", plain], check=True, capture_output=True)
    subprocess.run([*words, "--emit", "obj", "-o", FOLDER / f"{name}.o"], check=True, capture_output=True)
    linked = [FOLDER / f"{name}.o", BUILD / "test/libkedge_tiny_target.a", BUILD / "runtime/libkedge_runtime.a"]
    subprocess.run(["c++", "-o", tiny, *linked, "-lpthread", "-ldl"], check=True)
    return plain, tiny


def run(program, *words, fails=False):
    log, weights = FOLDER / "log.jsonl", FOLDER / "weights.safetensors"
    done = subprocess.run([program, *words, "--log", log, "--export-safetensors", weights], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, (program, words, done.stderr)
    if fails:
        return done.stderr.strip().splitlines()[-1]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [{key: value for key, value in line.items() if "second" not in key and "bytes" not in key} for line in lines], weights.read_bytes()


def data_of(name, trace):
    return [word for key, file in trace["data"].items() for word in ("--data", f"{key}={GOLDEN / name / file}")]


def same(name, *options):
    trace = json.loads((GOLDEN / name / "trace.json").read_text())
    programs = compiled(GOLDEN / name / trace.get("model", "model.onnx"), name, *trace["compile"], *options)
    data = data_of(name, trace)
    evaluated = [word.replace("--data", "--eval-data") for word in data]
    (expected, weights), (found, ours) = (run(program, *data, *trace["run"], *evaluated, "--eval-every", "5") for program in programs)
    assert found == expected and ours == weights, (name, [pair for pair in zip(found, expected) if pair[0] != pair[1]][:2])
    count = len(json.loads(weights[8:8 + int.from_bytes(weights[:8], "little")]).keys() - {"__metadata__"})
    print(f"{name}: {len(found)} steps and {count} weights to the bit", flush=True)
    return programs, data


def checkpoints(programs, data):
    whole = run(programs[0], *data, "--steps", "8")
    for first, then in (programs, programs[::-1]):
        kept = FOLDER / f"from-{first.name}"
        run(first, *data, "--steps", "4", "--checkpoint-dir", kept)
        lines, weights = run(then, *data, "--steps", "8", "--checkpoint-dir", kept, "--resume")
        assert weights == whole[1] and lines == whole[0], (first, lines, whole[0])
    print("checkpoints: each goes on from the other's", flush=True)


def refused(data):
    model = [GOLDEN / "perceptron/model.onnx", "refused", "--shape", "input=8x10", "--loss", "mse", "--optimizer", "adam"]
    for name, options in (("offload", ["--offload", "optimizer"]), ("levels", ["--cpu", "x86-64-v3,x86-64-v4"])):
        print(f"{name}:", run(compiled(*model, *options)[1], *data, "--steps", "1", fails=True), flush=True)


perceptron, rows = same("perceptron")
same("convnet", "--accumulate", "2")
same("gpt")
checkpoints(perceptron, rows)
refused(rows)
