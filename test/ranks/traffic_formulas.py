#!/usr/bin/env python3
"""What `kedge plan` says is sent by axis, beside the formulas of a transformer's step: traffic_formulas.py MODEL.onnx ROWS LENGTH WIDTH WHOLE TIED

With R = rows x length x width elements of the residual stream in a micro-batch, L = 2 blocks, A micro-batches and P elements of parameters on
a rank: along `tensor` 4 L + 2 all-gathers and as many reduce-scatters of R in a micro-batch (two of each in a block each way, one of each
at the table and at the head), or as many all-reduces of 2 R without sequence parallelism; along `data` 2 P a step in stages 0 and 1,
(A + 1) P in stage 2, at most 3 A P in stage 3; along `replica` 2 P / D; along `pipeline` R a micro-batch each way, and a table of TIED
elements that two stages share. All-reduces that are left: three numbers a token for the loss in a micro-batch; once a step, gradients of WHOLE elements (norms, biases
of row-wise products, positions), which each rank has for its rows, and squares of the gradients of row-wise products, a column each.
"""
import json
import subprocess
import sys

model, rows, length, width, whole, tied = sys.argv[1], *map(int, sys.argv[2:])
BLOCKS, residual = 2, rows * length * width
TIMES = 4 * BLOCKS + 2


def plan(mesh, *options, text=False):
    words = ["kedge", "plan", model, "--shape", f"input_ids={rows}x{length}", "--loss", "cross-entropy", "--mesh", mesh, *map(str, options)]
    done = subprocess.run([*words, *([] if text else ["--json"])], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout if text else json.loads(done.stdout)


def sent(report, axis):
    """Elements by collective; bytes are four for each."""
    found = {}
    for row in report["communication"]:
        assert row["type"] == "f32" and row["bytes"] == 4 * row["elements"], row
        if row["axis"] == axis:
            found[row["collective"]] = found.get(row["collective"], 0) + row["elements"]
    return found


def expect(what, found, expected, slack):
    assert 0 <= found - expected < slack, f"{what}: {found} elements, expected {expected}"
    print(f"{what}: {found} elements, {expected} by the formula")


def along_tensor(axes="", *options, micros=1):
    small = micros * residual // 4
    for ranks in (2, 4):
        mesh = f"tensor={ranks}{axes}"
        kept = sent(plan(mesh, "--memory-budget", "1GiB", *options), "tensor")
        expect(f"{mesh} reduce-scatter", kept["reduce_scatter"], micros * TIMES * residual, 1)
        shared = kept["all_gather"] - micros * TIMES * residual  # key heads that ranks share are gathered, and their gradients summed
        assert ranks == 4 or shared < small, kept
        if ranks == 2:
            expect(f"{mesh} all-gather", kept["all_gather"], micros * TIMES * residual, small)
            columns = 2 * BLOCKS * width
            expect(f"{mesh} all-reduce", kept["all_reduce"], 2 * (micros * 3 * rows * length + whole + columns), 1)
    off = sent(plan(f"tensor=2{axes}", "--memory-budget", "1GiB", "--sequence-parallel", "off", *options), "tensor")
    expect("without sequence parallelism", sum(off.values()), micros * 2 * TIMES * residual, 2 * residual)


def along_data():
    alone = plan("tensor=2", "--memory-budget", "1GiB")
    held = alone["state_bytes"]["parameters"] // 4
    padding = held // 50
    for stage, micros, most in ((0, 1, 2), (1, 1, 2), (2, 3, 4), (3, 1, 3), (3, 3, 9)):
        report = plan("data=2,tensor=2", "--memory-budget", "1GiB", "--zero", stage, "--accumulate", micros)
        found = sum(elements for kind, elements in sent(report, "data").items() if kind != "all_reduce_scalar")
        if stage < 3:
            expect(f"data=2,tensor=2 stage {stage}, {micros} micro-batches", found, most * held, padding)
        else:
            assert found <= most * held + padding, (stage, micros, found, held)
        if micros == 1 and stage < 3:
            assert sent(report, "tensor")["reduce_scatter"] == sent(alone, "tensor")["reduce_scatter"]
    report = plan("replica=2,data=2,tensor=2", "--memory-budget", "1GiB", "--zero", 2)
    expect("replica=2", sum(elements for kind, elements in sent(report, "replica").items() if kind != "all_reduce_scalar"), held, padding)


def along_pipeline():
    report = plan("pipeline=2", "--accumulate", 2, "--memory-budget", "1GiB", "--stage", r"(wte|wpe|embed_tokens|rotary_emb|blocks\.0|layers\.0)=0",
                  "--stage", r"(blocks\.1|layers\.1|norm|head)=1")
    expect("pipeline=2 send", sent(report, "pipeline")["send"], 2 * residual + tied, residual // 4)


along_tensor()
along_tensor("", "--accumulate", "2", micros=2)
along_data()
along_pipeline()
lines = plan("data=2,tensor=2", text=True).splitlines()
assert [line.split()[-1] for line in lines if line.startswith("  along")] == ["data", "tensor"], lines
print("as the formulas say")
