#!/usr/bin/env python3
"""Writes sentences about meals, each praise or blame, as token numbers: data.py OUT.

Of train and test: PART-ids.npy [rows, 16] (0 fills up), PART-mask.npy (1 where there is a word), PART-labels.npy (1 praise, 0 blame).
A "not" turns a sentence round, so single words do not decide it. Needs no packages.
"""
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import npy  # noqa: E402

LENGTH = 16
THINGS = "soup bread fish rice salad tea cake service".split()
GOOD = "good fresh warm lovely perfect tasty".split()
BAD = "bad stale cold awful bland burnt".split()
FILLERS = "really quite today again here honestly".split()
WORDS = ["(nothing)", "the", "was", "not", "and", "we", "thought", "that", *THINGS, *GOOD, *BAD, *FILLERS]
NUMBERS = {word: number for number, word in enumerate(WORDS)}


def sentence():
    praise, turned = random.random() < 0.5, random.random() < 0.3
    words = ["we", "thought", "that"] if random.random() < 0.3 else []
    words += ["the", random.choice(THINGS)]
    if random.random() < 0.3:
        words += ["and", "the", random.choice(THINGS)]
    words += ["was"] + ["not"] * turned + random.sample(FILLERS, random.randint(0, 2))
    return words + [random.choice(GOOD if praise != turned else BAD)], int(praise)


def write(out, part, rows):
    made = [sentence() for _ in range(rows)]
    for name, value in (("ids", lambda words, i: NUMBERS[words[i]]), ("mask", lambda words, i: 1)):
        npy.save(out / f"{part}-{name}.npy", "<i8", (rows, LENGTH),
                 [value(words, i) if i < len(words) else 0 for words, _ in made for i in range(LENGTH)])
    npy.save(out / f"{part}-labels.npy", "<i8", (rows,), [label for _, label in made])


out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
random.seed(0)
write(out, "train", 800)
write(out, "test", 200)
print(f"{len(WORDS)} words")
