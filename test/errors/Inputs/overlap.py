"""Lays an input of saved IR at level 4 over a weight: overlap.py IN OUT."""
import re
import sys

text = open(sys.argv[1]).read()
weight = re.search(r"exec\.buffer.*state @.*", text).group(0)
offset = re.search(r"(?:at|offset =) (\d+)", weight).group(1)
line = re.search(r"exec\.buffer.*binding<input .*", text).group(0)
open(sys.argv[2], "w").write(text.replace(line, re.sub(r"((?:at|offset =) )\d+", rf"\g<1>{offset}", line)))
