#!/usr/bin/env python3
"""Programs' kernels in interpreters of PTX: ptx_findings.py TEMP --interpreter PATH [--interpreter PATH...] [--attention]
[--heads 64 96] [--models FOLDER...] [--names NAME...] [--arch sm_90...] [--every-arch] [--sample]
[--results FILE.json]

An interpreter is a program that takes the outputs of --emit ptx and --emit exec, such as kedge-ptx-findings; one that is given
as C++ source is compiled, and gets the latter with each op in one line, the former without griddepcontrol. Programs: `--attention`: queries and keys of
different numbers, causal and not, in both 16-bit formats, with heads of all widths or those given; needs the package onnx.
`--models`: every golden model of that folder, or those named, in every precision, plain, recomputed, with ZeRO 3 on two ranks and
with what can be in host memory there. The architecture changes from program to program, between those given; --every-arch compiles each
program for all of them. --sample: one program of each model and each width. Fails when an interpreter finds anything: races,
copies that nobody waits for, addresses that are not aligned or outside of operands, launches that no GPU takes.

One kind is counted apart: threads without an element of their own read another's, and drop what they read; where a result takes
an operand's place its owner may have written there. kedge-ptx-findings runs such launches again with other numbers there and
compares the results; an interpreter of other origin does not know what is dropped.
"""
import argparse
import datetime
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import sys

ARCHITECTURES = ("sm_90", "sm_80", "sm_100")
WITHOUT_FLOAT8 = ("sm_80",)
PRECISIONS = ("fp32", "bf16", "fp16", "fp8")
VARIANTS = {"plain": [], "recomputed": ["--recompute", "full"], "zero3": ["--ranks", "2", "--zero", "3"],
            "offload": ["--offload", "optimizer,activations"]}
# A training graph has its own update, in its own precision, for one rank.
OWN_UPDATE = ("onnx-training",)
CPU_ALONE = ("keras",)  # has an operator without a CUDA kernel
SUMMARY = re.compile(r"(\d+) kernels of (\d+) ran, (\d+) launches, (\d+) blocks,(?: (\d+) launches read in place and drop it,)? (\d+) findings")
# In one block; across blocks it counts.
DROPPED = re.compile(r"^  \w+ \| GLOBAL (?:WAR race \| #\d+ lane|RAW race \| #\d+ w%32)")
HOST_BUFFER = re.compile(r'= exec.buffer "[^"]*" in host ')
# Width of a head, queries, keys.
SHAPES = ((64, 32, 256), (80, 40, 200), (96, 32, 200), (128, 32, 256), (256, 32, 100), (128, 256, 32))


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Interpreter:
    def __init__(self, path, temp):
        self.name, self.isSource = path.stem, path.suffix == ".cpp"
        self.program = shutil.which(path) or path
        if self.isSource:
            self.program = temp / path.stem
            run("c++", "-std=c++20", "-O2", "-w", "-o", self.program, path)
        self.totals = dict.fromkeys(("programs", "kernels", "launches", "blocks", "findings", "dropped", "unknown"), 0)

    def look_at(self, name, ptx, plan):
        done = subprocess.run([str(self.program), str(ptx), str(plan)], capture_output=True, text=True)
        found = SUMMARY.search(done.stdout)
        if not found:
            self.totals["unknown"] += 1
            print(f"{name}: not interpreted: {(done.stderr.strip().splitlines() or ['no message'])[-1]}", flush=True)
            return
        ran, kernels, launches, blocks, dropping, _ = (int(number or 0) for number in found.groups())
        findings = done.stdout.splitlines()[1:]
        serious = [line for line in findings if not DROPPED.match(line)]
        if ran != kernels:
            serious.append(f"  {kernels - ran} kernels did not run")
        dropping += sum(bool(DROPPED.match(line)) for line in findings)
        for key, count in (("programs", 1), ("kernels", ran), ("launches", launches), ("blocks", blocks), ("findings", len(serious)),
                           ("dropped", dropping)):
            self.totals[key] += count
        print("\n".join([f"{name}: {self.name}: {ran} kernels, {launches} launches, {len(serious)} findings", *serious]), flush=True)

    def summary(self):
        return (f"{self.name}: {{programs}} programs: {{kernels}} kernels, {{launches}} launches, {{blocks}} blocks, "
                f"{{findings}} findings; {{dropped}} reads in place; {{unknown}} programs not known to it").format(**self.totals)


class Sweep:
    def __init__(self, paths, temp):
        temp.mkdir(parents=True, exist_ok=True)
        self.temp, self.programs = temp, 0
        self.interpreters = [Interpreter(path, temp) for path in paths]

    def look_at(self, name, command):
        """Compiles a program, and has each interpreter run its kernels."""
        ptx, plan = self.temp / "program.ptx", self.temp / "program.exec"
        plain, lines = self.temp / "plain.ptx", self.temp / "lines.exec"
        for kind, path in (("ptx", ptx), ("exec", plan)):
            run("kedge", "compile", *command, "--emit", kind, "-o", path)
        if any(one.isSource for one in self.interpreters):
            # Others know no buffers in host memory, and no kernel has one.
            flat = run("kedge-opt", plan).splitlines(keepends=True)
            lines.write_text("".join(line for line in flat if not HOST_BUFFER.search(line)))
            # Nor do they know what is nothing where launches run one after the other.
            plain.write_text(re.sub(r"^\s*griddepcontrol\..*;\n", "", ptx.read_text(), flags=re.MULTILINE))
        self.programs += 1
        for one in self.interpreters:
            one.look_at(name, *((plain, lines) if one.isSource else (ptx, plan)))

    def finish(self):
        for one in self.interpreters:
            print(one.summary())
        return any(one.totals["findings"] or one.totals["unknown"] or not one.totals["kernels"] for one in self.interpreters)


