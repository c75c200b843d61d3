#!/usr/bin/env python3
"""Packs what scripts/gpu/gpu_conformance.py runs on a GPU machine that has neither MLIR nor this repository.

gpu_pack.py [OUT] [--kedge build/release/bin/kedge] [--shared ../shared] [--arch sm_90] [--models gpt2,resnet:adamw+sgd]
            [--tiny] [--jobs N] [--limit-mib 60] [--llm-c FOLDER] [--nccl FILE]

Writes the folder OUT (gpu-day/pack, which git ignores), and the same as OUT.tar.xz, which travels (programs share their
runtime, so they compress to little): programs of the golden models (every run, or those that are named; convolutions
also without cuDNN, and the variants whose bits must agree), their data and traces, GPT-2 124M with its logits in chunks and
whole, in every precision and recomputed, ResNet-50, Llama-1B and BERT, two ranks with every ZeRO stage, models of large tensors (weights by --init), the scripts, and the shared libraries that the programs need besides
the system's. --llm-c: a checkout of llm.c, whose source goes along and is built there. --nccl: a
libnccl.so.2 of NCCL 2.30 or newer, whose code for other architectures is left out: PyTorch 2.11's NCCL lets no two ranks share a GPU. Equal compilations are one program. --tiny: one variant each, and small models in place of those that
are timed, for the stand-ins of the tests. Needs the package onnx for the large models. Fails when the archive and what
travels with it (this repository's files that git does not ignore) are more than the limit.
"""
import argparse
import concurrent.futures
import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import gpu_features
from thin_library import thin

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MODELS = ("mlp", "gpt2", "gpt2-attention", "gpt2-dropout", "gpt2-fresh", "bert", "llama", "vit", "resnet", "unet", "segment",
          "loss-in-graph", "onnx-training", "precision-probe", "overflow-probe", "gpt-fp8", "heads")
# This repository's golden models: name -> its folder in test/golden, and runs with their traces. The layers of `heads` have heads
# of 64 and of 128, as the attention of large models.
OWN = {"gpt-fp8": ("gpt", {"fp8": "float8.json"}), "heads": ("heads", {"fp32": "trace.json", "bf16": "bf16.json"})}
SAME_BITS = {"gpt2": ["--recompute full", "--recompute sqrt", "--memory-budget activations=60%"],
             "resnet": ["--recompute full"], "unet": ["--recompute full"], "llama": ["--recompute full"]}
CONVOLUTIONS = ("vit", "resnet", "unet", "segment")  # compiled twice: with cuDNN and without
TOKENS = {"kind": "tokens", "shape": [8, 1024], "below": 50257}


WORDS = {"kind": "words", "shape": [8, 1024], "below": 50257}
RANKS = ("gpt2", "adamw")  # model and run that two ranks share
PARTS = ("golden", "same_bits", "timed", "ranks", "features")  # of the manifest, whose entries have programs
WARPGROUPS = {"sm_90": "--target cuda:sm_90a"}  # the architecture whose attention multiplies with wgmma
# Kernels that a row is about, which its program's plan has to name: else it would compare nothing of them.
WARPGROUP_KERNEL, CONVOLUTION_KERNEL = "attention_warpgroups", "conv"
LLM_C = ("train_gpt2.cu", "llmc")


def reals(*shape):
    return {"kind": "normal", "shape": shape}


def tokens(rows, length, below):
    return {"kind": "tokens", "shape": [rows, length] if length else [rows], "below": below}


