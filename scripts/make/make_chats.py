#!/usr/bin/env python3
"""Conversations and the tokens that transformers gives them: make_chats.py [--check].

For each template in test/tools/tokens/Inputs/chat (FAMILY.jinja, for the tokenizer FAMILY.json beside them) writes FAMILY.ids next to it: of
each conversation that the template takes, its place in conversations.jsonl, the number of tokens before the answer, and the tokens of
apply_chat_template. An answer is the last message, if it is the assistant's; before it are the tokens that the conversation without it, with
add_generation_prompt, begins with as well; "-": there is none. --check: writes nothing, and fails if a file would change. Needs `transformers` (PyPI).
"""
import json
import pathlib
import sys

from transformers import PreTrainedTokenizerFast
from transformers.utils import logging

logging.set_verbosity_error()
INPUTS = pathlib.Path(__file__).resolve().parents[2] / "test/tools/tokens/Inputs"
SPECIALS = {"gpt2": ("<|endoftext|>",) * 2, "qwen": ("<|endoftext|>",) * 2, "llama3": ("<|begin_of_text|>", "<|end_of_text|>"),
            "gemma": ("<bos>", "<eos>"), "llama2": ("<bos>", "<eos>")}
WEATHER = {"type": "function", "function": {
    "name": "weather", "description": "How warm it is, in °C <now>",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "array", "items": {"type": "number"}}}, "required": ["city"]}}}
CALL = {"role": "assistant", "content": "", "tool_calls": [
    {"type": "function", "function": {"name": "weather", "arguments": {"city": "Zürich", "days": [1, 2.5, -1e-7, 1e16], "more": {}, "none": None, "all": True}}}]}


def said(*texts, system=None):
    messages = [{"role": "system", "content": system}] if system is not None else []
    return messages + [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]


def conversations():
    parts = [{"role": "user", "content": [{"type": "text", "text": " One "}, {"type": "text", "text": "two"}]},
             {"role": "assistant", "content": [{"type": "text", "text": "three"}]}]
    yield {"messages": said("Hello")}
    yield {"messages": said("Hello", "Good day.")}
    yield {"messages": said("  What is 2 + 2?\n", " 4\n\n", "And 'why'?", "Because \"it\" is & <so>.\\", system=" You know sums. ")}
    yield {"messages": said("Wie heißt das? 中国 \u00a0", "\u3000日本語 🙂\u2028 é")}
    yield {"messages": said("Think", "<think>\nlong\n</think>\n\nDone", "Again", "<think>\nmore\n\n</think>\n\n\nyes")}
    yield {"messages": said("Think", "<think>\n\n</think>\n\nDone"), "chat_template_kwargs": {"enable_thinking": False}}
    yield {"messages": [*said("How warm?", system="Be brief."), CALL, {"role": "tool", "content": "{\"t\": 20}"}, {"role": "assistant", "content": "20 °C"}],
           "tools": [WEATHER]}
    yield {"messages": [*said("Twice"), CALL, {"role": "tool", "content": "a"}, {"role": "tool", "content": "b"}], "tools": [WEATHER, WEATHER]}
    yield {"messages": said("Tools, but none used", "fine"), "tools": [WEATHER]}
    yield {"messages": parts}
    yield {"messages": said("", "")}
    yield {"messages": said("one", "two", "three", system="")}
    yield {"messages": [{"role": "assistant", "content": "first"}, {"role": "critic", "content": "second"}]}


def tokens(tokenizer, template, chat, messages, asks=False):
    return tokenizer.apply_chat_template(messages, tools=chat.get("tools"), chat_template=template, add_generation_prompt=asks, tokenize=True,
                                         return_dict=False, **chat.get("chat_template_kwargs", {}))


def lines(family):
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(INPUTS / f"{family}.json"), **dict(zip(("bos_token", "eos_token"), SPECIALS[family])))
    template = (INPUTS / "chat" / f"{family}.jinja").read_text()
    for place, chat in enumerate(conversations()):
        messages, before = chat["messages"], "-"
        try:
            whole = tokens(tokenizer, template, chat, messages)
            if messages[-1]["role"] == "assistant" and len(messages) > 1:
                asked = tokens(tokenizer, template, chat, messages[:-1], asks=True)
                same = [a == b for a, b in zip(whole, asked)]
                before = (same + [False]).index(False)
        except Exception:  # the template refuses it, or Jinja does
            continue
        yield f"{place} {before} " + " ".join(map(str, whole)) + "\n"


def main():
    files = {INPUTS / "chat/conversations.jsonl": "".join(json.dumps(chat, ensure_ascii=False) + "\n" for chat in conversations())}
    for template in sorted((INPUTS / "chat").glob("*.jinja")):
        files[template.with_suffix(".ids")] = "".join(lines(template.stem))
    for path, text in files.items():
        if "--check" not in sys.argv:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f"{path}: transformers gives other tokens")
        print(f"{path.name}: {text.count(chr(10))} lines")


if __name__ == "__main__":
    main()