def attention(path, head, queries, keys, causal):
    """Two heads: queries of one input, keys and values of another."""
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    width, random = 2 * head, numpy.random.default_rng(1)
    weights = [numpy_helper.from_array(random.standard_normal((width, width)).astype(numpy.float32) / width ** 0.5, name)
               for name in ("wq", "wk", "wv")]
    nodes = [helper.make_node("MatMul", [source, weight], [name])
             for name, source, weight in (("q", "x", "wq"), ("k", "memory", "wk"), ("v", "memory", "wv"))]
    nodes.append(helper.make_node("Attention", ["q", "k", "v"], ["y"], q_num_heads=2, kv_num_heads=2, is_causal=int(causal)))
    tensor = lambda name, rows: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, rows, width])
    graph = helper.make_graph(nodes, "attention", [tensor("x", queries), tensor("memory", keys)], [tensor("y", queries)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10), path)


class Architectures:
    def __init__(self, names, every):
        self.names, self.every = names, every

    def of(self, number, precision):
        names = [name for name in self.names if precision != "fp8" or name not in WITHOUT_FLOAT8]
        return names if self.every else [names[number % len(names)]]


def look_at_attention(sweep, heads, architectures, sample):
    chosen = [shape for shape in SHAPES if not heads or shape[0] in heads]
    for number, (shape, causal, precision) in enumerate(itertools.product(chosen, (True, False), ("bf16", "fp16"))):
        if sample and number % 4:
            continue
        model = sweep.temp / "attention.onnx"
        attention(model, *shape, causal)
        for arch in architectures.of(number // 2, precision):
            sweep.look_at(f"head {shape[0]}, {shape[1]} queries, {shape[2]} keys{', causal' * causal} {precision} {arch}",
                          [model, "--loss", "mse", "--precision", precision, "--target", f"cuda:{arch}"])


def takes_fp8(model, flags):
    """Small products are in bf16 alone, and a model that has no others is refused."""
    return subprocess.run(["kedge", "plan", model, *flags, "--precision", "fp8", "--target", "cuda:sm_90"], capture_output=True).returncode == 0


def programs_of(folder, compile_flags, precisions, architectures):
    """A name and flags for each program of a golden model."""
    for number, (precision, (variant, flags)) in enumerate(itertools.product(precisions, VARIANTS.items())):
        own = folder.name in OWN_UPDATE
        if own and (precision != "fp32" or variant in ("zero3", "offload")):
            continue
        chosen = [] if own else ["--precision", precision]
        for arch in architectures.of(number, precision):
            yield f"{folder.name} {precision} {variant} {arch}", [*compile_flags, *chosen, *flags, "--target", f"cuda:{arch}"]


def look_at_models(sweep, models, names, architectures, sample):
    for trace in sorted(models.glob("*/trace.json")):
        if trace.parent.name in CPU_ALONE or (names and trace.parent.name not in names):
            continue
        facts = json.loads(trace.read_text())
        plain = [run for run in facts.get("runs", {"only": facts}).values() if "--precision" not in run["compile"]]
        if not plain:
            print(f"{trace.parent.name}: has no run in fp32")
            continue
        model = trace.parent / plain[0].get("model", "model.onnx")
        precisions = PRECISIONS if takes_fp8(model, plain[0]["compile"]) else PRECISIONS[:3]
        programs = list(programs_of(trace.parent, plain[0]["compile"], precisions, architectures))
        # Another precision and another variant than the model before.
        for name, flags in [programs[5 * sweep.programs % len(programs)]] if sample else programs:
            # What cuDNN would compute as well, so that every kind of kernel runs.
            sweep.look_at(name, [model, *flags, "--convolution", "generated"])


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("temp", type=pathlib.Path)
    parser.add_argument("--interpreter", type=pathlib.Path, action="append", required=True)
    parser.add_argument("--attention", action="store_true")
    parser.add_argument("--heads", type=int, nargs="*", default=[])
    parser.add_argument("--models", type=pathlib.Path, nargs="*", default=[])
    parser.add_argument("--names", nargs="*", default=[])
    parser.add_argument("--arch", nargs="+", default=ARCHITECTURES)
    parser.add_argument("--every-arch", action="store_true")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--results", type=pathlib.Path)
    words = parser.parse_args()
    sweep, architectures = Sweep(words.interpreter, words.temp), Architectures(words.arch, words.every_arch)
    if words.attention:
        look_at_attention(sweep, words.heads, architectures, words.sample)
    for folder in words.models:
        look_at_models(sweep, folder, words.names, architectures, words.sample)
    if words.results:
        words.results.write_text(json.dumps({"date": datetime.date.today().isoformat(), "programs": sweep.programs,
                                             "interpreters": {one.name: one.totals for one in sweep.interpreters}}, indent=1) + "\n")
    return sweep.finish()


if __name__ == "__main__":
    sys.exit(main())
