#!/usr/bin/env python3
"""State that `kedge plan` reports beside the formulas of ZeRO: zero_formulas.py FOLDER [--all]

GPT-2 124M at one row of 64 tokens, on 1, 2, 4 and 8 ranks, in stages 0 to 3, fp32 and bf16: `state_bytes` are the formulas,
and so is what is held at the update when clipping waits for all gradients, within 1% (up to stage 1 as much or less: a rank
holds parts of the sums by then). Shards end in padding: at most
`ranks` elements a tensor. FOLDER holds NAME.onnx of kedge shapes: also Table 1 of the ZeRO paper, and cases counted
by hand. Prints a row a case. Without --all every number of ranks, stage and precision comes up, but not all together, and
plans of over a second are made once a precision.
"""
import json
import os
import subprocess
import sys

GPT2, GPT2_TENSORS = 124439808, 148
KINDS = ("parameters", "working_copies", "gradients", "optimizer")


def plan(model, shape, loss, ranks, stage, precision, *options):
    done = subprocess.run(["kedge", "plan", model, "--shape", shape, "--loss", loss, "--ranks", str(ranks), "--zero",
                           str(stage), "--precision", precision, "--json", *options], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{model}: exit {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def formulas(elements, ranks, stage, precision, accumulates=False):
    """Bytes of a rank by kind; Adam has two moments in fp32."""
    part = elements / ranks
    narrow = precision != "fp32"
    sharded = [part if stage >= at else elements for at in (0, 1, 2, 3)]  # what stage `at` cuts
    gradient = 4 if accumulates or not narrow else 2
    return {"parameters": 4 * (sharded[1] if narrow else sharded[3]),
            "working_copies": 2 * sharded[3] if narrow else 0,
            "gradients": gradient * sharded[2],
            "optimizer": 8 * sharded[1]}


def check(what, found, expected, slack):
    for kind in KINDS:
        if not 0 <= found[kind] - expected[kind] + slack(kind, expected) <= 2 * slack(kind, expected):
            sys.exit(f"{what}: {kind} {found[kind]}, expected {expected[kind]:.0f}")


#: Stages by precision and number of ranks.
ALL = {precision: {ranks: range(4) if ranks > 1 else (0,) for ranks in (1, 2, 4, 8)} for precision in ("fp32", "bf16")}
SLOW = ("lesson-l", "7b")
SOME = {"fp32": {1: (0,), 2: (1, 3), 4: range(4), 8: (0, 2)}, "bf16": {4: range(4)}}


def gpt2(model, cases):
    for precision, of_ranks in cases.items():
        for ranks, stages in of_ranks.items():
            for stage in stages:
                report = plan(model, "input_ids=1x64", "cross-entropy", ranks, stage, precision, "--clip-norm", "1")
                expected = formulas(GPT2, ranks, stage, precision)
                padding = 8 * ranks * GPT2_TENSORS
                what = f"gpt2 {precision}, {ranks} ranks, stage {stage}"
                check(what, report["state_bytes"], expected, lambda *_: padding)
                at_update = report["update_breakdown"]
                # Up to stage 1 the sums over ranks are there in parts; who needs them whole gathers them one by one.
                if stage < 2 and expected["gradients"] / ranks - padding <= at_update["gradients"] < expected["gradients"]:
                    expected["gradients"] = at_update["gradients"]
                check(what + ", at the update", at_update, expected, lambda kind, formula: padding + formula[kind] / 100)
                print(what, *(at_update[kind] for kind in KINDS), report["peak_bytes"])


def whole(report):
    return sum(report["state_bytes"].values())


def by_hand(folder, all_stages):
    """(model, shape, precision, options, ranks, {stage: bytes or GB with its digits})."""
    model = lambda name: os.path.join(folder, f"{name}.onnx")
    tokens, rows = ("input_ids=1x64", "cross-entropy"), lambda width: (f"x=1x{width}", "mse")
    case = lambda name, shape, precision, ranks, stages, *options: (name, shape, precision, ranks, stages, options)
    l = 1416552448
    cases = [
        case("lesson-l", tokens, "bf16", 8, {0: 22664839168, 1: 7791038464, 2: 5312071680, 3: 2833104896}),
        case("gpt2", tokens, "bf16", 8, {1: 684418944, 2: 466649280, 3: 248879616}),
        case("lesson-l", tokens, "fp32", 8, {0: 16 * l, 1: 8 * l + l, 2: 4 * l + 12 * l // 8, 3: 2 * l}),
        case("1b", rows(10000), "bf16", 4, {0: 16 * 10**9, 2: 5500 * 10**6}),
        case("1b", rows(10000), "fp32", 4, {1: 10 * 10**9}),
        case("7b", rows(10000), "bf16", 8, {0: 112 * 10**9, 1: 38500 * 10**6, 2: 26250 * 10**6, 3: 14 * 10**9}),
        case("7b", rows(10000), "bf16", 8, {0: 126 * 10**9, 1: 52500 * 10**6, 2: 28 * 10**9, 3: 15750 * 10**6}, "--accumulate", "2"),
        case("linears-48", rows(4096), "fp32", 1, {0: 12888047616}),
        # The paper's Table 1, in GB: exact values, which it rounds.
        case("7.5b", rows(10000), "bf16", 4, {1: 52500 * 10**6, 2: 41250 * 10**6, 3: 30 * 10**9}),
        case("7.5b", rows(10000), "bf16", 64, {1: 31406250000, 2: 16640625000, 3: 1875 * 10**6}),
        case("128b", rows(40000), "bf16", 64, {1: 536 * 10**9, 2: 284 * 10**9, 3: 32 * 10**9}),
        case("1t", rows(100000), "bf16", 1024, {1: 4011718750000, 2: 2013671875000, 3: 15625 * 10**6}),
    ]
    for name, (shape, loss), precision, ranks, stages, options in cases:
        some = dict(list(stages.items())[-1:]) if name in SLOW else stages
        for stage, expected in (stages if all_stages else some).items():
            found = whole(plan(model(name), shape, loss, ranks, stage, precision, *options))
            print(name, precision, f"{ranks} ranks, stage {stage}:", found, *options)
            if found != expected:
                sys.exit(f"expected {expected}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--all"]):
        sys.exit(__doc__)
    by_hand(sys.argv[1], bool(sys.argv[2:]))
    gpt2(os.path.join(sys.argv[1], "gpt2.onnx"), ALL if sys.argv[2:] else SOME)
    print("all as the formulas say")
