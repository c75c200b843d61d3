#!/usr/bin/env python3
"""What a program makes of data in the forms that people have them: data_forms.py OUT ROOT, where OUT/gpt is the golden GPT's program
(4 rows of 24 tokens below 64). Plain Python, as the suite's interpreter may lack numpy."""
import array
import json
import pathlib
import random
import struct
import subprocess
import sys

OUT, ROOT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(ROOT / "examples"))
import npy  # noqa: E402

LENGTH, IGNORED = 24, -100
random.seed(3)
TOKENS = [random.randrange(64) for _ in range(12 * LENGTH + 1)]
IDS, NEXT = TOKENS[:-1], TOKENS[1:]


def run(*words):
    return subprocess.run([str(OUT / "gpt"), *map(str, words)], capture_output=True, text=True, cwd=OUT)


def losses(*words, steps=3):
    done = run(*words, *(["--steps", steps] if steps else []), "--log", "log.jsonl")
    assert done.returncode == 0, (words, done.stderr)
    return [json.loads(line)["loss"] for line in (OUT / "log.jsonl").read_text().splitlines()], done.stderr


def refused(text, *words):
    done = run(*words, "--steps", 3)
    assert done.returncode == 1 and text in done.stderr and done.stderr.count("kedge: error") == 1, (words, text, done.stderr)