GPT2 = ["--shape", "input_ids=8x1024", "--loss", "cross-entropy"]
WHOLE_LOGITS = ["--logits-chunk", "0"]
# Name -> model of kedge shapes, words, inputs. Tensors of 134 MB in the last two.
TIMED = {
    "gpt2": ("gpt2", GPT2, {"input_ids": TOKENS, "labels": TOKENS}),
    "gpt2-whole-logits": ("gpt2", [*GPT2, *WHOLE_LOGITS], {"input_ids": TOKENS, "labels": TOKENS}),
    **{f"gpt2-{name}": ("gpt2", [*GPT2, "--precision", *words.split()], {"input_ids": TOKENS, "labels": TOKENS})
       for name, words in (("bf16", "bf16"), ("fp16", "fp16"), ("fp8", "fp8"), ("bf16-recomputed", "bf16 --recompute sqrt"),
                           ("bf16-one-stream", "bf16 --side-stream off"), ("bf16-late-starts", "bf16 --dependent-launch off"),
                           ("bf16-gelu-sums-apart", "bf16 --gelu-sums off"))},
    "gpt2-bf16-chunks-of-512MiB": ("gpt2", [*GPT2, "--precision", "bf16", "--logits-chunk", "512MiB"], {"input_ids": TOKENS, "labels": TOKENS}),
    "gpt2-bf16-words": ("gpt2", [*GPT2, "--precision", "bf16"], {"input_ids": WORDS, "labels": WORDS}),
    **{f"resnet50-bf16{name}": ("resnet50", ["--shape", "pixels=32x3x224x224", "--loss", "cross-entropy", "--precision", "bf16", *words],
                                {"pixels": reals(32, 3, 224, 224), "labels": tokens(32, 0, 1000)})
       for name, words in (("", []), ("-cudnn", ["--convolution", "cudnn"]))},
    "llama-1b-bf16": ("llama-1b", ["--shape", "input_ids=2x1024", "--loss", "cross-entropy", "--precision", "bf16"],
                      {"input_ids": tokens(2, 1024, 128256), "labels": tokens(2, 1024, 128256)}),
    "bert-bf16": ("bert-base", ["--shape", "input_ids=16x512", "--loss", "cross-entropy", "--precision", "bf16"],
                  {"input_ids": tokens(16, 512, 30522), "labels": tokens(16, 512, 30522)}),
    "wide-rows": ("wide-rows", ["--shape", "x=32768x1024", "--loss", "mse"],
                  {"x": reals(32768, 1024), "labels": reals(32768, 8)}),
    "wide-parameter": ("wide-parameter", ["--shape", "x=8x1024", "--loss", "mse"],
                       {"x": reals(8, 1024), "labels": reals(8, 32768)}),
}
FULL = {"steps": 20, "profiled_steps": 8, "least_bytes": 200e6, "baseline": {"batch": 8, "length": 1024}}
TINY = {"steps": 3, "profiled_steps": 2, "least_bytes": 1e5, "baseline": None}
LIBRARIES = ("libfmt",)


def with_budget(words, budget):
    at = words.index("--memory-budget") + 1
    return [*words[:at], budget, *words[at + 1:]]


