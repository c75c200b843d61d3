#!/usr/bin/env python3
"""Writes runtime/text/UnicodeTables.cpp: make_unicode.py OUTPUT.cpp (needs the package `tokenizers`).

Each step of `tokenizers` knows characters from a library of its own, and these follow different versions of Unicode. So
the tables are what `tokenizers` itself answers for each character, not what one version of Unicode says.
"""
import struct
import sys
import unicodedata

from tokenizers import Regex, __version__, normalizers, pre_tokenizers

CHARACTERS = [c for c in range(1, 0x110000) if not 0xD800 <= c <= 0xDFFF]
BLOCK = 4096


def removed_by(splitter):
    """The characters that a pre-tokenizer takes away."""
    found = set()
    for begin in range(0, len(CHARACTERS), BLOCK):
        block = CHARACTERS[begin:begin + BLOCK]
        kept = {ord(c) for piece, _ in splitter.pre_tokenize_str("".join(map(chr, block))) for c in piece}
        found.update(c for c in block if c not in kept)
    return found


def matched(pattern):
    return removed_by(pre_tokenizers.Split(Regex(pattern), "removed"))


def where(ask):
    return {c for c in CHARACTERS if ask(chr(c))}


def one_character_map():
    """A Precompiled normalizer that writes X for each grapheme of fewer than 6 bytes, and for each character of others."""
    units = [0] * 1024
    units[0] = 256 << 10
    for byte in range(1, 256):
        units[256 + byte] = byte | 1 << 8 | 512 << 10
        units[768 + byte] = 1 << 31
    trie = struct.pack("<1024I", *units)
    return normalizers.Precompiled(struct.pack("<I", len(trie)) + trie + b"X\0").normalize_str


def properties():
    bert = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    clean = normalizers.BertNormalizer(**{**bert, "clean_text": True}).normalize_str
    marks = normalizers.BertNormalizer(**{**bert, "strip_accents": True}).normalize_str
    accents = normalizers.StripAccents().normalize_str
    words, digits = pre_tokenizers.Whitespace(), pre_tokenizers.Digits()
    graphemes = one_character_map()
    for name in ("Lu", "Ll", "Lt", "Lm", "Lo", "Nd"):
        yield name, matched(rf"\p{{{name}}}")
    yield "No", matched(r"\p{N}") - matched(r"\p{Nd}")
    yield "P", matched(r"\p{P}")
    yield "S", matched(r"\p{S}")
    yield "Mn", matched(r"\p{Mn}")
    yield "Mc", matched(r"\p{M}") - matched(r"\p{Mn}")
    yield "Z", matched(r"\p{Z}")
    yield "space", matched(r"\s")
    yield "word", matched(r"\w")
    yield "rustWord", where(lambda c: len(words.pre_tokenize_str(f"-{c}-")) == 3)
    yield "numeric", where(lambda c: len(digits.pre_tokenize_str(f"a{c}a")) == 3)
    yield "bertPunctuation", removed_by(pre_tokenizers.Punctuation("removed"))
    yield "bertRemoved", where(lambda c: clean(f"a{c}b") == "ab")
    yield "bertSpace", where(lambda c: clean(f"a{c}b") == "a b")
    yield "bertMark", where(lambda c: marks(c) == "")
    yield "accent", where(lambda c: accents(c) == "")
    yield "extends", where(lambda c: graphemes("a" + c) == "X")
    yield "prepends", where(lambda c: graphemes(c + "a") == "X")
    yield "controls", {c for c in CHARACTERS if c < 0x10000 and graphemes(chr(c) + "\u0301") != "X"}


def runs(characters):
    """GAP:LENGTH in hexadecimal for each run; GAP from the end of the run before, no LENGTH where it is 1."""
    words, end, numbers = [], 0, sorted(characters)
    at = 0
    while at < len(numbers):
        first = at
        while at + 1 < len(numbers) and numbers[at + 1] == numbers[at] + 1:
            at += 1
        at += 1
        length = at - first
        words.append(f"{numbers[first] - end:x}" + (f":{length:x}" if length > 1 else ""))
        end = numbers[first] + length
    return words


