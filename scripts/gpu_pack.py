#!/usr/bin/env python3
"""Packs what scripts/gpu_conformance.py runs on a GPU machine that has neither MLIR nor this repository.

gpu_pack.py OUT [--kedge build/release/bin/kedge] [--shared ../shared] [--arch sm_90] [--models gpt2,resnet]
            [--without-performance] [--limit-mib 60]

Writes the folder OUT, and the same as OUT.tar.xz, which travels (programs share their runtime, so they compress to little):
programs of the golden models (every fp32 run, convolutions also without cuDNN, and the variants whose bits must agree), their
data and traces, GPT-2 124M and models of large tensors (weights by --init), the scripts, and the shared libraries that
the programs need besides the system's. Needs the package onnx for the large models. Fails when the archive grows beyond the limit.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
MODELS = ("mlp", "gpt2", "gpt2-attention", "gpt2-dropout", "gpt2-fresh", "bert", "llama", "vit", "resnet", "unet", "segment",
          "loss-in-graph", "onnx-training", "precision-probe", "overflow-probe")
SAME_BITS = {"gpt2": ["--recompute full", "--recompute sqrt", "--memory-budget activations=60%"],
             "resnet": ["--recompute full"], "unet": ["--recompute full"], "llama": ["--recompute full"]}
CONVOLUTIONS = ("vit", "resnet", "unet", "segment")  # compiled twice: with cuDNN and without
TOKENS = {"kind": "tokens", "shape": [8, 1024], "below": 50257}


def reals(*shape):
    return {"kind": "normal", "shape": shape}


# By their names in make_shapes.py. Tensors of 134 MB in the last two.
TIMED = {
    "gpt2": (["--shape", "input_ids=8x1024", "--loss", "cross-entropy"], {"input_ids": TOKENS, "labels": TOKENS}),
    "wide-rows": (["--shape", "x=32768x1024", "--loss", "mse"], {"x": reals(32768, 1024), "labels": reals(32768, 8)}),
    "wide-parameter": (["--shape", "x=8x1024", "--loss", "mse"], {"x": reals(8, 1024), "labels": reals(8, 32768)}),
}
LIBRARIES = ("libfmt",)


class Pack:
    def __init__(self, options):
        self.o, self.out = options, pathlib.Path(options.out)
        self.manifest = {"arch": options.arch, "golden": [], "same_bits": [], "timed": []}
        shutil.rmtree(self.out, ignore_errors=True)
        for folder in ("programs", "models", "lib", "launches"):
            (self.out / folder).mkdir(parents=True)

    def kedge(self, command, model, words):
        full = [self.o.kedge, command, model, *words, "--target", f"cuda:{self.o.arch}"]
        done = subprocess.run([str(w) for w in full], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def compile(self, name, model, words, embed=True):
        """The program's name, or None after a message."""
        program = self.out / "programs" / name
        code, _, errors = self.kedge("compile", model, [*words, *(["--embed-weights"] if embed else []), "-o", program])
        if code:
            print(f"{name}: not compiled (exit {code}): {errors.strip().splitlines()[-1]}", file=sys.stderr)
            return None
        subprocess.run(["strip", "-s", program], check=True)
        return name

    def golden(self, model):
        folder = pathlib.Path(self.o.shared) / "models" / model
        trace = json.loads((folder / "trace.json").read_text())
        for name, run in trace["runs"].items():
            if "--precision" in run["compile"]:
                continue
            onnx = folder / run.get("model", "model.onnx")
            program = self.compile(f"{model}-{name}", onnx, run["compile"])
            self.manifest["golden"].append({"model": model, "run": name, "program": program})
            if name == next(iter(trace["runs"])):
                self.same_bits(model, onnx, run, name)
                self.without_cudnn(model, onnx, run, name)
        shutil.copytree(folder, self.out / "models" / model)

    def without_cudnn(self, model, onnx, run, name):
        if model not in CONVOLUTIONS:
            return
        words = "--convolution generated"
        program = self.compile(f"{model}-{name}-generated", onnx, [*run["compile"], *words.split()])
        self.manifest["golden"].append({"model": model, "run": name, "options": words, "program": program})

    def same_bits(self, model, onnx, run, name):
        for number, words in enumerate(SAME_BITS.get(model, [])):
            program = self.compile(f"{model}-{name}-same{number}", onnx, [*run["compile"], *words.split()])
            self.manifest["same_bits"].append({"model": model, "run": name, "options": words, "program": program})

    def timed(self, name, onnx, words, inputs):
        """A large model: weights by --init, data made on the other machine. Its launches' bytes go along."""
        program = self.compile(name, onnx, words, embed=False)
        self.kedge("plan", onnx, [*words, "--launches", self.out / "launches" / f"{name}.csv"])
        self.manifest["timed"].append({"name": name, "program": program, "inputs": inputs})

    def performance(self):
        for name, (words, inputs) in TIMED.items():
            onnx = self.out / f"{name}.onnx"
            subprocess.run([sys.executable, HERE / "make_shapes.py", name, onnx], check=True)
            self.timed(name, onnx, words, inputs)
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

    def scripts(self):
        shutil.copy(HERE / "gpu_conformance.py", self.out)
        shutil.copy(HERE.parent / "test/tools/gradients.py", self.out)
        tools = pathlib.Path(self.o.shared) / "tools"
        for name in ("check_trace.py", "pytorch_step.py"):
            if (tools / name).exists():
                shutil.copy(tools / name, self.out)
        (self.out / "manifest.json").write_text(json.dumps(self.manifest, indent=1) + "\n")

    def check_size(self):
        archive = pathlib.Path(f"{self.out}.tar.xz")
        with tarfile.open(archive, "w:xz", preset=9) as file:
            file.add(self.out, arcname=self.out.name)
        total = archive.stat().st_size
        missing = [e["program"] for part in self.manifest.values() if isinstance(part, list) for e in part].count(None)
        print(f"{archive}: {total / 2**20:.1f} MiB, {missing} programs are missing")
        if total > self.o.limit_mib * 2**20:
            sys.exit(f"more than {self.o.limit_mib} MiB: leave models out with --models")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--kedge", default="build/release/bin/kedge")
    parser.add_argument("--shared", default="../shared")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--without-performance", action="store_true")
    parser.add_argument("--limit-mib", type=float, default=60)
    pack = Pack(parser.parse_args())
    for model in filter(None, pack.o.models.split(",")):
        pack.golden(model)
    if not pack.o.without_performance:
        pack.performance()
    pack.libraries()
    pack.scripts()
    pack.check_size()


if __name__ == "__main__":
    main()
