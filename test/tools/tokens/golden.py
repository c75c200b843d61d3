"""golden.py GOLDEN FOLDER: what kedge tokens writes."""
import json
import pathlib
import subprocess
import sys

import numpy

golden, folder = map(pathlib.Path, sys.argv[1:])


def tokens(*words, fails=False):
    ran = subprocess.run(["kedge", "tokens", *map(str, words)], capture_output=True, text=True)
    assert (ran.returncode == 1) == fails and ran.returncode in (0, 1), (words, ran)
    return ran.stderr if fails else ran.stdout


def numbers(text):
    return [int(word) for word in text.split()]


def check_family(name):
    out, documents = folder / f"{name}.npy", folder / f"{name}-documents.npy"
    said = tokens("--tokenizer", golden / f"{name}.json", golden / "documents.jsonl", "-o", out, "--documents", documents, "--threads", 2)
    lines = (golden / f"{name}.ids").read_text().splitlines()
    begins = numpy.load(documents)
    found = numpy.split(numpy.load(out), begins[1:])
    assert [part.tolist() for part in found] == [numbers(line) for line in lines], name
    assert f": {numpy.load(out).size} tokens (uint16 with NumPy's header) of {len(lines)} documents" in said, said
    print(f"{name}: {len(found)} documents, all tokens equal")


def words_model(size):
    """A tokenizer of whole words, w0 to w9, whose largest number is size - 1."""
    vocabulary = {"<unk>": 0, **{f"w{i}": i + 1 for i in range(10)}, "last": size - 1}
    return {"version": "1.0", "pre_tokenizer": {"type": "WhitespaceSplit"}, "added_tokens": [],
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"}}


def written(name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def check_forms():
    text = written("words.txt", "w0 w3\nlast what")
    for size, kind in ((65536, "<u2"), (65537, "<u4")):
        model = written(f"words-{size}.json", json.dumps(words_model(size)))
        expected = [1, 4, size - 1, 0]
        tokens("--tokenizer", model, text, "-o", folder / "flat.bin")
        raw = (folder / "flat.bin").read_bytes()
        if kind == "<u4":
            assert numpy.frombuffer(raw[:12], "<i4").tolist() == [20240801, 7, 4] and len(raw) == 1024 + 16
            raw = raw[1024:]
        assert numpy.frombuffer(raw, kind).tolist() == expected
        tokens("--tokenizer", model, text, "-o", folder / "flat.npy")
        array = numpy.load(folder / "flat.npy")
        assert array.dtype == kind and array.tolist() == expected
    print("forms: uint16, llm.c's uint32, NumPy's of both")


def check_documents():
    out, documents = folder / "out.npy", folder / "out-documents.npy"
    text = written("lines.txt", "one\n\ntwo\r\nthree")
    tokens("--tokenizer", "bytes", text, "-o", out, "--documents", documents)
    assert bytes(numpy.load(out).tolist()) == text.read_bytes() and numpy.load(documents).tolist() == [0]
    tokens("--tokenizer", "bytes", text, text, "--lines", "-o", out, "--documents", documents)
    assert bytes(numpy.load(out).tolist()) == b"onetwothree" * 2 and numpy.load(documents).tolist() == [0, 3, 6, 11, 14, 17]
    bert = golden / "bert.json"
    tokens("--tokenizer", bert, text, "--lines", "--no-special-tokens", "--end", "[MASK]", "-o", out)
    assert numpy.load(out).tolist().count(4) == 3 and 2 not in numpy.load(out)
    pairs = written("pairs.jsonl", "".join(json.dumps({"prompt": "ab", "completion": answer}) + "\n" for answer in ("c", "de")))
    tokens("--tokenizer", "bytes", pairs, "-o", out, "--documents", documents)
    assert bytes(numpy.load(out).tolist()) == b"abcabde" and numpy.load(documents).tolist() == [[0, 2], [3, 5]]
    check_tasks(out, documents)
    print("bytes, lines, ends, prompts, and a file in one or in many tasks")


def check_tasks(out, documents):
    """A large file is cut into tasks between lines: the same tokens as in one line of JSON, which is not cut."""
    text = "".join(f"Line {i} is  one\n\n and 'tis a word{i}\n" * 3 for i in range(10000))
    large, line = written("large.txt", text), written("large.jsonl", json.dumps({"text": text}))
    for name in ("gpt2", "qwen", "bert", "t5", "gemma"):
        tokens("--tokenizer", golden / f"{name}.json", large, "-o", out, "--documents", documents)
        cut = numpy.load(out)
        tokens("--tokenizer", golden / f"{name}.json", line, "-o", out)
        assert numpy.array_equal(cut, numpy.load(out)) and numpy.load(documents).tolist() == [0], name


def check_mistakes():
    words = written("words.json", json.dumps(words_model(100)))
    plain = written("plain.txt", "w1")

    def model(name, **changes):
        return written(f"{name}.json", json.dumps({**words_model(100), **changes}))

    def split(pattern):
        return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"}
    mistakes = [
        ([words, written("latin.txt", b"caf\xe9")], "byte 3 (0xe9) is not UTF-8; convert the file"),
        ([words, written("bad.jsonl", '{"text": "w1"}\n{"body": "w2"}\n')], "bad.jsonl:2: expected text as 'text' (--field), or as 'prompt'"),
        ([words, written("torn.jsonl", '{"text": "w1"}\n\n{"text": ')], "torn.jsonl:3: is not an object of JSON"),
        ([words, written("chat.jsonl", '{"messages": []}')], "chat.jsonl:1: has 'messages', expected text: give --chat-template"),
        ([words, plain, "--chat-template"], "--chat-template: expected "),
        ([words, written("none.txt", "")], "no token: the files hold no text"),
        ([words, folder / "absent.txt"], "absent.txt"),
        ([words, written("array.json", "[]")], "expected a text file, or lines of JSON"),
        ([words, plain, "--end", "<eos>"], "--end <eos>: "),
        ([plain, plain], "is not a tokenizer.json"),
        ([model("sorcery", normalizer={"type": "Sorcery"}), plain], "sorcery.json.normalizer: a normalizer of type 'Sorcery' is not available yet"),
        ([model("han", pre_tokenizer=split(r"\p{Han}+")), plain], "the property 'Han' (at character 7) is not available yet"),
        ([model("nothing", pre_tokenizer=split(r"(a*)+")), plain], "a repetition of what may be nothing"),
        ([model("many", pre_tokenizer=split(r"(ab){2000}")), plain], "so many repetitions of a group"),
        ([model("large", model={"type": "WordLevel", "vocab": {"w1": 1 << 31}}), plain], "expected the number of 'w1', at most"),
        ([model("known", model={"type": "WordLevel", "vocab": {"w2": 0}}), plain], "the word 'w1' is not in the vocabulary"),
    ]
    for (model_file, *words_given), expected in mistakes:
        said = tokens("--tokenizer", model_file, *words_given, "-o", folder / "failed.bin", fails=True)
        assert expected in said, (expected, said)
        assert not (folder / "failed.bin").exists()
    print(f"{len(mistakes)} mistakes, each with its error")


for family in ("gpt2", "llama3", "qwen", "gemma", "llama2", "bert", "t5"):
    check_family(family)
check_forms()
check_documents()
check_mistakes()
