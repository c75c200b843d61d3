#!/usr/bin/env python3
"""What other trainers got wrong with ranks, each a check of its own on three ranks: others.py FOLDER TEMP [CHECK...].

FOLDER holds the golden gpt: embedding and head tied, fused query-key-value weights, no size a multiple of three. A check
compares three ranks of two rows with one rank of six, trained by SGD, which amplifies no rounding.
"""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys

STEPS, RANKS, ROWS, LENGTH = 8, 3, 2, 24
COMPILE = ["--loss", "cross-entropy", "--optimizer", "sgd", "--momentum", "0.9", "--lr", "0.05", "--weight-decay", "0.1"]


def check_output(*command, **environment):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=200,
                          env={**os.environ, **environment})
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done.stdout


def tensors(path):
    raw = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    found = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            found[name] = struct.unpack(f"<{(end - begin) // 4}f", raw[8 + size + begin:8 + size + end])
    return found


def expect_near(found, wanted, bound=2e-5):
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        for at, (a, b) in enumerate(zip(found[name], values, strict=True)):
            assert abs(a - b) <= bound * max(1, abs(b)), f"{name}, element {at}: {a} instead of {b}"


def write_npy(path, rows):
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    values = [value for row in rows for value in row]
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                     struct.pack(f"<{len(values)}q", *values))


class Gpt:
    def __init__(self, folder, temp):
        self.folder, self.temp, self.programs, self.runs = folder, temp, {}, {}
        self.data = {name: folder / f"{name}.npy" for name in ("input_ids", "labels")}

    def compile(self, stage, *options, ranks=RANKS, rows=ROWS):
        made = (stage, *options, ranks, rows)
        if made in self.programs:
            return self.programs[made]
        program = self.programs[made] = self.temp / f"program-{len(self.programs)}"
        buckets = [] if "--bucket-bytes" in options else ["--bucket-bytes", "16KiB"]
        check_output("kedge", "compile", self.folder / "model.onnx", "--shape", f"input_ids={rows}x{LENGTH}", *COMPILE, *buckets,
                     "--ranks", ranks, "--zero", stage, *options, "-o", program)
        return program

    def run(self, program, *options, ranks=RANKS, data=None, **environment):
        """Log without timings, exported weights."""
        log, weights = program.with_suffix(".jsonl"), program.with_suffix(".safetensors")
        launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", ranks] if ranks > 1 else []
        files = [word for name, file in (data or self.data).items() for word in ("--data", f"{name}={file}")]
        check_output(*launcher, program, *files, "--steps", STEPS, "--threads", 1, "--log", log, "--export-safetensors",
                     weights, *options, **environment)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return [(line["step"], line["loss"], line["grad_norm"]) for line in lines], tensors(weights)

    def alone(self, accumulate=1, **options):
        return self.run(self.compile(0, ranks=1, rows=RANKS * ROWS * accumulate), ranks=1, **options)

    def plainly(self, program):
        """A run without options, once."""
        if program not in self.runs:
            self.runs[program] = self.run(program)
        return self.runs[program]


