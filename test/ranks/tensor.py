#!/usr/bin/env python3
"""The axis `tensor`: dimensions of single tensors cut over ranks, each a check of its own: tensor.py GOLDEN TEMP [CHECK...].

GOLDEN holds the golden models. A check compares two ranks or more, which all read the same rows, with one rank. Numbered checks are
faults that others had.
"""
import json
import pathlib
import subprocess
import sys

from others import LENGTH, check_output, expect_near, tensors
from meshes import near

STEPS = 6
SGD = ["--optimizer", "sgd", "--momentum", "0.9", "--lr", "0.05", "--weight-decay", "0.1"]


class Model:
    def __init__(self, folder, temp, *options):
        self.folder, self.temp, self.options, self.programs = folder, temp, options, {}
        self.data = {name: folder / file for name, file in json.loads((folder / "trace.json").read_text())["data"].items()}

    def compile(self, mesh, *options):
        made = (mesh, *options)
        if made not in self.programs:
            program = self.programs[made] = self.temp / f"program-{len(self.programs)}"
            check_output("kedge", "compile", self.folder / "model.onnx", *self.options, *(["--mesh", mesh] if mesh else []), *options,
                         "-o", program)
        return self.programs[made]

    def run(self, mesh, *options, more=(), steps=STEPS):
        """Log without timings, weights."""
        program = self.compile(mesh, *options)
        log, weights = self.temp / "log.jsonl", self.temp / "weights.safetensors"
        log.unlink(missing_ok=True)
        ranks = 1
        for axis in filter(None, mesh.split(",")):
            ranks *= int(axis.split("=")[1])
        launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", ranks] if ranks > 1 else []
        files = [word for name, file in self.data.items() for word in ("--data", f"{name}={file}")]
        check_output(*launcher, program, *files, "--steps", steps, "--threads", 1, "--log", log, "--export-safetensors", weights, *more)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return [{key: line[key] for key in ("step", "loss", "grad_norm", "loss_scale", "skipped")} for line in lines], tensors(weights)

    def agrees(self, mesh, *options, loss=1e-5, norm=1e-4, weight=2e-5):
        log, weights = self.run("", *options)
        found, own = self.run(mesh, *options)
        near(found, log, loss, norm)
        if weight:
            expect_near(own, weights, weight)


def gpt(golden, temp, rows=4):
    return Model(golden / "gpt", temp, "--shape", f"input_ids={rows}x{LENGTH}", "--loss", "cross-entropy")


def perceptron(golden, temp):
    return Model(golden / "perceptron", temp, "--shape", "input=6x10", "--loss", "mse")


def blocks_of_products(golden, temp):
    """Columns, then rows; sizes that the ranks do not divide stay whole (pytorch#150336: a width of 5 lost its size)."""
    model = perceptron(golden, temp)
    for mesh in ("tensor=2", "tensor=3", "tensor=4"):
        model.agrees(mesh, *SGD)


def adds_a_bias_once_10(golden, temp):
    """The bias behind a row-wise product was added once a rank (text-generation-inference#1036): weights are those of one rank."""
    gpt(golden, temp).agrees("tensor=2", *SGD)


def clips_by_one_norm(golden, temp):
    """The norm adds squares over the axis, and counts whole states once."""
    gpt(golden, temp).agrees("tensor=2", *SGD, "--clip-norm", "0.3")


def pads_no_vocabulary_8(golden, temp):
    """A vocabulary that the ranks do not divide has no padding that could enter the loss (Megatron-LM#1754)."""
    gpt(golden, temp).agrees("tensor=3", *SGD)


def cuts_states(golden, temp):
    """Weights, moments and gradients of what is cut lie on one rank each; every rank reports what was planned."""
    model = gpt(golden, temp)
    state = {mesh: json.loads(check_output(model.compile(mesh, "--optimizer", "adamw"), "--plan"))["state_bytes"] for mesh in ("", "tensor=2")}
    for kind in ("parameters", "optimizer", "gradients"):
        assert state["tensor=2"][kind] < 0.53 * state[""][kind], state
    report = temp / "memory.json"
    model.run("tensor=2", "--optimizer", "adamw", more=["--memory-report", report], steps=2)
    for rank in range(2):
        own = json.loads((report if rank == 0 else report.with_name(f"memory.rank-{rank}.json")).read_text())
        assert own["state_bytes"] == state["tensor=2"], (rank, own["state_bytes"])
        assert own["communication"] and {row["axis"] for row in own["communication"]} == {"tensor"}, own["communication"]


