#!/usr/bin/env python3
"""Regenerates nf4.json: the runs over weights in 4 bits of the golden adapters beside the repository: make_nf4.py SHARED.

Needs what their make.py does. bitsandbytes 0.50.2's CPU kernel dequantize_4bit reads past its absmaxes where rows are no multiple of
the block of 64 elements, as here (48 and 96): its values differ from run to run, and so do the traces made with it. Here codes
and absmaxes are its own, and the values are table[code] absmax, as its other kernels compute them.
"""
import importlib.util
import json
import pathlib
import sys
import tempfile

import bitsandbytes.functional as bnb
import torch


def dequantised(weight, double):
    codes, state = bnb.quantize_4bit(weight, quant_type="nf4", blocksize=64, compress_statistics=double)
    absmax, packed = state.absmax, codes.flatten()
    if double:
        absmax = state.state2.code[absmax.long()] * state.state2.absmax.repeat_interleave(256)[:absmax.numel()] + state.offset
    numbers = torch.stack([packed >> 4, packed & 15], 1).flatten().long()[:weight.numel()]
    return (state.code[numbers] * absmax.repeat_interleave(64)[:weight.numel()]).reshape(weight.shape)


def quantised(module, what, double):
    norms = {}
    for name, parameter in module.named_parameters():
        if any(name.endswith(word + ".weight") for word in what):
            parameter.data = dequantised(parameter.data, double)
            norms[name] = float(parameter.data.double().norm())
    return module, norms


def main():
    spec = importlib.util.spec_from_file_location("adapters_make", pathlib.Path(sys.argv[1]) / "adapters" / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    torch.set_num_threads(1)
    make.quantised = quantised
    with tempfile.TemporaryDirectory() as folder:
        make.HERE = pathlib.Path(folder)
        make.make_llama_qlora()
        runs = json.loads((make.HERE / "llama-qlora" / "trace.json").read_text())["runs"]
    kept = {name: {key: runs[name][key] for key in ("loss", "grad_norm", "adapter_norms", "dequantised_norms")} for name in ("nf4", "nf4_double")}
    (pathlib.Path(__file__).parent / "nf4.json").write_text(json.dumps(kept) + "\n")


if __name__ == "__main__":
    main()
