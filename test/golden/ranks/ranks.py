#!/usr/bin/env python3
"""Trains a golden model on several ranks: ranks.py FOLDER OUT RANKS STAGE[,STAGE...] [OPTION OF COMPILE...].

Each rank and micro-batch takes its share of the trace's batch, so that PyTorch's losses, norms and rates are the right
ones. The stages given agree to the last bit (losses, norms and weights): with --accumulate
give 0,1 or 2,3. What launches sent, counted by the program, is what its plan says. KEDGE_POISON=1 applies.
"""
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from check import differences, safetensors_norms


def mpirun(ranks, program, *arguments):
    return subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks), program, *arguments,
                           "--threads", "1"], check=True)


def shared_rows(options, parts):
    """The trace's shapes with the rows of a rank's micro-batch."""
    def share(found):
        rows = int(found.group(2))
        assert rows % parts == 0, f"{rows} rows do not share among {parts} micro-batches"
        return f"{found.group(1)}{rows // parts}"
    return [re.sub(r"^(\w+=)(\d+)", share, word) if "--shape" == before else word
            for before, word in zip(["", *options], options)]


def train(folder, trace, out, ranks, stage, options):
    out.mkdir(parents=True, exist_ok=True)
    program, log, weights, report = (out / name for name in ("program", "log.jsonl", "trained.safetensors", "memory.json"))
    parts = ranks * (int(options[options.index("--accumulate") + 1]) if "--accumulate" in options else 1)
    subprocess.run(["kedge", "compile", folder / "model.onnx", *shared_rows(trace["compile"], parts), *options, "--ranks",
                    str(ranks), "--zero", str(stage), "-o", program], check=True)
    data = [word for name, file in trace["data"].items() for word in ("--data", f"{name}={folder / file}")]
    mpirun(ranks, program, *data, *trace["run"], "--log", log, "--export-safetensors", weights, "--memory-report", report)
    plan = json.loads(subprocess.run([program, "--plan"], check=True, capture_output=True, text=True).stdout)
    for rank in range(ranks):
        sent = json.loads((report if rank == 0 else report.with_name(f"memory.rank-{rank}.json")).read_text())
        assert sent["communication"] == plan["communication"], f"rank {rank} sent {sent['communication']}"
    print(f"stage {stage}: {json.dumps(plan['communication'])}")
    return [json.loads(line) for line in log.read_text().splitlines()], weights


def numbers(log):
    return [[line[key] for key in ("loss", "grad_norm", "lr", "loss_scale")] for line in log]


def main():
    folder, out = map(pathlib.Path, sys.argv[1:3])
    ranks, stages, options = int(sys.argv[3]), sys.argv[4].split(","), sys.argv[5:]
    trace = json.loads((folder / "trace.json").read_text())
    first, wrong = None, []
    for stage in stages:
        log, weights = train(folder, trace, out / f"stage-{stage}", ranks, stage, options)
        wrong += [f"stage {stage}: {text}" for text in differences(trace, log, safetensors_norms(weights))]
        found = (numbers(log), weights.read_bytes())
        first = first or found
        if found != first:
            step = next((i for i, pair in enumerate(zip(found[0], first[0])) if pair[0] != pair[1]), "none")
            wrong.append(f"stage {stage} differs from stage {stages[0]}, in the log first at step {step}")
    for text in wrong:
        print(text, file=sys.stderr)
    if not wrong:
        print(f"{folder.name}: {ranks} ranks, stages {', '.join(stages)} as in PyTorch, and alike to the bit")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
