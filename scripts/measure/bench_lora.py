#!/usr/bin/env python3
"""A step of low-rank adapters on GPT-2 124M: Kedge's program beside peft, eager and under torch.compile, in turns in one run.

bench_lora.py --model gpt2.onnx [--python python3] [--kedge build/release/bin/kedge] [--shape 4x64] [--rank 8]
              [--contenders kedge,nf4,eager,compile] [--rounds 3 --steps 5 --threads 2] [--precision fp32]

--model: what scripts/make/make_gpt2.py writes. --python: an interpreter with torch and peft. Adapters on all linears of the blocks,
AdamW, cross-entropy over all tokens, bf16 under autocast in peft; `nf4` is Kedge's program over weights in 4 bits. A contender of PyTorch is one process
that waits while another has its turn, so that it compiles once. Steps before the third of a program, and the first three of
PyTorch, do not count. Prints a line a turn with the load of the machine, then the least and the median step of all rounds: on a
machine with other work the least tells most.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from busy_beside import write_tokens

HERE = pathlib.Path(__file__).resolve().parent
LINEARS = ["qkv", "out", "up", "down"]
VOCABULARY = 50257
BEFORE = {"kedge": 2, "torch": 3}  # steps that do not count


class Program:
    """A turn is a run of the program."""

    def __init__(self, o, folder, name):
        self.o, self.program, self.data, self.log = o, folder / name, folder / "tokens.npy", folder / f"{name}.jsonl"
        expression = rf"({'|'.join(LINEARS)})\.weight$"
        few = ["--quantize", f"{expression}=nf4"] if name == "nf4" else []
        subprocess.run([o.kedge, "compile", o.model, "--shape", f"input_ids={o.shape}", "--loss", "cross-entropy", "--lora", expression,
                        "--lora-rank", str(o.rank), "--precision", o.precision, *few, "-o", self.program], check=True, stdout=subprocess.DEVNULL)

    def turn(self):
        subprocess.run([self.program, "--data", f"input_ids={self.data}", "--data", f"labels={self.data}", "--threads",
                        str(self.o.threads), "--steps", str(self.o.steps + BEFORE["kedge"]), "--log", self.log],
                       check=True, stdout=subprocess.DEVNULL)
        return [json.loads(line)["seconds"] for line in self.log.read_text().splitlines()][BEFORE["kedge"]:]

    def end(self):
        pass


class Peft:
    """A process that makes its steps when it is told to."""

    def __init__(self, o, folder, mode):
        words = [o.python, __file__, "--model", o.model, "--peft", mode, "--shape", o.shape, "--rank", o.rank, "--threads", o.threads,
                 "--precision", o.precision]
        self.steps = o.steps
        self.process = subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ask(BEFORE["torch"])

    def ask(self, steps):
        print(steps, file=self.process.stdin, flush=True)
        for line in self.process.stdout:
            if line.startswith("["):
                return json.loads(line)
        sys.exit(f"peft ended with {self.process.wait()}")

    def turn(self):
        return self.ask(self.steps)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def serve_peft(o):
    """Reads numbers of steps, answers with a list of their seconds."""
    import torch
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "make"))
    from make_gpt2 import GPT2
    from peft import LoraConfig, get_peft_model
    torch.manual_seed(0)
    torch.set_num_threads(o.threads)
    sizes = argparse.Namespace(layers=12, width=768, heads=12, vocab=VOCABULARY, positions=1024)
    model = get_peft_model(GPT2(sizes), LoraConfig(r=o.rank, lora_alpha=8, target_modules=LINEARS))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4, fused=True)
    forward = torch.compile(model) if o.peft == "compile" else model
    tokens = torch.randint(0, VOCABULARY, tuple(map(int, o.shape.split("x"))))

    def step():
        begin = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=o.precision == "bf16"):
            loss = torch.nn.functional.cross_entropy(forward(tokens).flatten(0, 1), tokens.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        float(loss.detach())
        return time.perf_counter() - begin

    for line in sys.stdin:
        print(json.dumps([step() for _ in range(int(line))]), flush=True)


def table(o, seconds):
    print(f"\n| {o.shape}, rank {o.rank} | least step, s | median, s | of kedge's least |\n|---|---|---|---|")
    first = min(seconds[next(iter(seconds))])
    for name, steps in seconds.items():
        print(f"| {name} | {min(steps):.3f} | {statistics.median(steps):.3f} | {min(steps) / first:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--kedge", type=pathlib.Path, default=HERE.parents[1] / "build/release/bin/kedge")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--shape", default="4x64")
    parser.add_argument("--contenders", default="kedge,nf4,eager,compile")
    for name, value in dict(rank=8, rounds=3, steps=5, threads=2).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--precision", default="fp32", choices=["fp32", "bf16"])
    parser.add_argument("--peft", choices=["eager", "compile"], help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.peft:
        return serve_peft(o)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        batch, length = map(int, o.shape.split("x"))
        write_tokens(folder / "tokens.npy", 4 * batch, length, VOCABULARY)
        names = o.contenders.split(",")
        contenders = {name: (Program if name in ("kedge", "nf4") else Peft)(o, folder, name) for name in names}
        seconds = {name: [] for name in names}
        for number in range(o.rounds):
            for name, contender in contenders.items():
                steps = contender.turn()
                seconds[name] += steps
                print(f"round {number + 1}: {name:8} least {min(steps):.3f} s, median {statistics.median(steps):.3f} "
                      f"(load {os.getloadavg()[0]:.1f})", flush=True)
        for contender in contenders.values():
            contender.end()
        table(o, seconds)


if __name__ == "__main__":
    main()
