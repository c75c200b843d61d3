"""--export-safetensors FILE:TYPE rounds each float once, half to even: exported.py WIDE NARROW bf16|fp16."""
import sys

import ml_dtypes
import numpy
from small import tensors

wide, narrow = tensors(sys.argv[1]), tensors(sys.argv[2])
kind = {"bf16": ml_dtypes.bfloat16, "fp16": numpy.float16}[sys.argv[3]]
assert wide.keys() == narrow.keys() and wide
for name, values in wide.items():
    assert values.dtype == numpy.float32, name
    assert numpy.array_equal(values.astype(kind).astype(numpy.float32), narrow[name].astype(numpy.float32)), name
assert open(sys.argv[2], "rb").read().count(b'"dtype":"%s"' % {"bf16": b"BF16", "fp16": b"F16"}[sys.argv[3]]) == len(wide)
print(f"{len(wide)} tensors in {sys.argv[3]}")
