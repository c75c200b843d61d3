#!/usr/bin/env python3
"""Programs' kernels in an interpreter of PTX beside the repository: ptx_findings.py SIMULATOR.cpp TEMP (attention [HEAD...] | MODELS [NAME...]).

`attention`: queries and keys of different numbers, causal and not, in both 16-bit formats, with heads of all widths or those
given; needs the package onnx. MODELS: every golden model of that folder, or those named, in every precision, plain, recomputed, with ZeRO 3 on two ranks and with what can be
in host memory there. Fails when the interpreter finds anything: races, copies that nobody waits for, addresses that are not
aligned or outside of operands, launches that no GPU takes.

One kind is counted apart: threads without an element of their own read the last one, or another team's, and drop what they read;
where a result takes an operand's place its owner may have written there. The interpreter does not know what is dropped.
"""
import itertools
import json
import pathlib
import re
import subprocess
import sys

# On sm_100 additions come in pairs, which the interpreter does not know.
ARCHITECTURES = ("sm_90", "sm_80")
PRECISIONS = ("fp32", "bf16", "fp16", "fp8")
VARIANTS = {"plain": [], "recomputed": ["--recompute", "full"], "zero3": ["--ranks", "2", "--zero", "3"],
            "offload": ["--offload", "optimizer,activations"]}
# A training graph has its own update, in its own precision, for one rank.
OWN_UPDATE = ("onnx-training",)
SUMMARY = re.compile(r"(\d+) kernels of \d+ ran, (\d+) launches, (\d+) blocks, (\d+) findings")
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
    def __init__(self, source, temp):
        temp.mkdir(parents=True, exist_ok=True)
        self.program, self.temp = temp / "interpreter", temp
        run("c++", "-std=c++20", "-O2", "-w", "-o", self.program, source)
        self.totals = [0, 0, 0, 0]
        self.programs = self.dropped = self.unknown = 0

    def look_at(self, name, command):
        """Compiles a program, runs its kernels, and adds to the counts."""
        ptx, launches = self.temp / "program.ptx", self.temp / "program.exec"
        for kind, path in (("ptx", ptx), ("exec", launches)):
            run("kedge", "compile", *command, "--emit", kind, "-o", path)
        # The interpreter knows no buffers in host memory, and no kernel has one.
        lines = launches.read_text().splitlines(keepends=True)
        launches.write_text("".join(line for line in lines if not HOST_BUFFER.search(line)))
        done = subprocess.run([str(self.program), str(ptx), str(launches)], capture_output=True, text=True)
        if done.returncode:
            self.unknown += 1
            return print(f"{name}: not interpreted: {(done.stderr.strip().splitlines() or ['no message'])[-1]}", flush=True)
        text = done.stdout
        counts = [int(number) for number in SUMMARY.search(text).groups()]
        findings = text.splitlines()[1:]
        serious = [line for line in findings if not DROPPED.match(line)]
        counts[3] = len(serious)
        self.dropped += len(findings) - len(serious)
        self.totals = [a + b for a, b in zip(self.totals, counts)]
        self.programs += 1
        print(f"{name}: {counts[0]} kernels, {counts[1]} launches, {counts[3]} findings", flush=True)
        if serious:
            print("\n".join(serious), flush=True)

    def finish(self):
        kernels, launches, blocks, findings = self.totals
        print(f"{self.programs} programs: {kernels} kernels, {launches} launches, {blocks} blocks, {findings} findings; "
              f"{self.dropped} reads in place beside" + f"; {self.unknown} programs hold what the interpreter does not know" * (self.unknown > 0))
        return findings != 0


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


def look_at_attention(interpreter, heads):
    chosen = [shape for shape in SHAPES if not heads or str(shape[0]) in heads]
    for number, (shape, causal, precision) in enumerate(itertools.product(chosen, (True, False), ("bf16", "fp16"))):
        model, arch = interpreter.temp / "attention.onnx", ARCHITECTURES[number // 2 % 2]
        attention(model, *shape, causal)
        interpreter.look_at(f"head {shape[0]}, {shape[1]} queries, {shape[2]} keys{', causal' * causal} {precision} {arch}",
                            [model, "--loss", "mse", "--precision", precision, "--target", f"cuda:{arch}"])


def takes_fp8(model, flags):
    """Small products are in bf16 alone, and a model that has no others is refused."""
    return subprocess.run(["kedge", "plan", model, *flags, "--precision", "fp8", "--target", "cuda:sm_90"], capture_output=True).returncode == 0


def programs_of(folder, compile_flags, precisions):
    """A name and flags for each program of a golden model."""
    for number, (precision, (variant, flags)) in enumerate(itertools.product(precisions, VARIANTS.items())):
        arch = ARCHITECTURES[number % 2] if precision != "fp8" else "sm_90"
        own = folder.name in OWN_UPDATE
        if own and (precision != "fp32" or variant in ("zero3", "offload")):
            continue
        chosen = [] if own else ["--precision", precision]
        yield f"{folder.name} {precision} {variant} {arch}", [*compile_flags, *chosen, *flags, "--target", f"cuda:{arch}"]


def look_at_models(interpreter, models, names):
    for trace in sorted(models.glob("*/trace.json")):
        if names and trace.parent.name not in names:
            continue
        chosen = next(run for run in json.loads(trace.read_text())["runs"].values() if "--precision" not in run["compile"])
        model = trace.parent / chosen.get("model", "model.onnx")
        precisions = PRECISIONS if takes_fp8(model, chosen["compile"]) else PRECISIONS[:3]
        for name, flags in programs_of(trace.parent, chosen["compile"], precisions):
            # What cuDNN would compute as well, so that every kind of kernel runs.
            interpreter.look_at(name, [model, *flags, "--convolution", "generated"])


def main():
    source, temp, what, *names = sys.argv[1:]
    interpreter = Interpreter(source, pathlib.Path(temp))
    if what == "attention":
        look_at_attention(interpreter, names)
    else:
        look_at_models(interpreter, pathlib.Path(what), names)
    return interpreter.finish()


if __name__ == "__main__":
    sys.exit(main())
