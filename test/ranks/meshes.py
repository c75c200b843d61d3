#!/usr/bin/env python3
"""What meshes of ranks must do, each a check of its own: meshes.py GOLDEN TEMP [CHECK...].

GOLDEN holds the golden models. A mesh is written RxD: R copies (`replica`) of what D ranks cut (`data`). A check compares meshes
with one rank that has as many rows. Numbered checks are faults that others had.
"""
import json
import os
import pathlib
import subprocess
import sys

from others import LENGTH, check_output, expect_near, tensors, write_npy

ROWS, STEPS = 12, 6
SGD = ["--optimizer", "sgd", "--momentum", "0.9", "--lr", "0.05", "--weight-decay", "0.1"]


class Model:
    def __init__(self, folder, temp, shape, loss):
        self.folder, self.temp, self.shape, self.loss, self.programs = folder, temp, shape, loss, {}
        trace = json.loads((folder / "trace.json").read_text())
        self.data = {name: folder / file for name, file in trace["data"].items()}

    def compile(self, mesh, stage=0, *options, accumulate=1):
        replicas, data = map(int, mesh.split("x"))
        made = (mesh, stage, accumulate, *options)
        if made not in self.programs:
            program = self.programs[made] = self.temp / f"program-{len(self.programs)}"
            rows = ROWS // (replicas * data * accumulate)
            check_output("kedge", "compile", self.folder / "model.onnx", "--shape", self.shape.format(rows), *self.loss,
                         *(["--mesh", f"replica={replicas},data={data}", "--bucket-bytes", "16KiB"] if mesh != "1x1" else []),
                         "--zero", stage if mesh != "1x1" else 0, "--accumulate", accumulate, *options, "-o", program)
        return self.programs[made]

    def run(self, mesh, program, *options, data=None, steps=STEPS):
        """Log without timings, weights."""
        replicas, part = map(int, mesh.split("x"))
        log, weights = self.temp / "log.jsonl", self.temp / "weights.safetensors"
        log.unlink(missing_ok=True)  # a run that goes on appends
        launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", replicas * part] if mesh != "1x1" else []
        files = [word for name, file in (data or self.data).items() for word in ("--data", f"{name}={file}")]
        check_output(*launcher, program, *files, "--steps", steps, "--threads", 1, "--log", log, "--export-safetensors", weights, *options)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return [{key: line[key] for key in ("step", "loss", "grad_norm", "loss_scale", "skipped")} for line in lines], tensors(weights)


def near(found, wanted, loss=1e-5, norm=1e-4):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        for key, bound in (("loss", loss), ("grad_norm", norm)):
            assert a[key] == b[key] or abs(a[key] - b[key]) <= bound * abs(b[key]), f"{a} instead of {b}"
        assert (a["loss_scale"], a["skipped"]) == (b["loss_scale"], b["skipped"]), f"{a} instead of {b}"


def gpt(golden, temp):
    return Model(golden / "gpt", temp, "input_ids={}x" + str(LENGTH), ["--loss", "cross-entropy"])


def perceptron(golden, temp):
    return Model(golden / "perceptron", temp, "input={}x10", ["--loss", "mse"])


def clips_by_one_norm_1(golden, temp):
    """Each part clipped by its own norm (torchtitan#596)."""
    model = gpt(golden, temp)
    options = [*SGD, "--clip-norm", "0.3"]
    log, weights = model.run("1x1", model.compile("1x1", 0, *options))
    for mesh, stage in (("2x2", 2), ("2x2", 0), ("2x1", 0)):
        found, own = model.run(mesh, model.compile(mesh, stage, *options))
        near(found, log)
        expect_near(own, weights)


def counts_items_of_all_4(golden, temp):
    """Ranks or micro-batches with different numbers of unmasked tokens weighed equally (torchtitan#2206, verl#5625)."""
    model = gpt(golden, temp)
    rows = [[(7 * r + 3 * i) % 40 for i in range(LENGTH)] for r in range(ROWS * STEPS)]
    labels = [[token if (i + r) % (1 + r % 5) == 0 and r % ROWS != 4 else -100 for i, token in enumerate(row)] for r, row in enumerate(rows)]
    write_npy(temp / "ids.npy", rows)
    write_npy(temp / "labels.npy", labels)
    data = {"input_ids": temp / "ids.npy", "labels": temp / "labels.npy"}
    log, weights = model.run("1x1", model.compile("1x1", 0, *SGD), data=data)
    for mesh, stage, accumulate in (("2x2", 1, 1), ("2x2", 3, 3), ("3x2", 2, 2)):
        found, own = model.run(mesh, model.compile(mesh, stage, *SGD, accumulate=accumulate), data=data)
        near(found, log) if accumulate == 1 else near(found[:1], log[:1])  # micro-batches take other rows later
        if accumulate == 1:
            expect_near(own, weights)


