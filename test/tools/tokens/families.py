"""families.py FOLDER [BYTES]: kedge tokens beside the package `tokenizers`."""
import json
import os
import pathlib
import subprocess
import sys
import time

os.environ["RAYON_NUM_THREADS"] = "2"  # of tokenizers
ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "scripts/make"))
import make_tokenizers

import numpy
from tokenizers import Tokenizer

folder = pathlib.Path(sys.argv[1])
size = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000_000
subprocess.run([sys.executable, ROOT / "scripts/make/make_tokenizers.py", folder], check=True)
documents = [text for text in make_tokenizers.Text(3).documents(size) if text]
(folder / "text.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))


def seconds_of(run):
    begin = time.monotonic()
    found = run()
    return time.monotonic() - begin, found


slowest = 1e9
for name in make_tokenizers.FAMILIES:
    model, out, begins = (folder / f"{name}{end}" for end in (".json", ".npy", "-documents.npy"))
    command = ["kedge", "tokens", "--tokenizer", model, folder / "text.jsonl", "-o", out, "--documents", begins, "--threads", "2"]
    ours, _ = seconds_of(lambda: subprocess.run(command, check=True, capture_output=True))

    def theirs():
        tokenizer = Tokenizer.from_file(str(model))
        with open(folder / "text.jsonl") as lines:
            encoded = tokenizer.encode_batch([json.loads(line)["text"] for line in lines])
        return [one.ids for one in encoded]
    their, expected = seconds_of(theirs)
    found = numpy.split(numpy.load(out), numpy.load(begins)[1:])
    expected = [ids for ids in expected if ids]
    wrong = [at for at, (mine, other) in enumerate(zip(found, expected)) if mine.tolist() != other]
    assert len(found) == len(expected) and not wrong, (name, len(found), len(expected), wrong[:3])
    slowest = min(slowest, their / ours)
    print(f"{name}: {numpy.load(out).size} tokens equal; {ours:.2f} s, tokenizers {their:.2f} s: {their / ours:.2f} of its speed")
assert slowest > 0.7, slowest
print("never below 0.7 of its speed")
