"""families.py FOLDER [BYTES [TURNS]]: kedge tokens beside the package `tokenizers`, in turns; the least seconds of each, and the processor's."""
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
turns = int(sys.argv[3]) if len(sys.argv) > 3 else 1
subprocess.run([sys.executable, ROOT / "scripts/make/make_tokenizers.py", folder], check=True)
documents = [text for text in make_tokenizers.Text(3).documents(size) if text]
(folder / "text.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))


def seconds_of(run):
    """On the clock, of processors (this process and what it starts), and what was found."""
    begin, before = time.monotonic(), os.times()
    found = run()
    end, after = time.monotonic(), os.times()
    return end - begin, sum(after[:4]) - sum(before[:4]), found


def least(measured):
    return min(one[0] for one in measured), min(one[1] for one in measured)


slowest = 1e9
for name in make_tokenizers.FAMILIES:
    model, out, begins = (folder / f"{name}{end}" for end in (".json", ".npy", "-documents.npy"))
    command = ["kedge", "tokens", "--tokenizer", model, folder / "text.jsonl", "-o", out, "--documents", begins, "--threads", "2"]

    def theirs():
        tokenizer = Tokenizer.from_file(str(model))
        with open(folder / "text.jsonl") as lines:
            encoded = tokenizer.encode_batch([json.loads(line)["text"] for line in lines])
        return [one.ids for one in encoded]
    pairs = [(seconds_of(lambda: subprocess.run(command, check=True, capture_output=True)), seconds_of(theirs)) for _ in range(turns)]
    (ours, our_work), (their, their_work), expected = least([one for one, _ in pairs]), least([other for _, other in pairs]), pairs[0][1][2]
    found = numpy.split(numpy.load(out), numpy.load(begins)[1:])
    expected = [ids for ids in expected if ids]
    wrong = [at for at, (mine, other) in enumerate(zip(found, expected)) if mine.tolist() != other]
    assert len(found) == len(expected) and not wrong, (name, len(found), len(expected), wrong[:3])
    slowest = min(slowest, their / ours)
    print(f"{name}: {numpy.load(out).size} tokens equal; {ours:.2f} s, tokenizers {their:.2f} s: {their / ours:.2f} of its speed; "
          f"processors {our_work:.2f} and {their_work:.2f} s: {their_work / our_work:.2f}")
assert slowest > 0.7, slowest
print("never below 0.7 of its speed")
