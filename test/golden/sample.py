"""sample.py MODEL TEXT FOLDER: --sample of a program."""
import pathlib
import subprocess
import sys

import numpy
import onnxruntime

model, text, folder = map(pathlib.Path, sys.argv[1:])
LENGTH, PROMPT, TOKENS = 16, "The software", 40
data, program, trained = folder / "text.bin", folder / "train", folder / "trained.onnx"


def run(*command, fails=False):
    ran = subprocess.run([word if isinstance(word, bytes) else str(word) for word in command], capture_output=True, text=True)
    assert (ran.returncode != 0) == fails, ran
    return ran.stderr if fails else ran.stdout


run("kedge", "tokens", "--tokenizer", "bytes", text, "-o", data)
run("kedge", "compile", model, "--shape", f"input_ids=2x{LENGTH}", "--loss", "cross-entropy", "-o", program)
sample = ("--sample", PROMPT, "--tokenizer", "bytes", "--sample-tokens", TOKENS)
said = run(program, "--tokens", data, "--steps", 8, "--lr", "3e-3", "--checkpoint-dir", folder / "ck", "--export-onnx", trained, *sample,
           "--temperature", 0)

session = onnxruntime.InferenceSession(str(trained))
tokens = list(PROMPT.encode())
for _ in range(TOKENS):
    window = tokens[-LENGTH:]
    row = window + [0] * (LENGTH - len(window))
    logits = session.run(None, {session.get_inputs()[0].name: numpy.array([row], numpy.int64)})[0]
    tokens.append(int(logits[0, len(window) - 1].argmax()))
expected = bytes(tokens).decode(errors="replace")
assert said == expected + "\n", (said, expected)
print(f"greedy: {TOKENS} tokens as onnxruntime chooses them")

again = (program, "--resume", folder / "ck", "--steps", 8, *sample)
greedy, one = run(*again, "--temperature", 0), run(*again, "--temperature", 2, "--top-k", 1)
hot = [run(*again, "--temperature", 2, "--seed", seed) for seed in (1, 1, 2)]
assert greedy == one == said and hot[0] == hot[1] != hot[2] and hot[0] != greedy
print("temperature: seeds decide, --top-k 1 is greedy")

words = folder / "words.json"
words.write_text('{"model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0, "b": 4000}}}')
MISTAKES = [
    (["--sample", "a"], "--sample needs --tokenizer FILE"),
    (["--tokenizer", "bytes"], "--tokenizer needs --sample TEXT"),
    (["--sample", "a", "--tokenizer", folder / "none.json"], "none.json"),
    (["--sample", "a", "--tokenizer", model], "is not a tokenizer.json"),
    (["--sample", "a", "--tokenizer", words], "has 4001 tokens, the model's output"),
    (["--sample", b"caf\xe9", "--tokenizer", "bytes"], "--sample caf\\xe9: is not UTF-8"),
    ([*sample, "--temperature", -1], "--temperature: expected a number from 0"),
]
for options, expected in MISTAKES:
    said = run(program, "--steps", 0, *options, fails=True)
    assert expected in said, (expected, said)
print(f"{len(MISTAKES)} mistakes, each with its error")
