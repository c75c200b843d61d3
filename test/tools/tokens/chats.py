"""chats.py GOLDEN FOLDER: what kedge tokens --chat-template writes."""
import json
import pathlib
import shutil
import subprocess
import sys

import numpy

golden, folder = map(pathlib.Path, sys.argv[1:])
SPECIALS = {"gpt2": ("<|endoftext|>",) * 2, "qwen": ("<|endoftext|>",) * 2, "llama3": ("<|begin_of_text|>", "<|end_of_text|>"),
            "gemma": ("<bos>", "<eos>"), "llama2": ("<bos>", "<eos>")}
PLAIN = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"


def run(*words):
    return subprocess.run(["kedge", "tokens", *map(str, words)], capture_output=True, text=True)


def tokenizer(name, family="gpt2", template=None, configuration=None):
    """A model's folder, as Hugging Face has them."""
    place = folder / name
    begin, end = SPECIALS[family]
    specials = {"bos_token": begin, "eos_token": {"content": end, "special": True}, "pad_token": None}
    place.mkdir(exist_ok=True)
    shutil.copy(golden / f"{family}.json", place / "tokenizer.json")
    if template is not None:
        (place / "chat_template.jinja").write_text(template)
    (place / "tokenizer_config.json").write_text(json.dumps({**specials, **(configuration or {})}))
    return place / "tokenizer.json"


def written(name, *lines):
    path = folder / name
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    return path


def tokens(model, chats, *more):
    out, documents = folder / "out.npy", folder / "documents.npy"
    ran = run("--tokenizer", model, chats, "--chat-template", "-o", out, "--documents", documents, *more)
    assert ran.returncode == 0, ran.stderr
    begins = numpy.load(documents)
    answers = begins[:, 1] - begins[:, 0] if begins.ndim == 2 else numpy.zeros(len(begins), int)
    begins = begins[:, 0] if begins.ndim == 2 else begins
    return [part.tolist() for part in numpy.split(numpy.load(out), begins[1:])], answers.tolist()


def check_family(path):
    name = path.stem
    model = tokenizer(name, name, path.read_text())
    chats = [json.loads(line) for line in (golden / "chat/conversations.jsonl").open()]
    expected = {int(place): (before, [int(word) for word in ids]) for place, before, *ids in map(str.split, path.with_suffix(".ids").read_text().splitlines())}
    found, answers = tokens(model, written("taken.jsonl", *(chats[place] for place in expected)))
    assert found == [ids for _, ids in expected.values()], name
    assert answers == [0 if before == "-" else int(before) for before, _ in expected.values()], (name, answers)
    for place in set(range(len(chats))) - set(expected):
        ran = run("--tokenizer", model, written("refused.jsonl", chats[place]), "--chat-template", "-o", folder / "refused.npy")
        assert ran.returncode == 1 and "refused.jsonl:1: " in ran.stderr and "chat_template.jinja: line " in ran.stderr, (place, ran)
    print(f"{name}: {len(found)} conversations, tokens and answers equal, {len(chats) - len(expected)} refused")


def check_places():
    chat = {"messages": [{"role": "user", "content": "word"}, {"role": "assistant", "content": "next"}]}
    one = written("one.jsonl", chat)
    wanted = tokens(tokenizer("own", template=PLAIN), one)
    assert wanted[1][0] > 0
    assert tokens(tokenizer("config", configuration={"chat_template": PLAIN}), one) == wanted
    assert tokens(tokenizer("both", template=PLAIN, configuration={"chat_template": "other"}), one) == wanted
    several = tokenizer("several", configuration={"chat_template": [{"name": "tool_use", "template": "{{ tools[0] }}" + PLAIN}, {"name": "default", "template": PLAIN}]})
    assert tokens(several, one) == wanted
    assert tokens(several, written("tools.jsonl", {**chat, "tools": ["x"]})) != wanted
    messages = chat["messages"]
    assert tokens(several, written("pair.jsonl", {"prompt": messages[:1], "completion": messages[1:]})) == wanted
    assert tokens(several, written("field.jsonl", {"talk": messages}), "--field", "talk") == wanted
    many = written("many.jsonl", *[chat] * 30000)
    for threads in (1, 4):
        found, answers = tokens(several, many, "--threads", threads, "--end", "<|endoftext|>")
        assert len(found) == 30000 and answers == wanted[1] * 30000
        assert all(part[:-1] == wanted[0][0] for part in found) and len(set(part[-1] for part in found)) == 1
    print("places: a file of its own, a configuration, several templates, prompt and completion, many threads")


def check_mistakes():
    chat = {"messages": [{"role": "user", "content": "word"}]}
    one, text = written("one.jsonl", chat), folder / "text.txt"
    text.write_text("word")
    templates = [
        ("{% include 'x' %}", "chat_template.jinja: line 1: the tag 'include' is not available yet"),
        ("\n\n{{ messages | groupby('role') }}", "line 3: the filter 'groupby' is not available yet"),
        ("{{ 1 is prime }}", "line 1: the test 'prime' is not available yet"),
        ("\n{{ cycler('a') }}", "one.jsonl:1: "),
        ("{{ messages[0].content.zfill(3) }}", "line 1: the method 'zfill' of a text is not available yet"),
        ("{{ 'é' | upper }}", "letters that are not ASCII are not available yet"),
        ("{{ raise_exception('no') }}", "line 1: the template refuses the conversation: no"),
        ("{{ a.b }}", "line 1: 'a' is undefined"),
        ("{% for m in messages %}", "line 1: 'endfor' is missing"),
        ("{{ 'a' + 1 }}", "line 1: '+' of str and int"),
    ]
    mistakes = [([tokenizer("bad", template=template), one], expected) for template, expected in templates]
    plain = tokenizer("plain", template=PLAIN)
    mistakes += [([plain, text], "text.txt: is text, and --chat-template takes lines of JSON"),
                 ([plain, written("none.jsonl", {"text": "a"})], "none.jsonl:1: expected a list of messages as 'messages' (--field)"),
                 ([tokenizer("nothing", configuration={}), one], "expected "),
                 ([tokenizer("added", template="{{ bos_token }}", configuration={"bot_token": "x", "bos_token": "<new>"}), one],
                  "one.jsonl:1: the text has '<new>', a special token of "),
                 (["bytes", one], "bytes have no template")]
    for at, ((model, chats), expected) in enumerate(mistakes):
        if at < len(templates):
            tokenizer("bad", template=templates[at][0])
        ran = run("--tokenizer", model, chats, "--chat-template", "-o", folder / "failed.bin")
        assert ran.returncode == 1 and expected in ran.stderr, (expected, ran)
        assert not (folder / "failed.bin").exists()
    print(f"{len(mistakes)} mistakes, each with its error")


for template in sorted((golden / "chat").glob("*.jinja")):
    check_family(template)
check_places()
check_mistakes()
