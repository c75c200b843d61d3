#!/usr/bin/env python3
"""Every byte of a file as a token of 16 bits: byte_tokens.py FILE TOKENS."""
import sys

with open(sys.argv[1], "rb") as text, open(sys.argv[2], "wb") as tokens:
    for byte in text.read():
        tokens.write(bytes((byte, 0)))
