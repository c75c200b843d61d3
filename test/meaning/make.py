#!/usr/bin/env python3
"""Makes the folders in `cases`: make.py [NAME...]. Needs torch and onnxscript; no test runs it.

A case is a function of this folder's modules (`cases_*.py`) that is decorated with `@case`, and fills a new folder.
"""
import importlib
import pathlib
import sys

from making import KNOWN

for module in sorted(pathlib.Path(__file__).parent.glob("cases_*.py")):
    importlib.import_module(module.stem)
for name in sys.argv[1:] or KNOWN:
    KNOWN[name]()