def all_skip_together_15(golden, temp):
    """One part overflowed in fp16 and the scales parted ways (Megatron-Bridge#5591)."""
    model = gpt(golden, temp)
    options = [*SGD, "--precision", "fp16", "--loss-scale-init", "4194304"]
    log, _ = model.run("1x1", model.compile("1x1", 0, *options))
    assert any(line["skipped"] for line in log) and not all(line["skipped"] for line in log), log
    for stage in (1, 3):
        found, _ = model.run("2x2", model.compile("2x2", stage, *options))
        near(found, log, 4e-3, 2e-2)


def steps_are_counted_without_parts_18(golden, temp):
    """A rank that owned no parameter saved no step count (TransformerEngine#3318): the bias of three on four ranks."""
    model = perceptron(golden, temp)
    program = model.compile("1x4", 2, "--freeze", "weight")
    whole, weights = model.run("1x4", program)
    model.run("1x4", program, "--checkpoint-dir", temp / "ck", steps=3)
    log, own = model.run("1x4", program, "--resume", temp / "ck")
    assert log == whole[3:] and own == weights, (log, whole)


def checkpoints_go_on_everywhere_20(golden, temp):
    """A sharded checkpoint deadlocked, or its optimizer state came back wrong (transformers#48569, nanotron#106): all pairs of
    five meshes; to the bit on the mesh that saved it."""
    model = perceptron(golden, temp)
    meshes = {"1x1": 0, "1x2": 3, "2x1": 0, "2x2": 2, "1x4": 1}
    whole = {mesh: model.run(mesh, model.compile(mesh, stage)) for mesh, stage in meshes.items()}
    for mesh, stage in meshes.items():
        near(whole[mesh][0], whole["1x1"][0])
        saved = temp / f"ck-{mesh}"
        model.run(mesh, model.compile(mesh, stage), "--checkpoint-dir", saved, steps=3)
        for other, stage in meshes.items():
            log, weights = model.run(other, model.compile(other, stage), "--resume", saved)
            near(log, whole[mesh][0][3:])
            if mesh == other:
                assert log == whole[mesh][0][3:] and weights == whole[mesh][1], f"{mesh}: not to the bit"


def stages_agree_to_the_bit(golden, temp):
    """All stages on 2x2, and with micro-batches 2 with 3; whole gradients are those of one rank."""
    model = gpt(golden, temp)
    dump = ["--dump-gradients", temp / "g", "--dump-step", 1]
    log, _ = model.run("1x1", model.compile("1x1", 0, *SGD), *dump)
    wanted = tensors(temp / "g")
    first = None
    for stage in (0, 1, 2, 3):
        found = model.run("2x2", model.compile("2x2", stage, *SGD), *dump)
        near(found[0], log)
        expect_near(tensors(temp / "g"), wanted, 1e-6)
        first = first or found
        assert found == first, f"stage {stage}"
    pair = [model.run("2x2", model.compile("2x2", stage, *SGD, accumulate=3)) for stage in (2, 3)]
    assert pair[0] == pair[1]
    near(pair[0][0][:1], log[:1])


def same_bits_everywhere(golden, temp):
    """--same-bits 4: logs and weights of 1, 2, 4 and 2x2 ranks are equal to the bit, whatever stage, precision, codes of moments and accumulation."""
    model = gpt(golden, temp)
    clip = ["--same-bits", "4", "--clip-norm", "0.7"]
    for options, accumulate in (([], 1), (["--precision", "bf16"], 1), (["--precision", "fp16", "--loss-scale-init", "4194304"], 1),
                                (["--optimizer", "adamw8bit"], 1), ([], 3)):
        wanted = model.run("1x1", model.compile("1x1", 0, *clip, *options, accumulate=accumulate))
        for mesh, stage in (("1x2", 1), ("2x1", 0), ("2x2", 3), ("1x4", 2)):
            if accumulate == 1 or mesh != "1x4":
                found = model.run(mesh, model.compile(mesh, stage, *clip, *options, accumulate=accumulate))
                assert found == wanted, f"{mesh} --zero {stage} {options} x {accumulate}: {found[0]} instead of {wanted[0]}"
    plain, _ = model.run("1x1", model.compile("1x1", 0, "--clip-norm", "0.7"))
    near(model.run("1x1", model.compile("1x1", 0, *clip))[0], plain)