def orthogonalises_whole_matrices_17(golden, temp):
    """Muon orthogonalised each shard (DeepSpeed#8437). Its steps amplify the order of sums, and AdamW's that of biases of keys, whose
    gradients are nothing but that."""
    gpt(golden, temp).agrees("tensor=2", "--optimizer", "muon", "--lr", "0.01", loss=1e-4, norm=1e-3, weight=None)


def goes_on_everywhere(golden, temp):
    """A checkpoint of one mesh goes on on another; gradients that are written are whole."""
    model = gpt(golden, temp)
    meshes = ("", "tensor=2")
    dump = {}
    whole = {}
    for mesh in meshes:
        dump[mesh] = temp / f"gradients-{mesh or 'one'}"
        whole[mesh] = model.run(mesh, *SGD, more=["--dump-gradients", dump[mesh], "--dump-step", 1])
    expect_near(tensors(dump["tensor=2"]), tensors(dump[""]), 1e-6)
    for mesh in meshes:
        model.run(mesh, *SGD, more=["--checkpoint-dir", temp / f"ck-{mesh}"], steps=3)
        for other in meshes:
            log, weights = model.run(other, *SGD, more=["--resume", temp / f"ck-{mesh}"])
            near(log, whole[""][0][3:])
            expect_near(weights, whole[""][1])


def cuts_moments_between_blocks(golden, temp):
    """Moments of 8 bits are cut where a rank's rows are whole blocks of 256 elements, and whole where a border would be in a block;
    a checkpoint of one mesh goes on on another."""
    options = ["--optimizer", "adamw8bit"]
    model = gpt(golden, temp)
    text = check_output("kedge", "compile", model.folder / "model.onnx", *model.options, *options, "--mesh", "tensor=2", "--emit", "train")
    moments = {line.split("@")[1].split(" ")[0]: line for line in text.splitlines() if " moment1 @" in line and "xui8>" in line}
    assert "tensor<8x256xui8>" in moments["blocks.0.up.weight.moment1"] and "[16, 256] cut[<0 " in moments["blocks.0.up.weight.moment1"], moments
    assert "tensor<16x256xui8>" in moments["blocks.0.down.weight.moment1"] and "cut[" not in moments["blocks.0.down.weight.moment1"], moments
    meshes = ("", "tensor=2")
    whole = {mesh: model.run(mesh, *options) for mesh in meshes}
    near(whole["tensor=2"][0], whole[""][0])
    for mesh in meshes:
        model.run(mesh, *options, more=["--checkpoint-dir", temp / f"ck-{mesh}"], steps=3)
        for other in meshes:
            log, weights = model.run(other, *options, more=["--resume", temp / f"ck-{mesh}"])
            near(log, whole[""][0][3:])
            if mesh == other:
                assert log == whole[mesh][0][3:] and weights == whole[mesh][1], f"{mesh}: not to the bit"


def accumulates(golden, temp):
    gpt(golden, temp, 2).agrees("tensor=2", *SGD, "--accumulate", "3")


def sixteen_bits(golden, temp):
    """bf16 and fp16, whose scale follows what all ranks found."""
    gpt(golden, temp).agrees("tensor=2", *SGD, "--precision", "bf16", loss=4e-3, norm=3e-2, weight=None)
    gpt(golden, temp).agrees("tensor=2", *SGD, "--precision", "fp16", "--loss-scale-init", "4194304", loss=4e-3, norm=3e-2, weight=None)


def beside_data(golden, temp):
    """Two ranks with rows of their own, each of them two ranks."""
    model = gpt(golden, temp)
    log, weights = model.run("", *SGD, "--clip-norm", "0.3")
    halves = gpt(golden, temp / "halves", 2)
    halves.temp.mkdir()
    for stage in (0, 1, 3):
        found, own = halves.run("data=2,tensor=2", *SGD, "--clip-norm", "0.3", "--zero", stage)
        near(found, log)
        expect_near(own, weights)


CHECKS = [blocks_of_products, adds_a_bias_once_10, clips_by_one_norm, pads_no_vocabulary_8, cuts_states,
          orthogonalises_whole_matrices_17, goes_on_everywhere, cuts_moments_between_blocks, accumulates, sixteen_bits, beside_data]


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
