#!/usr/bin/env python3
"""Writes docs/predictions.md: what `kedge plan --auto` chooses and predicts beside what others have published.

predictions.py TEMP [--only WORD] [--page docs/predictions.md] [--bench bench/predictions.json]

Each row is one plan of `kedge`, taken from PATH, on an h100 (`--link dgx-h100`). What TEMP has is not planned again, so a run that was
interrupted goes on; rows without a plan say so on the page. No row changes a constant of a model: the page shows how far off it is.
"""

import argparse
import json
import os
import pathlib
import subprocess

MISS = 0.15  # from here on a row needs an explanation

# model, rows of a rank, ranks, further options, published tokens/s of a GPU, who says so with which way, and why a miss is one.
ROWS = [
    ("gpt2", "64x1024", 8, [], 468000, "llm.c, 8 x H100, data parallel, bf16", ""),
    ("gpt2-xl", "16x1024", 8, [], 46800, "llm.c, GPT-2 1558M, 8 x H100, stage 1, bf16", ""),
    ("llama-8b", "2x8192", 8, [], 6667, "torchtitan, Llama 3.1 8B, 8 x H100, FSDP, torch.compile, selective recomputation", ""),
    ("llama-8b", "1x4096", 1, ["--lora", "_proj", "--lora-rank", "16"], 12473, "NeMo Automodel, 8B LoRA at 4096 on one H100", ""),
]
# Rows whose way Kedge cannot take yet.
MISSING = [
    ("Llama 3 8B at 131,072 to 1,048,576 tokens (torchtitan, ALST)", "the axis `context`"),
    ("Llama 3.1 405B, 70B with context parallelism (torchtitan, Megatron-Bridge)", "the axis `context`"),
    ("DeepSeek-V3, Qwen3 MoE, Mixtral (Megatron-Bridge, AutoParallel)", "the axis `expert`"),
    ("bytes of 8-bit and 4-bit optimizers (torchao)", "`--moments int4`; 8 bits are in [few bits](rationale/few-bits.md)"),
]


def name_of(row):
    model, shape, ranks, more, *_ = row
    return "-".join([model, shape, str(ranks), *more]).replace("=", "").replace("--", "")


def planned(row, temp):
    kept = temp / f"{name_of(row)}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    model, shape, ranks, more, *_ = row
    file = temp / f"{model}.onnx"
    if not file.exists():
        subprocess.run(["kedge", "shapes", model, "-o", str(file)], check=True, capture_output=True)
    command = ["kedge", "plan", str(file), "--shape", f"input_ids={shape}", "--loss", "cross-entropy", "--precision", "bf16", "--target", "cuda",
               "--device", "h100", "--json", "--auto", *more]  # fmt: skip
    command += ["--ranks", str(ranks), "--link", "dgx-h100"] if ranks > 1 else ["--ranks", "1"]
    before = os.times()
    done = subprocess.run(command, capture_output=True, text=True)
    after = os.times()
    if done.returncode != 0:
        return {"error": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"}
    report = json.loads(done.stdout)
    auto = report["auto"]
    rows, tokens = map(int, shape.split("x"))
    result = {"mesh": auto["choice"]["mesh"], "zero": auto["choice"]["zero"], "seconds": auto["seconds"], "gap": auto["gap"],
              "bytes": auto.get("peak_bytes") or report.get("peak_bytes"), "rate": rows * tokens / auto["seconds"],
              "command": " ".join(["kedge", "plan", file.name, *command[3:]]), "search_seconds": after.children_user - before.children_user}  # fmt: skip
    kept.write_text(json.dumps(result, indent=1))
    return result


def line_of(row, result):
    model, shape, ranks, more, published, source, why = row
    start = f"| {model} {' '.join(more)} | {shape} | {ranks} | {source} | {published:,} |"
    if "error" in result:
        return f"{start} not planned: {result['error']} | | | | |"
    miss = result["rate"] / published - 1
    size = f"{result['bytes'] / 1e9:.1f} GB" if result["bytes"] else "not known"
    note = why if abs(miss) > MISS else ""
    return (f"{start} `{result['mesh']}`, stage {result['zero']} | {1000 * result['seconds']:.1f} ms | {size} | {result['rate']:,.0f} | "
            f"{100 * miss:+.0f} % {note} |")  # fmt: skip


def page(rows, results):
    lines = [
        "# Predictions beside published runs", "",
        "Written by `scripts/make/predictions.py`: what `kedge plan --auto` chooses and predicts on H100s beside what others have measured there. None of",
        "these rows was measured with Kedge. A prediction above the published number by more than 15 % is a time that the device model counts too low (see",
        "[results](results.md) for what was measured), not a claim.", "",
        "| model | rows of a rank | ranks | published by | tokens/s a GPU | chosen | a step | bytes | tokens/s a GPU, predicted | difference |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(line_of(row, result) for row, result in zip(rows, results)), "",
        "Rows that need what is not there yet:", "", "| published | needs |", "|---|---|",
        *(f"| {what} | {needs} |" for what, needs in MISSING), "",
        "Sources: llm.c, torchtitan and NeMo Automodel as of their own tables of performance. Their numbers are those of a step with data, as they say it.", "",
    ]  # fmt: skip
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("temp", type=pathlib.Path)
    parser.add_argument("--only")
    parser.add_argument("--page", type=pathlib.Path)
    flags = parser.parse_args()
    flags.temp.mkdir(parents=True, exist_ok=True)
    rows = [row for row in ROWS if not flags.only or flags.only in name_of(row)]
    text = page(rows, [planned(row, flags.temp) for row in rows])
    if flags.page:
        flags.page.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