def copies_of_machines(golden, temp):
    """--replicas node: the mesh follows from the ranks that the launcher put on each machine."""
    model = perceptron(golden, temp)
    rows = ["--shape", "input=3x10", "--loss", "mse", "--zero", "3"]
    program = temp / "node"
    check_output("kedge", "compile", model.folder / "model.onnx", *rows, "--ranks", 4, "--replicas", "node", "-o", program)
    assert b'"shared":{"' in program.read_bytes()  # kernels that the meshes have in common are stored once
    files = [word for name, file in model.data.items() for word in ("--data", f"{name}={file}")]
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", 4]
    for local, mesh in ((2, "2x2"), (4, "1x4")):
        report = temp / f"node-{local}.json"
        check_output(*mpirun, "env", f"OMPI_COMM_WORLD_LOCAL_SIZE={local}", program, *files, "--steps", 3, "--threads", 1,
                     "--memory-report", report, "--log", temp / "node.jsonl")
        found = json.loads(report.read_text())
        assert {axis["name"]: axis["size"] for axis in found["mesh"]["axes"]} == ({"replica": 2, "data": 2} if local == 2 else {"data": 4})
        log = [json.loads(line)["loss"] for line in (temp / "node.jsonl").read_text().splitlines()]
        assert log == [line["loss"] for line in model.run(mesh, model.compile(mesh, 3), steps=3)[0]]
    done = subprocess.run([*map(str, mpirun), "env", "OMPI_COMM_WORLD_LOCAL_SIZE=3", program, *map(str, files), "--steps", "1"],
                          capture_output=True, text=True)
    assert done.returncode != 0 and "4 ranks, 3 of them on this machine: --replicas node needs as many ranks on each" in done.stderr, done.stderr


def formulas(golden, temp):
    """State is cut over data alone; 2 P / D elements more go along replica, once a step. Every rank reports what was planned."""
    model = gpt(golden, temp)
    def plan(mesh, stage, *options, accumulate=1):
        return json.loads(check_output(model.compile(mesh, stage, *options, accumulate=accumulate), "--plan"))
    def sent(report, axis):
        return sum(row["elements"] for row in report["communication"] if row["axis"] == axis and not row["collective"].endswith("_scalar"))
    flat = {stage: plan("1x2", stage) for stage in range(4)}
    whole = sent(flat[0], "data") // 2
    for stage, accumulate in ((0, 1), (1, 1), (2, 1), (3, 1), (2, 3), (3, 3)):
        report = plan("2x2", stage, accumulate=accumulate)
        if accumulate == 1:
            assert report["state_bytes"] == flat[stage]["state_bytes"], stage
            assert sent(report, "data") == sent(flat[stage], "data"), stage
        padding = 2 * 4 * len(tensors_of(model))
        assert abs(sent(report, "replica") - whole) <= padding, (stage, sent(report, "replica"), whole)  # 2 P / D with D = 2
        assert report["mesh"] == {"axes": [{"name": "replica", "size": 2}, {"name": "data", "size": 2}]}
        assert report["ranks"] == [{"rank": 0, "stage": 0, "peak_bytes": report["peak_bytes"], "arena_bytes": report["arena_bytes"], "bubble": 0}]
    report = temp / "memory.json"
    model.run("2x2", model.compile("2x2", 3), "--memory-report", report, steps=4)
    for rank in range(4):
        own = json.loads((report if rank == 0 else report.with_name(f"memory.rank-{rank}.json")).read_text())
        assert own["communication"] == plan("2x2", 3)["communication"], rank


def tensors_of(model):
    weights = model.temp / "start.safetensors"
    check_output(model.compile("1x1"), "--steps", 0, "--export-safetensors", weights)
    return tensors(weights)


CHECKS = [clips_by_one_norm_1, counts_items_of_all_4, all_skip_together_15, steps_are_counted_without_parts_18,
          checkpoints_go_on_everywhere_20, stages_agree_to_the_bit, same_bits_everywhere, copies_of_machines, formulas]


def main():
    golden, temp = map(pathlib.Path, sys.argv[1:3])
    wanted = sys.argv[3:] or [check.__name__ for check in CHECKS]
    for check in CHECKS:
        if check.__name__ in wanted:
            work = temp / check.__name__
            subprocess.run(["rm", "-rf", work], check=True)
            work.mkdir(parents=True)
            check(golden, work)
            print(f"{check.__name__}: as it should be", flush=True)


if __name__ == "__main__":
    main()
