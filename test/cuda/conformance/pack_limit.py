#!/usr/bin/env python3
"""pack_limit.py SCRIPTS PACK MIB -- archives a pack that is there once more, under another limit."""
import argparse
import json
import pathlib
import sys

sys.path.append(sys.argv[1])
from gpu_pack import Pack

pack = object.__new__(Pack)
pack.out, pack.made = pathlib.Path(sys.argv[2]), {}
pack.o = argparse.Namespace(tiny=True, limit_mib=float(sys.argv[3]))
pack.manifest = json.loads((pack.out / "manifest.json").read_text())
pack.check_size()
