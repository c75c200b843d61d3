#!/usr/bin/env python3
"""Trains small tokenizers of seven families and says which tokens the package `tokenizers` gives.

    make_tokenizers.py FOLDER [--tokens N] [--text BYTES] [--expected BYTES] [--small-map]

Writes FAMILY.json (gpt2, llama3, qwen, gemma, llama2, bert, t5), trained on BYTES of mixed text (languages and scripts, code,
characters at random), and, of other such text, `documents.jsonl` with FAMILY.ids, the tokens of each document on a line.
--small-map: T5's map of characters with some hundred of them. The quick test's files in test/tools/tokens/Inputs are
those of `--tokens 420 --text 60000 --expected 6000 --small-map`. Needs `tokenizers` (PyPI).
"""
import argparse
import json
import pathlib
import random
import struct
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = [(0x61, 0x7A), (0x61, 0x7A), (0xE0, 0xFF), (0x100, 0x17F), (0x3B1, 0x3C9), (0x430, 0x44F), (0x5D0, 0x5EA), (0x621, 0x64A), (0x905, 0x94D),
           (0x985, 0x9CD), (0xE01, 0xE3A), (0x10D0, 0x10F0), (0x3041, 0x3096), (0x30A1, 0x30FA), (0x4E00, 0x4F00), (0xAC00, 0xAD00),
           (0x1F600, 0x1F640)]
ODD = ["\u0301", "\u200b", "\u200d", "\u0345", "\u1100", "\u1161", "\u11a8", "각", "\U0001f3f3\ufe0f\u200d\U0001f308", "½", "ﬁ", "①", "Ⅳ", "é",
       "e\u0301", "ſ", "K", "İ", "ı", "\u00a0", "\u3000", "\u2028", "\x85", "\t", "\r\n", "\r", "\n", "  ", "   \n\n  ", "\x0b", "\x1c", "\ufeff",
       "\ufffd", "ﷺ", "\u064b", "\u0e33", "क्षि", "한글", "\u0600", "\u070f", "\U000110bd", "²", "३", "٣", "ǅ", "ʰ", "ª", "₂", "€", "+", "$",
       "\u0338", "\u093c", "\u0327\u0301", "\u0301\u0327", "ệ", "Å", "\u2126", "\U0001d15e", "\uf900", "\u2329", "'s", "'S", "'ſ", " 'LL", "I'M",
       "don't", "DON'T ", "'ve", "`", "^", "<unk>", "</s>", "<s>", "[MASK]", " <extra_id_0> ", "<|endoftext|>", "<|im_start|>", "\\", "_", "=="]
PLAIN = ["a", "B", "word ", " the", "12", "345678", ".", ",", "!?", "é", "中", "国人", "日本語 ", "テスト", "한국", "привет ", "مرحبا", "שלום"]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


class Text:
    """Mixed text, the same for the same seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.sources = [path for folder in ("docs", "lib/Model", "runtime/io") for path in sorted((ROOT / folder).rglob("*")) if path.is_file()]
        self.words = [["".join(chr(self.random.randint(*script)) for _ in range(self.random.randint(1, 7))) for _ in range(400)]
                      for script in SCRIPTS]

    def prose(self):
        words = self.random.choice(self.words)
        some = [words[min(int(self.random.expovariate(0.02)), len(words) - 1)] for _ in range(self.random.randint(5, 150))]
        return "".join(word + self.random.choice([" ", " ", " ", ", ", ". ", "\n", "\n\n", " 1984 "]) for word in some)

    def source(self):
        text = self.random.choice(self.sources).read_text(errors="ignore")
        begin = self.random.randint(0, max(0, len(text) - 5000))
        return text[begin:begin + self.random.randint(50, 5000)]

    def odd(self):
        return "".join(self.random.choice(ODD if self.random.random() < 0.5 else PLAIN) for _ in range(self.random.randint(1, 120)))

    def any_characters(self):
        found = []
        for _ in range(self.random.randint(1, 100)):
            c = self.random.randint(1, self.random.choice([0x250, 0x3000, 0xFFFF, 0x1FFFF, 0x10FFFF]))
            if not 0xD800 <= c <= 0xDFFF:
                found.append(chr(c) + self.random.choice(["", "", " ", "a", "\u0301"]))
        return "".join(found)

    def documents(self, size):
        found = []
        while size > 0:
            make = self.random.choices([self.prose, self.source, self.odd, self.any_characters], [40, 40, 12, 8])[0]
            found.append(make())
            size -= len(found[-1].encode())
        return found


def double_array(keys):
    """The trie of darts-clone: units of 32 bits in which a child is at its parent's place XOR offset XOR byte."""
    root = {}
    for key, value in keys.items():
        node = root
        for byte in key:
            node = node.setdefault(byte, {})
        node[-1] = value
    units, taken, free, left = {0: 0}, {0}, 1, [(root, 0)]
    while left:
        node, place = left.pop()
        labels = [max(label, 0) for label in node]
        base = free
        while any(base ^ label in taken for label in labels):
            base += 1
        free = base - 256 if base - free > 4096 else free
        units[place] |= (place ^ base) << 10 | (1 << 8 if -1 in node else 0)
        taken.update(base ^ label for label in labels)
        for label, child in node.items():
            if label < 0:
                units[base] = child | 1 << 31
            else:
                units[base ^ label] = label
                left.append((child, base ^ label))
    size = (max(units) | 255) + 1
    assert size < 1 << 21
    return struct.pack(f"<{size}I", *[units.get(at, 0) for at in range(size)])


