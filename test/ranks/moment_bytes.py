#!/usr/bin/env python3
"""Bytes of the optimizer's state against formulas: moment_bytes.py MODEL SHAPE

Plans AdamW with moments in fp32, bf16 and int8 on 1 to 4 ranks along `data`, and on 2x2, in stages 0 and 3; `state_bytes.optimizer` is
the formula to the byte. So it is with masters in two parts and with a moving average of each parameter. Parameters are those of
level 2, read from `kedge compile --emit train`.
"""
import json
import math
import re
import subprocess
import sys


def run(*command):
    done = subprocess.run(["kedge", *command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stderr}")
    return done.stdout


def moment(elements, kind, ranks):
    """Bytes of one of Adam's two moments on a rank."""
    if kind == "int8" and elements >= 4096:
        groups = math.ceil(elements / 32)
        cut = ranks if elements % 32 == 0 and groups % ranks == 0 else 1
        return (32 + 2) * groups // cut
    return (2 if kind == "bf16" else 4) * math.ceil(elements / ranks)


def split(sizes, stage, ranks):
    """Two bytes a parameter, and with int8 moments a residual of one: in parts as ZeRO cuts parameters, and what is updated."""
    parameters = sum(2 * (math.ceil(size / ranks) if stage == 3 else size) for size in sizes)
    return parameters, sum(math.ceil(size / (ranks if stage else 1)) + 2 * moment(size, "int8", ranks if stage else 1) for size in sizes)


def main():
    model, shape = sys.argv[1:]
    common = [model, "--shape", shape, "--loss", "cross-entropy"]
    text = run("compile", *common, "--emit", "train")
    sizes = [math.prod(map(int, dims.split("x"))) for dims in re.findall(r"train\.state\s+parameter @\S+ tensor<([0-9x]+)xf32>", text)]
    cases = 0

    def plan(*options):
        return json.loads(run("plan", *common, *options, "--json"))["state_bytes"]

    for kind in ("fp32", "bf16", "int8"):
        for mesh, ranks in (("data=1", 1), ("data=2", 2), ("data=3", 3), ("data=4", 4), ("replica=2,data=2", 2)):
            for stage in (0, 3):
                found = plan("--mesh", mesh, "--zero", str(stage), "--moments", kind)["optimizer"]
                expected = sum(2 * moment(size, kind, ranks if stage else 1) for size in sizes)
                if found != expected:
                    sys.exit(f"{kind}, {mesh}, stage {stage}: {found} bytes, expected {expected}")
                cases += 1
    for mesh, ranks in (("data=1", 1), ("data=2", 2), ("data=4", 4), ("replica=2,data=2", 2)):
        for stage in (0, 1, 3):
            bytes_ = plan("--mesh", mesh, "--zero", str(stage), "--precision", "bf16", "--master-weights", "split", "--moments", "int8")
            expected = split(sizes, stage, ranks)
            if (bytes_["parameters"], bytes_["optimizer"]) != expected or bytes_["working_copies"]:
                sys.exit(f"split, {mesh}, stage {stage}: {bytes_}, expected {expected}")
            bytes_ = plan("--mesh", mesh, "--zero", str(stage), "--ema", "0.99", "--optimizer", "sgd")
            average = sum(4 * math.ceil(size / (ranks if stage else 1)) for size in sizes)
            if bytes_["optimizer"] != average:
                sys.exit(f"average, {mesh}, stage {stage}: {bytes_}, expected {average}")
            cases += 2
    print(f"{cases} plans of {len(sizes)} parameters as the formulas say")


main()