def tied_weight_with_uneven_shards(gpt):
    """The last rank never updated its part (pytorch#176076)."""
    _, wanted = gpt.alone()
    start = tensors_of_model(gpt)
    for stage in (1, 2, 3):
        _, found = gpt.plainly(gpt.compile(stage))
        expect_near(found, wanted)
        tied = found["wte.weight"]
        last = -(-len(tied) // RANKS) * (RANKS - 1)
        assert len(tied) % RANKS and tied[last:] != start["wte.weight"][last:]


def tensors_of_model(gpt):
    program = gpt.compile(0, ranks=1)
    weights = gpt.temp / "start.safetensors"
    check_output(program, "--steps", 0, "--export-safetensors", weights)
    return tensors(weights)


def padding_reaches_no_neighbour(gpt):
    """Padding of a gathered parameter leaked into the next (DeepSpeed#8158): all in one bucket, stage 3."""
    _, wanted = gpt.alone()
    _, found = gpt.run(gpt.compile(3, "--bucket-bytes", "25MiB"))
    expect_near(found, wanted)


def waiting_on_the_right_stream(gpt):
    """NaN from waiting on the wrong stream (DeepSpeed#7898): dead bytes are NaN, and no result changes."""
    for stage in (1, 2, 3):
        program = gpt.compile(stage)
        assert gpt.plainly(program) == gpt.run(program, KEDGE_POISON="1")


def buffers_live_until_communication_ends(gpt):
    """NaN from a buffer that was used again too early (DeepSpeed#7965): with and without overlap the same bits."""
    for stage in (2, 3):
        program = gpt.compile(stage)
        assert gpt.plainly(program) == gpt.run(program, KEDGE_NO_OVERLAP="1")


def offloaded_gradients_of_all_micro_batches(gpt):
    """Those of earlier micro-batches were dropped (DeepSpeed#7967, #7981)."""
    wanted = gpt.run(gpt.compile(2, "--accumulate", 3))
    assert gpt.run(gpt.compile(2, "--accumulate", 3, "--offload", "gradients")) == wanted
    expect_near(wanted[1], gpt.alone(accumulate=3)[1])


def gradients_are_scaled_once(gpt):
    """They were scaled once a stage (DeepSpeed#8154): whole gradients and norms as on one rank, in every stage."""
    dumped = gpt.temp / "gradients.safetensors"
    flags = ["--dump-gradients", dumped, "--dump-step", 1]
    norms = [line[2] for line in gpt.run(gpt.compile(0, ranks=1, rows=RANKS * ROWS), *flags, ranks=1)[0]]
    wanted = tensors(dumped)
    for stage in (0, 1, 2, 3):
        log, _ = gpt.run(gpt.compile(stage), *flags)
        expect_near(tensors(dumped), wanted, 1e-6)
        for found, norm in zip(log, norms, strict=True):
            assert abs(found[2] - norm) <= 1e-5 * norm


def sharding_in_any_order_of_options(gpt):
    """It was silently off when things started in another order (DeepSpeed#8089)."""
    plans = []
    for options in (["--zero", 3, "--ranks", 3, "--clip-norm", 1], ["--clip-norm", 1, "--ranks", 3, "--zero", 3]):
        program = gpt.temp / "ordered"
        check_output("kedge", "compile", gpt.folder / "model.onnx", *options, *COMPILE, "--shape",
                     f"input_ids={ROWS}x{LENGTH}", "-o", program)
        plans.append(json.loads(check_output(program, "--plan")))
    assert plans[0] == plans[1]
    whole = json.loads(check_output(gpt.compile(0, ranks=1), "--plan"))["state_bytes"]
    for part in ("parameters", "optimizer"):
        assert plans[0]["state_bytes"][part] < 0.4 * whole[part], f"{part} are not cut"


def parameters_used_on_some_ranks_only(gpt):
    """Collectives did not match (pytorch#170667), a part of zeros was taken for unused (#174862)."""
    generator = random.Random(2)
    rows = []
    for step in range(STEPS):
        rows += [[generator.randrange(20, 40) for _ in range(LENGTH)] for _ in range(ROWS)]  # rank 0
        rows += [[1] * LENGTH for _ in range(ROWS * (RANKS - 1))]  # the others: a single token
    data = {"input_ids": gpt.temp / "some.npy", "labels": gpt.temp / "some.npy"}
    write_npy(data["input_ids"], rows)
    _, wanted = gpt.alone(data=data)
    for stage in (0, 1, 2, 3):
        expect_near(gpt.run(gpt.compile(stage), data=data)[1], wanted)


def fused_weights_are_cut_and_put_together(gpt):
    """Fused weights were cut wrongly on load (Megatron-LM#2769)."""
    folder = gpt.temp / "ck"
    _, wanted = gpt.run(gpt.compile(3), "--checkpoint-dir", folder)
    for stage, ranks in ((0, 1), (3, 3), (1, 3)):
        _, found = gpt.run(gpt.compile(stage, ranks=ranks), "--resume", folder, ranks=ranks)
        assert found == wanted


def gathered_no_more_than_needed(gpt):
    """Weights were gathered again although memory had room (marin#6304): at most 3 A P elements, and with parameters
    that stay whole those of stage 2."""
    def sent(stage, *options):
        rows = json.loads(check_output(gpt.compile(stage, *options), "--plan"))["communication"]
        return sum(row["elements"] for row in rows if not row["collective"].endswith("_scalar"))
    parameters = sent(2) // 2
    for micro in (1, 2):
        assert sent(3, "--accumulate", micro) <= 3 * micro * parameters
    assert sent(3, "--persist-bytes", "1MiB") == sent(2)


CHECKS = [tied_weight_with_uneven_shards, padding_reaches_no_neighbour, waiting_on_the_right_stream,
          buffers_live_until_communication_ends, offloaded_gradients_of_all_micro_batches, gradients_are_scaled_once,
          sharding_in_any_order_of_options, parameters_used_on_some_ranks_only, fused_weights_are_cut_and_put_together,
          gathered_no_more_than_needed]


def main():
    folder, temp = map(pathlib.Path, sys.argv[1:3])
    temp.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[3:] or [check.__name__ for check in CHECKS]
    for check in CHECKS:
        if check.__name__ in wanted:
            work = temp / check.__name__
            subprocess.run(["rm", "-rf", work], check=True)
            work.mkdir()
            check(Gpt(folder, work))
            print(f"{check.__name__}: as it should be", flush=True)


if __name__ == "__main__":
    main()