def characters_map(characters):
    """SentencePiece's nmt_nfkc for these characters."""
    forms = {}
    for c in characters:
        text = chr(c)
        apart = unicodedata.normalize("NFD", text)
        if unicodedata.normalize("NFKC", text) != text:
            forms[text] = unicodedata.normalize("NFKC", text)
        if len(apart) > 1 and unicodedata.normalize("NFC", apart) == text:
            forms[apart] = text
    forms.update({chr(c): "" for c in [*range(1, 9), 0xB, *range(0xE, 0x20), 0x7F, 0x8F, 0x9F]})
    forms.update({chr(c): " " for c in [9, 10, 12, 13, 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD]})
    keys, texts = {}, b""
    for text, form in forms.items():
        keys[text.encode()] = len(texts)
        texts += form.encode() + b"\0"
    trie = double_array(keys)
    return struct.pack("<I", len(trie)) + trie + texts


def byte_pairs(texts, options, specials, **model):
    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.decoder = decoders.ByteLevel()

    def train(pre_tokenizer, normalizer=None):
        tokenizer.pre_tokenizer = pre_tokenizer
        if normalizer:
            tokenizer.normalizer = normalizer
        tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=options.tokens, special_tokens=specials, show_progress=False,
                                                                 initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        return tokenizer
    return train


def split_bytes(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def gpt2(texts, options):
    return byte_pairs(texts, options, ["<|endoftext|>"])(pre_tokenizers.ByteLevel(add_prefix_space=False))


def llama3(texts, options):
    begin = "<|begin_of_text|>"
    tokenizer = byte_pairs(texts, options, [begin, "<|end_of_text|>"], ignore_merges=True)(split_bytes(LLAMA3))
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False),
                                                    processors.TemplateProcessing(single=begin + " $A", special_tokens=[(begin, 0)])])
    return tokenizer


def qwen(texts, options):
    return byte_pairs(texts, options, ["<|endoftext|>", "<|im_start|>"])(split_bytes(QWEN), normalizers.NFC())


def gemma(texts, options):
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")  # for training alone: words of SentencePiece
    tokenizer.train_from_iterator([line for text in texts for line in text.split("\n")], trainers.BpeTrainer(
        vocab_size=options.tokens, limit_alphabet=max(60, options.tokens // 8), show_progress=False,
        special_tokens=["<pad>", "<eos>", "<bos>", "<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    saved = json.loads(tokenizer.to_str())
    saved["added_tokens"] = [token for token in saved["added_tokens"] if not token["content"].startswith("<0x")]
    tokenizer = Tokenizer.from_str(json.dumps(saved))
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in ("\n\n", "▁▁", "▁▁▁▁", "<b>")])
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 2)])
    return tokenizer


def llama2(texts, options):
    saved = json.loads(gemma(texts, options).to_str())
    saved["pre_tokenizer"] = None
    saved["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, saved["normalizer"]]}
    saved["decoder"]["decoders"].append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return Tokenizer.from_str(json.dumps(saved))


def bert(texts, options):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=options.tokens, limit_alphabet=max(60, options.tokens // 6),
                                                                   special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
                                                                   show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


def t5(texts, options):
    tokenizer = Tokenizer(models.Unigram())
    few = [*range(0xA0, 0x180), *range(0x2160, 0x2180), *range(0xFB00, 0xFB07), *range(0xFF10, 0xFF1A)]
    tokenizer.normalizer = normalizers.Precompiled(characters_map(
        few if options.small_map else [c for c in range(1, 0x30000) if not 0xAC00 <= c <= 0xDFFF]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.decoder = decoders.Metaspace()
    plain = ["".join(c for c in text if ord(c) < 0x500) for text in texts]  # each character needs a token
    tokenizer.train_from_iterator(plain, trainers.UnigramTrainer(vocab_size=max(1000, options.tokens), special_tokens=["<pad>", "</s>", "<unk>"],
                                                                 unk_token="<unk>", show_progress=False))
    tokenizer.add_special_tokens([AddedToken("<extra_id_0>", lstrip=True, rstrip=True)])
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return tokenizer


FAMILIES = {make.__name__: make for make in (gpt2, llama3, qwen, gemma, llama2, bert, t5)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tokens", type=int, default=4000)
    parser.add_argument("--text", type=int, default=1000000)
    parser.add_argument("--expected", type=int, default=0)
    parser.add_argument("--small-map", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    texts = Text(1).documents(options.text)
    documents = [text for text in Text(2).documents(options.expected) if text] if options.expected else []
    if documents:
        (options.folder / "documents.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))
    for name, make in FAMILIES.items():
        path = options.folder / f"{name}.json"
        make(texts, options).save(str(path), pretty=False)
        if documents:
            encoded = Tokenizer.from_file(str(path)).encode_batch(documents)
            (options.folder / f"{name}.ids").write_text("".join(" ".join(map(str, one.ids)) + "\n" for one in encoded))


if __name__ == "__main__":
    main()
