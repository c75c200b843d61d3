#!/usr/bin/env python3
"""The axis `tensor`: dimensions of single tensors cut over ranks, each a check of its own: tensor.py GOLDEN TEMP [CHECK...].

GOLDEN holds the golden models, TEMP/grouped the one of grouped_model.py, TEMP/decoder that of decoder_model.py. A check compares two ranks or more, which all read the same rows, with one rank. Numbered checks are
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

    def evaluations(self):
        """Of the last run, as logged."""
        lines = [json.loads(line) for line in (self.temp / "log.jsonl").read_text().splitlines()]
        return [{key: value for key, value in line.items() if key.startswith("eval_")} for line in lines]

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


def grouped(temp):
    return Model(temp.parent / "grouped", temp, "--shape", "ids=4x8", "--loss", "cross-entropy")


def sent(model, *options):
    """Elements of a planned step by collective, and its transient bytes."""
    plan = json.loads(check_output("kedge", "plan", model.folder / "model.onnx", *model.options, *options, "--json"))
    rows = plan["communication"]
    return {kind: sum(row["elements"] for row in rows if row["collective"] == kind) for kind in
            ("all_gather", "reduce_scatter", "all_reduce")}, plan["unconstrained_transient_bytes"], rows


def blocks_of_products_9(golden, temp):
    """Columns, then rows; blocks that are not equal keep their sizes (pytorch#150336: a width of 5 lost its size)."""
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
    """Padding of a vocabulary that the ranks do not divide enters no loss (Megatron-LM#1754), that of heads and widths no sum. Each rank
    has room for half of the heads, and for a third of the rest."""
    model = gpt(golden, temp)
    model.agrees("tensor=3", *SGD, "--clip-norm", "0.3")
    state = {mesh: json.loads(check_output(model.compile(mesh, *SGD), "--plan"))["state_bytes"]["parameters"] for mesh in ("", "tensor=3")}
    assert state["tensor=3"] < 0.48 * state[""], state
    whole = model.run("", *SGD)
    model.run("tensor=3", *SGD, more=["--checkpoint-dir", temp / "ck"], steps=3)
    log, weights = model.run("", *SGD, more=["--resume", temp / "ck"])
    near(log, whole[0][3:])
    expect_near(weights, whole[1])


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
    gpt(golden, temp).agrees("tensor=2", "--optimizer", "muon", "--lr", "0.003", loss=1e-4, norm=1e-3, weight=None)


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
    text = check_output("kedge", "compile", model.folder / "model.onnx", *model.options, *options, "--mesh", "tensor=2", "--emit", "train", "--with-places")
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
    """bf16, fp16, whose scale follows what all ranks found, and fp8, whose scales are those of whole tensors: blocks of products
    need not be as long as tensor cores want them."""
    gpt(golden, temp).agrees("tensor=2", *SGD, "--precision", "bf16", loss=4e-3, norm=3e-2, weight=None)
    gpt(golden, temp).agrees("tensor=2", *SGD, "--precision", "fp16", "--loss-scale-init", "4194304", loss=4e-3, norm=3e-2, weight=None)
    for mesh in ("tensor=2", "tensor=3"):
        gpt(golden, temp).agrees(mesh, *SGD, "--precision", "fp8", loss=4e-3, norm=3e-2, weight=None)


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
    quarters = gpt(golden, temp / "quarters", 1)
    quarters.temp.mkdir()
    twice = [*SGD, "--clip-norm", "0.3", "--accumulate", "2"]
    found, own = quarters.run("replica=2,data=2,tensor=2", *twice, "--zero", 2)
    log, weights = model.run("", *twice)
    near(found, log)
    expect_near(own, weights)
    for precision, stage in (("bf16", 0), ("fp16", 1), ("fp8", 3)):
        low = [*SGD, "--clip-norm", "0.3", "--precision", precision]
        near(halves.run("data=2,tensor=2", *low, "--zero", stage)[0], model.run("", *low)[0], 4e-3, 3e-2)


def keeps_bits(golden, temp):
    """--same-bits: logs and weights are those of one rank to the bit, uneven blocks included: along the axis no sum is cut."""
    model, halves = gpt(golden, temp), gpt(golden, temp / "halves", 2)
    halves.temp.mkdir()
    same = ["--same-bits", "4", "--clip-norm", "0.3"]
    for options, runs in ((SGD, [(model, "tensor=2"), (model, "tensor=3"), (halves, "data=2,tensor=2", "--zero", "1")]),
                          (["--precision", "bf16"], [(model, "tensor=4"), (halves, "data=2,tensor=2", "--accumulate", "2")])):
        for ranks, mesh, *more in runs:
            twice = ["--accumulate", "2"] if "--accumulate" in more else []
            wanted = model.run("", *options, *same, *twice)
            assert ranks.run(mesh, *options, *same, *more) == wanted, f"{mesh} {more}"
    small = Model(golden / "perceptron", temp / "small", "--shape", "input=8x10", "--loss", "mse")
    small.temp.mkdir()
    assert small.run("tensor=2", *SGD, *same) == small.run("", *SGD, *same), "three outputs on two ranks"
    share = [json.loads(check_output(model.compile(mesh, *SGD, *same), "--plan"))["state_bytes"]["parameters"] for mesh in ("tensor=2", "")]
    assert share[0] < 0.55 * share[1], share


def cuts_channels(golden, temp):
    """Convolutions, their norms and pools are cut by channels, evenly or not. Statistics of norms are over the rows of all ranks or micro-batches,
    if that is asked for."""
    model = Model(golden / "convnet", temp, "--shape", "pixels=6x3x10x10", "--loss", "cross-entropy", "--train-mode")
    halves = Model(golden / "convnet", temp / "halves", "--shape", "pixels=3x3x10x10", "--loss", "cross-entropy", "--train-mode")
    halves.temp.mkdir()
    bytes_of = lambda *mesh: json.loads(check_output(model.compile(*mesh, *SGD), "--plan"))["state_bytes"]["parameters"]
    for mesh, share in (("tensor=2", 0.55), ("tensor=3", 0.42)):
        model.agrees(mesh, *SGD)
        assert bytes_of(mesh) < share * bytes_of(""), f"{mesh}: {bytes_of(mesh)} bytes of parameters, {bytes_of('')} on one rank"
    log, weights = model.run("", *SGD)
    for mesh, *options in (("data=2,tensor=2", "--sync-batchnorm"), ("tensor=2", "--accumulate", "2", "--batchnorm", "exact")):
        found, own = halves.run(mesh, *SGD, *options)
        near(found, log)
        expect_near(own, weights)


def cuts_groups_of_channels(golden, temp):
    """Group norms have whole groups on a rank, as far as these go; transposed convolutions are cut by output channels, by input channels
    (whose bias is added once) and by groups, resampling by channels."""
    model = Model(temp.parent / "decoder", temp, "--shape", "pixels=6x4x4x4", "--loss", "cross-entropy")
    bytes_of = lambda mesh: json.loads(check_output(model.compile(mesh, *SGD), "--plan"))["state_bytes"]["parameters"]
    for mesh, share in (("tensor=2", 0.52), ("tensor=3", 0.45), ("tensor=4", 0.34)):  # 4 groups on 3 ranks: 2, 2 and none
        model.agrees(mesh, *SGD)
        assert bytes_of(mesh) < share * bytes_of(""), f"{mesh}: {bytes_of(mesh)} bytes of parameters, {bytes_of('')} on one rank"
    halves = Model(model.folder, temp / "halves", "--shape", "pixels=3x4x4x4", "--loss", "cross-entropy")
    halves.temp.mkdir()
    log, weights = model.run("", *SGD)
    found, own = halves.run("data=2,tensor=2", *SGD, "--zero", "2")
    near(found, log)
    expect_near(own, weights)


def sums_norm_weights_11(golden, temp):
    """Norm weights under sequence parallelism got one rank's gradient (Megatron-LM#1446): here weights are those of one rank."""
    model = gpt(golden, temp)
    model.agrees("tensor=2", *SGD, "--clip-norm", "0.3")
    model.agrees("tensor=4", *SGD)
    gpt(golden, temp, 3).agrees("tensor=2", *SGD)  # positions are cut, where the ranks do not divide the rows


def sends_what_formulas_say(golden, temp):
    """Two all-gathers and two reduce-scatters of the residual in a block each way, and one of each at the head and at the embedding;
    norms' inputs are gathered again for the backward part unless there is room. Without it as many all-reduces."""
    model, blocks, residual = gpt(golden, temp), 2, 4 * LENGTH * 32
    times, small = 4 * blocks + 2, residual // 2
    found, rows, _ = sent(model, "--mesh", "tensor=2")
    again = (2 * blocks + 1) * residual
    assert found["reduce_scatter"] == times * residual, found
    assert 0 <= found["all_gather"] - times * residual - again < small, found
    kept, _, _ = sent(model, "--mesh", "tensor=2", "--memory-budget", "1GiB")
    assert kept["reduce_scatter"] == times * residual and 0 <= kept["all_gather"] - times * residual < small, kept
    off, whole, _ = sent(model, "--mesh", "tensor=2", "--sequence-parallel", "off")
    assert 0 <= off["all_reduce"] - 2 * times * residual < small, off  # n elements count 2 n
    assert rows < whole, (rows, whole)
    report = temp / "memory.json"
    model.run("tensor=2", more=["--memory-report", report], steps=2)
    planned = sent(model, "--mesh", "tensor=2")[2]
    key = lambda row: (row["collective"], row["type"], row["calls"], row["elements"], row["axis"])  # noqa: E731
    for rank in range(2):
        own = json.loads((report if rank == 0 else report.with_name(f"memory.rank-{rank}.json")).read_text())
        assert sorted(map(key, own["communication"])) == sorted(map(key, planned)), (rank, own["communication"], planned)


def sends_halves_under_products(golden, temp):
    """What is sent for one half of the rows runs under the product of the other, and under gradients of weights: the bits are those of
    whole products in the order of the model."""
    model = gpt(golden, temp)
    for mesh, options in (("tensor=2", SGD), ("data=2,tensor=2", ["--precision", "bf16", "--clip-norm", "0.3"])):
        off, on = (model.run(mesh, *options, "--tensor-overlap", word, steps=4) for word in ("off", "on"))
        assert on == off, mesh
    rows = {word: sent(model, "--mesh", "tensor=2", "--tensor-overlap", word) for word in ("off", "on")}
    assert rows["on"][0] == rows["off"][0], rows  # the same elements in more calls
    calls = {word: sum(row["calls"] for row in found[2] if row["collective"] == "reduce_scatter") for word, found in rows.items()}
    assert calls["on"] > 1.5 * calls["off"], calls


def sums_are_not_rounded_16(golden, temp):
    """A reduction asked in fp32 ran in bf16 (pytorch#190626): parts of a product's sum are sent in fp32, and rounded once."""
    rows = sent(gpt(golden, temp), "--mesh", "tensor=2", "--precision", "bf16")[2]
    scattered = {row["type"]: row["elements"] for row in rows if row["collective"] == "reduce_scatter"}
    residual = 4 * LENGTH * 32
    assert scattered["f32"] >= 9 * residual and scattered.get("bf16", 0) <= residual, rows  # rows of a table are sums with zeros
    gathered = {row["type"]: row["elements"] for row in rows if row["collective"] == "all_gather"}
    assert gathered.get("f32", 0) < LENGTH * 32 and gathered["bf16"] >= 9 * residual, rows  # squares of gradients are fp32


def shares_key_heads_7(golden, temp):
    """Fewer key-value heads than ranks (transformers#48307: four on eight), gradients of which are sums over the ranks that share one."""
    model = grouped(temp)
    for mesh in ("tensor=2", "tensor=4"):
        model.agrees(mesh, *SGD)
    state = {mesh: json.loads(check_output(model.compile(mesh, "--precision", "bf16"), "--plan"))["state_bytes"] for mesh in ("", "tensor=2", "tensor=4")}
    for kind in ("parameters", "working_copies", "optimizer", "gradients"):  # the table of the embedding, too, and products that are narrower than rows
        assert state["tensor=2"][kind] < 0.52 * state[""][kind] and state["tensor=4"][kind] < 0.35 * state[""][kind], state


def drops_the_same_13_14(golden, temp):
    """Dropout's seed knew no axis (tt-metal#55947), recomputed dropout drew anew (pytorch#190758): masks are those of one rank."""
    model = grouped(temp)
    model.agrees("tensor=2", *SGD, "--recompute", "full")
    halves = Model(model.folder, temp / "halves", "--shape", "ids=2x8", "--loss", "cross-entropy")
    halves.temp.mkdir()
    log, weights = model.run("", *SGD)
    found, own = halves.run("data=2,tensor=2", *SGD)
    near(found, log)
    expect_near(own, weights)


def sums_adapters_12(golden, temp):
    """The factor of an adapter that is not cut was not summed (mcore-bridge#173); frozen weights may have few bits."""
    gpt(golden, temp).agrees("tensor=2", *SGD, "--lora", "qkv|proj|up|down", "--lora-rank", "4", "--quantize", "(up|down).weight=nf4")


def fits_budgets(golden, temp):
    """Recomputation, copies in host memory and chunks of logits change no number but the order of sums."""
    model = gpt(golden, temp)
    model.agrees("tensor=2", *SGD, "--recompute", "full", "--offload", "optimizer", "--logits-chunk", "4096")


CHECKS = [blocks_of_products_9, adds_a_bias_once_10, clips_by_one_norm, pads_no_vocabulary_8, cuts_states, cuts_channels,
          cuts_groups_of_channels,
          orthogonalises_whole_matrices_17, goes_on_everywhere, cuts_moments_between_blocks, accumulates, sixteen_bits, beside_data, keeps_bits, sums_norm_weights_11,
          sends_what_formulas_say, sends_halves_under_products, sums_are_not_rounded_16, shares_key_heads_7, drops_the_same_13_14, sums_adapters_12, fits_budgets]


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