def lowercase():
    """GAP:COUNT:STEP:DELTA of runs of characters whose lowercase form is DELTA away."""
    lower = normalizers.Lowercase().normalize_str
    pairs = [(c, ord(lower(chr(c))) - c) for c in CHARACTERS if len(lower(chr(c))) == 1 and lower(chr(c)) != chr(c)]
    several = {c: lower(chr(c)) for c in CHARACTERS if len(lower(chr(c))) != 1}
    assert several == {0x130: "i\u0307"}, several
    words, end = [], 0
    while pairs:
        first, delta = pairs[0]
        step = 2 if len(pairs) > 1 and pairs[1] == (first + 2, delta) else 1
        count = 1
        while count < len(pairs) and pairs[count] == (first + count * step, delta):
            count += 1
        words.append(f"{first - end:x}:{count:x}:{step}:{'-' if delta < 0 else ''}{abs(delta):x}")
        end = first
        pairs = pairs[count:]
    return words


def decompositions():
    """GAP=FORM for canonical ones, GAP!FORM for those that are never composed again, GAP~FORM for compatible ones."""
    nfc, nfd = normalizers.NFC().normalize_str, normalizers.NFD().normalize_str
    nfkc, nfkd = normalizers.NFKC().normalize_str, normalizers.NFKD().normalize_str
    words, end = [], 0
    for c in CHARACTERS:
        if 0xAC00 <= c <= 0xD7A3:
            continue
        text = chr(c)
        canonical, compatible = nfd(text), nfkd(text)
        assert nfkc(text) == nfc(compatible), hex(c)
        for form, mark in ((canonical, "=" if nfc(text) == text else "!"), (compatible, "~")):
            if form != (text if mark != "~" else canonical):
                words.append(f"{c - end:x}{mark}" + ",".join(f"{ord(part):x}" for part in form))
                end = c
    return words


def combining_classes():
    """The classes, each with the characters that have it: those that `tokenizers` puts in order, with their class in Unicode."""
    nfd = normalizers.NFD().normalize_str
    classes = {}
    for c in CHARACTERS:
        own = unicodedata.combining(chr(c))
        probe = [nfd(chr(c) + "\u0334") != nfd(chr(c)) + "\u0334", nfd("\u0345" + chr(c)) != "\u0345" + nfd(chr(c))]
        if len(nfd(chr(c))) == 1 and any(probe):
            assert own, hex(c)
            classes.setdefault(own, set()).add(c)
    for own in sorted(classes):
        yield f"{own}", runs(classes[own])


def as_text(name, words, about):
    lines, line = [], ""
    for word in words:
        if len(line) + len(word) > 300:
            lines.append(line)
            line = ""
        line += (" " if line else "") + word
    return f"// {about}\nconst char *const {name} = R\"(" + "\n".join([*lines, line]) + ")\";\n"


def main():
    named = list(properties())
    classes = list(combining_classes())
    sections = [
        as_text("propertyRuns", [word for _, found in named for word in [*runs(found), ";"]],
                "The characters of each property, in the order of `Property`."),
        as_text("lowercaseRuns", lowercase(), "GAP:COUNT:STEP:DELTA of characters whose lowercase form is DELTA away."),
        as_text("decompositionWords", decompositions(),
                "GAP=FORM for canonical forms, GAP!FORM for those that are never composed again, GAP~FORM for compatible ones."),
        as_text("combiningRuns", [word for own, found in classes for word in [own, *found, ";"]],
                "The characters of each combining class, behind the class."),
    ]
    head = (f"// What the package tokenizers {__version__} answers for each character. Written by scripts/make/make_unicode.py;\n"
            "// GAP:LENGTH in hexadecimal is a run of characters, GAP counted from the end of the run before.\n"
            '#include "runtime/text/UnicodeTables.h"\n\nnamespace kedge::rt {\n\n// clang-format off\n')
    with open(sys.argv[1], "w") as output:
        output.write(head + "\n".join(sections) + "// clang-format on\n\n} // namespace kedge::rt\n")
    print("properties:", ", ".join(name for name, _ in named))


main()
