#!/usr/bin/env python3
"""adapters_axis.py FOLDER: adapters and frozen experts in few bits on ranks of their own. Losses of 20 steps are one rank's; each rank holds its experts' adapters
and codes, as planned; folders, exports and checkpoints are those of any mesh. int8 has a scale for each expert's output."""
import json
import sys

import numpy as np
from mixture import EXPERTS, LENGTH, WEIGHTS, WIDTH, Mixture, apart, save, weights_of

sys.path.insert(0, str(__import__("pathlib").Path(__file__).parents[1] / "precision" / "Inputs"))
from small import tensors  # noqa: E402

case, RANK = Mixture(sys.argv[1]), 3
folder, PATHS = case.folder, ("experts.gate_up_proj", "experts.down_proj")
LORA, steps = ["--lora", "_proj", "--lora-rank", RANK, "--lora-alpha", 2 * RANK, "--train", "^embed"], ["--steps", 20, "--lr", 0.05]
MESHES = [("expert=2", 2, []), ("data=2,expert=2", 4, []), ("data=2,expert=2", 4, ["--zero", 3])]


def rounded(weight):
    scale = abs(weight).max(-1, keepdims=True) / np.float32(127)
    return np.round(weight / scale).astype("f4") * scale


save(folder / "rounded.onnx", {name: rounded(value) if name in PATHS else value for name, value in WEIGHTS.items()})
int8 = case.run(case.compile("eight", *LORA, "--quantize", "_proj$=int8"), *steps)
assert apart(int8, case.run(case.compile("rounded", *LORA, file="rounded.onnx"), *steps)) < 1e-6

planned = lambda program: json.loads(case.do(program, "--plan"))  # noqa: E731
report = folder / "memory.json"
elements = sum(WEIGHTS[name].size for name in PATHS)
factors = sum(RANK * EXPERTS * sum(WEIGHTS[name].shape[1:]) for name in PATHS)
bias = WEIGHTS["experts.gate_up_proj_bias"].size
SCALES = {"nf4": elements // 64, "int8": sum(EXPERTS * WEIGHTS[name].shape[1] for name in PATHS)}
KINDS = {"lora": ([], 4 * elements), "nf4": (["--quantize", "_proj$=nf4"], elements // 2 + 4 * SCALES["nf4"]),
         "nested": (["--quantize", "_proj$=nf4", "--double-quantize"], elements // 2), "int8": (["--quantize", "_proj$=int8"], elements + 4 * SCALES["int8"]),
         "bf16": (["--precision", "bf16", "--quantize", "_proj$=nf4"], None)}
for kind, (options, held) in KINDS.items():
    one = case.compile("one", *LORA, *options)
    wanted = case.run(one, *steps, "--export-adapter", folder / "one-adapter", "--export-onnx", folder / "one.onnx")
    case.run(one, "--steps", 8, *steps[2:], "--checkpoint-dir", folder / f"one-{kind}")
    whole, bound = planned(one)["state_bytes"], 5e-3 if kind == "bf16" else 1e-6
    for mesh, ranks, zero in MESHES:
        program = case.compile("cut", *LORA, *options, "--mesh", mesh, *zero, rows=4 // ranks)
        found = case.run(program, *steps, "--memory-report", report, "--export-adapter", folder / "adapter", "--export-onnx", folder / "cut.onnx", ranks=ranks)
        assert apart(found, wanted) < bound, (kind, mesh, zero, found, wanted)
        plan = planned(program)
        if not zero and held:
            for what, times, more in (("parameters", 4, held + 4 * bias), ("optimizer", 8, 0), ("gradients", 4, 0)):
                assert whole[what] - plan["state_bytes"][what] == (times * factors + more) / 2, (kind, mesh, what, whole, plan["state_bytes"])
        places = 4 // ranks * LENGTH * 2  # rows go and come once in each direction, adapters or not
        sent = {(row["collective"], row["type"]): row["elements"] for row in plan["communication"] if row["axis"] == "expert"}
        kept = "bf16" if kind == "bf16" else "f32"
        assert sent["dispatch", kept] == sent["combine", kept] == 2 * places * WIDTH, (kind, mesh, sent)
        for rank in range(ranks):
            own = json.loads((report if rank == 0 else report.with_name(f"memory.rank-{rank}.json")).read_text())
            for key in ("arena_bytes", "state_bytes", "communication"):
                assert own[key] == plan[key], (kind, mesh, rank, key)
        if kind == "bf16":
            continue
        assert apart(case.run(program, *steps, "--resume", folder / f"one-{kind}", ranks=ranks)[-12:], wanted[8:]) < bound, (kind, mesh)
        pairs = [(tensors(folder / name / "adapter_model.safetensors") for name in ("one-adapter", "adapter")), (weights_of(folder / name) for name in ("one.onnx", "cut.onnx"))]
        for first, second in pairs:
            assert set(first) == set(second) and all(abs(first[name] - second[name]).max() < 1e-4 for name in first), (kind, mesh, zero)
    case.run(program, "--steps", 8, *steps[2:], "--checkpoint-dir", folder / f"of-{kind}", ranks=ranks)
    assert apart(case.run(one, *steps, "--resume", folder / f"of-{kind}")[-12:], wanted[8:]) < max(bound, 1e-6), kind
    print(f"{kind}: as one rank")
