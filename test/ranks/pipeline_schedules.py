#!/usr/bin/env python3
"""Schedules of a pipeline: pipeline_schedules.py GOLDEN TEMP. Losses and norms are one rank's with the same micro-batches, and
each rank's measured memory is the plan's."""
import json
import pathlib
import subprocess
import sys

GOLDEN, TEMP = (pathlib.Path(argument) for argument in sys.argv[1:3])
GPT = GOLDEN / "gpt"
TRACE = json.loads((GPT / "trace.json").read_text())


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, (command, done.returncode, done.stdout, done.stderr)
    return done


def words(*options):
    return [GPT / "model.onnx", *TRACE["compile"], *options]


def trained(name, ranks, steps, more=()):
    data = [word for key, file in TRACE["data"].items() for word in ("--data", f"{key}={GPT / file}")]
    launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", ranks] if ranks > 1 else []
    log = TEMP / f"{name}.jsonl"
    log.unlink(missing_ok=True)
    flags = dict(zip(TRACE["run"][::2], TRACE["run"][1::2])) | {"--steps": steps, "--threads": "1"}
    run([*launcher, TEMP / name, *data, *(word for pair in flags.items() for word in pair), "--log", log, *more])
    return [json.loads(line) for line in log.read_text().splitlines()]


def one_rank(micro):
    """Once for each number of micro-batches."""
    if micro not in one_rank.known:
        run(["kedge", "compile", *words("--accumulate", micro), "-o", TEMP / f"one-{micro}"])
        one_rank.known[micro] = trained(f"one-{micro}", 1, 10)
    return one_rank.known[micro]


one_rank.known = {}


def pipeline(schedule, stages, micro):
    return words("--accumulate", micro, "--mesh", f"pipeline={stages}", "--pipeline-schedule", schedule)


def plan(*options):
    return json.loads(run(["kedge", "plan", *options, "--json"]).stdout)


def check(schedule, stages, micro):
    options = pipeline(schedule, stages, micro)
    run(["kedge", "compile", *options, "-o", TEMP / "cut"])
    report = TEMP / "memory.json"
    steps = trained("cut", stages, 10, ["--memory-report", report])
    for a, b in zip(one_rank(micro), steps, strict=True):
        assert abs(a["loss"] - b["loss"]) <= 1e-5 * abs(a["loss"]), (schedule, a, b)
        assert abs(a["grad_norm"] - b["grad_norm"]) <= 1e-4 * a["grad_norm"], (schedule, a, b)
    planned = plan(*options)
    assert [rank["rank"] for rank in planned["ranks"]] == list(range(stages))
    assert planned["peak_bytes"] == max(rank["peak_bytes"] for rank in planned["ranks"])
    for rank in planned["ranks"]:
        file = report if rank["rank"] == 0 else report.with_name(f"memory.rank-{rank['rank']}.json")
        assert json.loads(file.read_text())["arena_bytes"] == rank["arena_bytes"], rank
        assert 0 <= rank["bubble"] < 1
    parts = [slot["part"] for slot in planned["pipeline"]["slots"]]
    every = micro * len(planned["pipeline"]["stages"])
    assert parts.count("forward") == parts.count("backward") == every
    assert (parts.count("weights") > 0) == (planned["pipeline"]["schedule"] == "zero-bubble")
    print(f"{schedule}, {stages} stages, {micro} micro-batches: as one rank, planned as run")


def check_peaks():
    for stages, micro in ((2, 4), (4, 8)):
        one, zero = (plan(*pipeline(name, stages, micro)) for name in ("1f1b", "zero-bubble"))
        assert zero["peak_bytes"] <= one["peak_bytes"], (zero["peak_bytes"], one["peak_bytes"])
        assert zero["pipeline"]["bubble"] < one["pipeline"]["bubble"]
    print("the fullest rank of zero-bubble takes no more than that of 1f1b")


def check_trace():
    trained("cut", 2, 4, ["--profile", TEMP / "trace.json"])
    events = json.loads((TEMP / "trace.json").read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {0, 1}
    names = {event["args"]["name"] for event in events if event["ph"] == "M"}
    assert len(names) == 2 and all(name.startswith("rank ") for name in names), names
    assert any(event["name"] == "dist.receive" for event in events)
    assert not list(TEMP.glob("trace.rank-*"))
    print("traces of both ranks are one file")


check("gpipe", 4, 3)
check("interleaved=2", 2, 1)
check("interleaved=2", 2, 3)
check("zero-bubble", 2, 8)
check("zero-bubble", 4, 2)
check("zero-bubble", 4, 8)
check("auto", 2, 2)
check_peaks()
check_trace()