class Pack:
    def __init__(self, options):
        self.o, self.out = options, pathlib.Path(options.out)
        self.manifest = {"arch": options.arch, **(TINY if options.tiny else FULL), "golden": [], "same_bits": [], "timed": [],
                         "ranks": [],
                         "kernels": {}}
        self.pool, self.made, self.plans = concurrent.futures.ThreadPoolExecutor(options.jobs), {}, []
        shutil.rmtree(self.out, ignore_errors=True)
        for folder in ("programs", "models", "lib", "launches"):
            (self.out / folder).mkdir(parents=True)

    def kedge(self, command, model, words):
        target = [] if "--target" in words else ["--target", f"cuda:{self.o.arch}"]
        full = [self.o.kedge, command, model, *words, *target]
        done = subprocess.run([str(w) for w in full], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def shapes(self, model, onnx):
        subprocess.run([self.o.kedge, "shapes", model, "-o", onnx], check=True, capture_output=True)

    def program(self, name, model, words, embed=True):
        """The name of the program that will be there; that of another one where both are compiled alike."""
        key = str(model), tuple(words), embed
        if key not in self.made:
            self.made[key] = name, self.pool.submit(self.compile, name, model, words, embed)
        return self.made[key][0]

    def compile(self, name, model, words, embed):
        program = self.out / "programs" / name
        rest = [*(["--embed-weights"] if embed else []), "-o", program]
        code, _, errors = self.kedge("compile", model, [*words, *rest])
        if code == 2 and (least := re.search(r"smallest feasible budget: (\d+) bytes", errors)):
            words = with_budget(words, least[1])  # reserved bytes alone may be more than a share of a small model's
            code, _, errors = self.kedge("compile", model, [*words, *rest])
        if code:
            print(f"{name}: not compiled (exit {code}): {errors.strip().splitlines()[-1]}", file=sys.stderr)
            return False
        subprocess.run(["strip", "-s", program], check=True)
        file = next(p for p in (pathlib.Path(f"{program}.gpu"), program) if p.exists())  # the tests' programs have both
        names = set(re.findall(rb'"grid":\[[0-9,]*\],"name":"([^"]+)"', file.read_bytes()))
        self.manifest["kernels"][name] = sorted(n.decode() for n in names)
        return True

    def golden(self, text):
        model, _, wanted = text.partition(":")
        folder = self.own(model) if model in OWN else pathlib.Path(self.o.shared) / "models" / model
        trace, first = json.loads((folder / "trace.json").read_text()), True
        for name, run in trace["runs"].items():
            if wanted and name not in wanted.split("+"):
                continue
            onnx = folder / run.get("model", "model.onnx")
            program = self.program(f"{model}-{name}", onnx, run["compile"])
            low = "--precision" in run["compile"]
            self.manifest["golden"].append({"model": model, "run": name, "program": program, "low": low})
            if first and not low:
                self.same_bits(model, onnx, run, name)
                self.without_cudnn(model, onnx, run, name)
                first = False
            if low and model == "heads":
                self.with_warpgroups(model, onnx, run, name)
            if (model, name) == RANKS:
                self.ranks(model, onnx, run, name)
        if model not in OWN:
            shutil.copytree(folder, self.out / "models" / model)

    def own(self, model):
        """A folder like those of the other models, made in the pack."""
        name, traces = OWN[model]
        source, folder = ROOT / "test/golden" / name, self.out / "models" / model
        folder.mkdir()
        runs = {}
        for run, trace in traces.items():
            golden = json.loads((source / trace).read_text())
            runs[run] = {key: golden[key] for key in ("compile", "run", "loss", "lr", "grad_norm")}
            runs[run] |= {"parameter_norms": golden["norms"], "tolerance": {"relative": golden["relative"]}}
        for file in ("model.onnx", *golden["data"].values()):
            shutil.copy(source / file, folder)
        (folder / "trace.json").write_text(json.dumps({"data": golden["data"], "runs": runs}))
        return folder

    def ranks(self, model, onnx, run, name):
        """Half of the rows for each of two ranks."""
        words = list(run["compile"])
        at = words.index("--shape") + 1
        tensor, _, shape = words[at].partition("=")
        rows, *rest = shape.split("x")
        words[at] = f"{tensor}={'x'.join([str(int(rows) // 2), *rest])}"
        for stage in (3,) if self.o.tiny else range(4):
            program = self.program(f"{model}-{name}-zero{stage}", onnx, [*words, "--ranks", "2", "--zero", str(stage)])
            self.manifest["ranks"].append({"model": model, "run": name, "zero": stage, "program": program})

    def without_cudnn(self, model, onnx, run, name):
        if model not in CONVOLUTIONS:
            return
        words = "--convolution generated"
        program = self.program(f"{model}-{name}-generated", onnx, [*run["compile"], *words.split()])
        self.manifest["golden"].append({"model": model, "run": name, "options": words, "program": program,
                                        "kernel": CONVOLUTION_KERNEL})

    def with_warpgroups(self, model, onnx, run, name):
        if words := WARPGROUPS.get(self.o.arch):
            program = self.program(f"{model}-{name}-warpgroups", onnx, [*run["compile"], *words.split()])
            self.manifest["golden"].append({"model": model, "run": name, "options": words, "program": program, "low": True,
                                            "kernel": WARPGROUP_KERNEL})

    def same_bits(self, model, onnx, run, name):
        for number, words in enumerate(SAME_BITS.get(model, [])[:1 if self.o.tiny else None]):
            program = self.program(f"{model}-{name}-same{number}", onnx, [*run["compile"], *words.split()])
            self.manifest["same_bits"].append({"model": model, "run": name, "options": words, "program": program})

    def timed(self, name, onnx, words, inputs, embed=False):
        """A large model: weights by --init, data made on the other machine. Its launches' bytes go along."""
        program = self.program(name, onnx, words, embed)
        table = ["--launches", self.out / "launches" / f"{name}.csv"]
        self.plans.append((name, self.pool.submit(self.kedge, "plan", onnx, [*words, *table])))
        precision = words[words.index("--precision") + 1] if "--precision" in words else "fp32"
        self.manifest["timed"].append({"name": name, "program": program, "inputs": inputs, "precision": precision,
                                       "model": not name.startswith(("gpt2", "wide"))})

    def performance(self):
        timed = dict(TIMED)
        if more := WARPGROUPS.get(self.o.arch):
            model, words, inputs = TIMED["gpt2-bf16"]
            timed["gpt2-bf16-warpgroups"] = model, [*words, *more.split()], inputs
        for name, (model, words, inputs) in timed.items():
            onnx = self.out / f"{model}.onnx"
            if not onnx.exists():
                self.shapes(model, onnx)
            self.timed(name, onnx, words, inputs)

    def tiny(self):
        """The golden gpt2, as its first run compiles it, and few rows of wide-rows."""
        folder = pathlib.Path(self.o.shared) / "models/gpt2"
        run = next(iter(json.loads((folder / "trace.json").read_text())["runs"].values()))
        rows = tokens(4, 32, 64)
        for name, more in (("gpt2", []), ("gpt2-whole-logits", WHOLE_LOGITS), ("gpt2-bf16", ["--precision", "bf16"])):
            self.timed(name, folder / "model.onnx", [*run["compile"], *more], {"input_ids": rows, "labels": rows}, True)
        onnx = self.out / "wide-rows.onnx"
        self.shapes("wide-rows", onnx)
        self.timed("wide-rows", onnx, ["--shape", "x=16x1024", "--loss", "mse"], {"x": reals(16, 1024), "labels": reals(16, 8)})

    def finish(self):
        """Waits for what is compiled; programs that are not there become None."""
        missing = {name for name, made in self.made.values() if not made.result()}
        for part in PARTS:
            for entry in self.manifest[part]:
                entry["program"] = None if entry["program"] in missing else entry["program"]
        for name, plan in self.plans:
            if plan.result()[0]:
                sys.exit(f"{name}: not planned: {plan.result()[2]}")
        for onnx in self.out.glob("*.onnx"):
            onnx.unlink()

    def libraries(self):
        """Of the first program that there is."""
        program = next((self.out / "programs").iterdir(), None)
        if program is None:
            sys.exit("no program was compiled")
        for line in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines():
            words = line.split()
            if words and words[0].startswith(LIBRARIES) and len(words) > 2:
                shutil.copy(words[2], self.out / "lib" / words[0])
        if self.o.nccl:
            thin(self.o.nccl, self.out / "lib/libnccl.so.2", self.o.arch)

    def scripts(self):
        for name in ("gpu_conformance.py", "gpu_beside.py", "gpu_features.py", "pytorch_models.py"):
            shutil.copy(HERE / name, self.out)
        if self.o.llm_c:
            self.llm_c(pathlib.Path(self.o.llm_c))
        shutil.copy(ROOT / "test/tools/gradients.py", self.out)
        tools = pathlib.Path(self.o.shared) / "tools"
        for name in ("check_trace.py", "pytorch_step.py"):
            if (tools / name).exists():
                shutil.copy(tools / name, self.out)
        (self.out / "manifest.json").write_text(json.dumps(self.manifest, indent=1) + "\n")

    def llm_c(self, source):
        for name in LLM_C:
            if not (source / name).exists():
                sys.exit(f"--llm-c {source}: there is no {name}; give a checkout of llm.c")
            copy = shutil.copytree if (source / name).is_dir() else shutil.copy
            (self.out / "llm.c").mkdir(exist_ok=True)
            copy(source / name, self.out / "llm.c" / name)

    def check_size(self):
        archive = pathlib.Path(f"{self.out}.tar.xz")
        # A dictionary that holds all programs, so that each part of the runtime is there once.
        whole = [{"id": lzma.FILTER_LZMA2, "preset": 0 if self.o.tiny else 6, "dict_size": 1 << 29}]
        with lzma.open(archive, "w", filters=whole) as packed, tarfile.open(fileobj=packed, mode="w") as file:
            file.add(self.out, arcname=self.out.name)
        total, beside = archive.stat().st_size, tree_bytes()
        missing = [e["program"] for part in PARTS for e in self.manifest[part]].count(None)
        print(f"{archive}: {total / 2**20:.1f} MiB, {len(self.made)} programs, {missing} are missing; with it travel "
              f"{beside / 2**20:.1f} MiB of this repository")
        if total + beside > self.o.limit_mib * 2**20:
            sys.exit(f"more than {self.o.limit_mib:g} MiB: leave models out with --models")
        if missing:
            sys.exit("programs are missing (above)")


def tree_bytes():
    """Of files that git does not ignore; nothing outside a repository."""
    listed = subprocess.run(["git", "-C", HERE, "ls-files", "-co", "--exclude-standard", "--full-name", ":/"],
                            capture_output=True, text=True)
    files = [ROOT / name for name in listed.stdout.splitlines()]
    return sum(file.stat().st_size for file in files if file.is_file()) if listed.returncode == 0 else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", default=ROOT / "gpu-day/pack")
    parser.add_argument("--kedge", default="build/release/bin/kedge")
    parser.add_argument("--shared", default="../shared")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit-mib", type=float, default=60)
    parser.add_argument("--llm-c")
    parser.add_argument("--nccl")
    pack = Pack(parser.parse_args())
    for model in filter(None, pack.o.models.split(",")):
        pack.golden(model)
    if pack.o.tiny:
        pack.tiny()
    else:
        pack.performance()
    gpu_features.pack(pack)
    pack.finish()
    pack.libraries()
    pack.scripts()
    pack.check_size()


if __name__ == "__main__":
    main()