def rows(name, values, kind="<i8"):
    npy.save(OUT / name, kind, (len(values) // LENGTH, LENGTH), values)


def token_files():
    (OUT / "raw.bin").write_bytes(array.array("H", TOKENS).tobytes())
    for name, kind in (("i8.npy", "<i8"), ("i4.npy", "<i4")):
        npy.save(OUT / name, kind, (len(TOKENS),), TOKENS)
    wanted, _ = losses("--data", "input_ids=ids.npy", "labels=next.npy")
    for name in ("raw.bin", "i8.npy", "i4.npy"):
        assert losses("--tokens", name)[0] == wanted, name
    for kind, code in (("int32", "i"), ("int64", "q")):
        (OUT / f"{kind}.bin").write_bytes(array.array(code, TOKENS).tobytes())
        refused(f"this is what a file of {kind} looks like", "--tokens", f"{kind}.bin")
    (OUT / "text.txt").write_text("Once upon a time " * 20)
    refused("is text, expected the numbers of tokens", "--tokens", "text.txt")
    (OUT / "zip.bin").write_bytes(b"PK\x03\x04" + bytes(200))
    refused("a zip archive", "--tokens", "zip.bin")
    npy.save(OUT / "floats.npy", "<f4", (len(TOKENS),), TOKENS)
    refused("holds f32, expected integers", "--tokens", "floats.npy")
    refused("expected one row of tokens", "--tokens", "ids.npy")
    (OUT / "odd.bin").write_bytes(bytes(range(251)))
    refused("no whole number of uint16 tokens", "--tokens", "odd.bin")
    print("token files: 4 forms alike, 7 refused")


def labels():
    equal = ["--data", "input_ids=ids.npy", "labels=ids.npy"]
    _, said = losses(*equal)
    assert "the labels 'labels' (ids.npy) equal the inputs 'input_ids' (ids.npy): a model that sees them learns to copy" in said, said
    shifted = [IGNORED if (i + 1) % LENGTH == 0 else IDS[i + 1] for i in range(len(IDS))]
    rows("shifted.npy", shifted)
    wanted, said = losses("--data", "input_ids=ids.npy", "labels=shifted.npy")
    assert "warning" not in said, said
    found, said = losses(*equal, "--shift-labels")
    assert found == wanted and "warning" not in said, (found, wanted, said)
    _, said = losses("--data", "input_ids=ids.npy", "labels=next.npy", "--shift-labels")
    assert "were the next tokens" in said, said
    refused("--shift-labels needs --data or --eval-data", "--tokens", "raw.bin", "--shift-labels")
    print("labels: equal ones told, shifted ones as made by hand")


def documents():
    begins, answers = [0, 10, 30, 100, 101], [4, 25, 30, 101, 150]
    npy.save(OUT / "begins.npy", "<i8", (5,), begins)
    npy.save(OUT / "pairs.npy", "<i4", (5, 2), [n for pair in zip(begins, answers) for n in pair])

    def made(masked):
        """The label at i is token i + 1, unless that begins a document or belongs to its prompt."""
        def counts(token):
            document = max(d for d in range(5) if begins[d] <= token)
            return token not in begins and not (masked and token < answers[document])
        return [NEXT[i] if counts(i + 1) else IGNORED for i in range(len(NEXT))]

    for masked, words in ((False, ["begins.npy"]), (False, ["pairs.npy"]), (True, ["pairs.npy", "--mask-prompt"])):
        rows("made.npy", made(masked))
        wanted, _ = losses("--data", "input_ids=ids.npy", "labels=made.npy")
        assert losses("--tokens", "i8.npy", "--documents", *words)[0] == wanted, words
    refused("tells where documents begin, not where their answers do", "--tokens", "i8.npy", "--documents", "begins.npy", "--mask-prompt")
    refused("--mask-prompt needs --documents", "--tokens", "i8.npy", "--mask-prompt")
    refused("--documents needs one --tokens file", "--data", "input_ids=ids.npy", "labels=next.npy", "--documents", "begins.npy")
    for name, numbers, text in (("late", [3, 9], "the first document begins at token 3, expected 0"),
                                ("falling", [0, 9, 5], "document 1 begins at token 9 and ends at 5"),
                                ("beyond", [0, 100000], "document 1 begins at token 100000")):
        npy.save(OUT / f"{name}.npy", "<i8", (len(numbers),), numbers)
        refused(text, "--tokens", "i8.npy", "--documents", f"{name}.npy")
    print("documents: as made by hand, with and without prompts; 6 refused")


def runs():
    data = ["--data", "input_ids=ids.npy", "labels=next.npy"]
    wanted, _ = losses(*data, steps=6)
    found, said = losses(*data, "--epochs", 2, steps=None)
    assert found == wanted and "2 epochs of 12 rows are 6 steps of 4 rows" in said, (found, wanted, said)
    refused("--epochs and --steps both say how long to train", *data, "--epochs", 2)
    _, said = losses(*data, "--warmup", 3)
    assert "--warmup 3 is not below --steps 3: the whole run warms up" in said, said
    _, said = losses(*data, "--warmup", 2)
    assert "warning" not in said, said
    print("run: epochs, schedules")


def crc(data):
    """CRC-32C by its definition, bit by bit."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    value ^= 0xFFFFFFFF
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF


def fields(data):
    """(number, value) of a message of protocol buffers."""
    def varint(at):
        value = shift = 0
        while True:
            value |= (data[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 0x80:
                return value, at
    at = 0
    while at < len(data):
        key, at = varint(at)
        if key & 7 == 0:
            value, at = varint(at)
        else:
            size, at = varint(at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def tensorboard():
    losses("--data", "input_ids=ids.npy", "labels=next.npy")
    lines = [json.loads(line) for line in (OUT / "log.jsonl").read_text().splitlines()]
    assert [line["completed_steps"] for line in lines] == [1, 2, 3] and [line["step"] for line in lines] == [0, 1, 2]
    assert all(line["tokens_per_second"] > 0 and "samples_per_second" not in line for line in lines)
    subprocess.run([sys.executable, str(ROOT / "scripts/log_to_tensorboard.py"), "log.jsonl", "board"], check=True, cwd=OUT, capture_output=True)
    data, at, events = next((OUT / "board").iterdir()).read_bytes(), 0, []
    while at < len(data):
        size, = struct.unpack_from("<Q", data, at)
        body = data[at + 12:at + 12 + size]
        assert struct.unpack_from("<I", data, at + 8)[0] == crc(data[at:at + 8]) and struct.unpack_from("<I", data, at + 12 + size)[0] == crc(body)
        events.append(dict(fields(body)))
        at += size + 16
    assert events[0][3] == b"brain.Event:2" and [event[2] for event in events[1:]] == [1, 2, 3], events
    for event, line in zip(events[1:], lines):
        values = [dict(fields(value)) for _, value in fields(event[5])]
        found = {value[1].decode(): struct.unpack("<f", value[2])[0] for value in values}
        assert abs(found["loss"] - line["loss"]) <= 1e-6 * line["loss"] and "lr" in found and "step" not in found, (found, line)
    print("log: 3 steps in TensorBoard's form")


def pipes():
    model = ROOT / "test/golden/gpt/model.onnx"
    for words in (["kedge", "lint", model], ["kedge", "plan", model, "--shape", "input_ids=4x24"], ["kedge", "--help"], ["./gpt", "--help"]):
        line = " ".join(map(str, words))
        done = subprocess.run(["bash", "-c", f"{line} | true; echo ${{PIPESTATUS[0]}}"], capture_output=True, text=True, cwd=OUT)
        noise = [text for text in done.stderr.splitlines() if not text.startswith("kedge: note")]
        assert done.stdout == "0\n" and not noise, (line, done.stdout, done.stderr)
    print("pipes: quiet")


rows("ids.npy", IDS)
rows("next.npy", NEXT)
token_files()
labels()
documents()
runs()
tensorboard()
pipes()
