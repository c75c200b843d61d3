"""Whether choices of --auto rank as they were predicted: joint_order.py BUILD OUT.json NAME -- kedge plan MODEL OPTIONS.

Takes the ten best choices of `kedge plan --auto --json`, compiles each (`--prepare`), then runs each on the ranks of --ranks, in turns,
and notes the least seconds of a step of each. BUILD is a folder with bin/. Data are made for inputs named in `--rows NAME=FILE.npy`.

    joint_order.py --prepare FOLDER BUILD -- MODEL OPTIONS
    joint_order.py --measure FOLDER OUT.json --data INPUT=FILE.npy ... [--steps 12] [--turns 3]
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys


def flags_of(choice, options):
    """The options of a choice, for compile."""
    words = []
    whole = options[options.index("--shape") + 1]
    ranks = options[options.index("--ranks") + 1]
    words = [word for word in options]
    place = words.index("--shape") + 1
    words[place] = re.sub(r"=\d+x", f"={choice['rows']}x", whole)
    drop = words.index("--ranks")
    del words[drop:drop + 2]
    words += ["--mesh", choice["mesh"], "--zero", str(choice["zero"]), "--accumulate", str(choice["accumulate"]), "--bucket-bytes",
              str(choice["bucket_bytes"])]
    if choice["sequence_parallel"] is not None:
        words += ["--sequence-parallel", "on" if choice["sequence_parallel"] else "off"]
    if choice["pipeline_schedule"]:
        words += ["--pipeline-schedule", choice["pipeline_schedule"]]
    assert ranks and not choice["offload"] and "--accumulate" not in options
    return words


def prepare(folder, build, model, options):
    folder.mkdir(parents=True, exist_ok=True)
    kedge = str(build / "bin" / "kedge")
    text = subprocess.run([kedge, "plan", model, *options, "--auto", "--json", "--effort", "1"], check=True, capture_output=True,
                          text=True).stdout
    rows = json.loads(text)["auto"]["rows"]
    kept = []
    for number, row in enumerate(rows):
        flags = flags_of(row["choice"], options)
        plan = json.loads(subprocess.run([kedge, "plan", model, *flags, "--effort", "1", "--json"], check=True,
                                         capture_output=True, text=True).stdout)
        program = folder / f"choice-{number}"
        subprocess.run([kedge, "compile", model, *flags, "--effort", "1", "-o", str(program)], check=True, capture_output=True)
        sent = [entry for entry in plan["communication"] if not entry["collective"].endswith("_scalar")]
        # Of a pipeline the plan shows the fullest rank, and the report of a run is of the first one.
        first = plan["ranks"][0] if "pipeline" in plan else plan
        kept.append({"choice": row["choice"], "predicted": plan["step_seconds"], "peak_bytes": plan["peak_bytes"],
                     "arena_bytes": first["arena_bytes"], "sent": sent if first is plan else None})
    (folder / "choices.json").write_text(json.dumps(kept, indent=1))


def run(program, ranks, data, steps, extra=()):
    log = program.with_suffix(".jsonl")
    subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks), str(program), "--threads", "1", "--steps",
                    str(steps), "--log", str(log), *data, *extra], check=True, capture_output=True)
    return [json.loads(line)["seconds"] for line in log.read_text().split("\n") if line]


def order(values):
    """The place of each value; equal ones share the mean of their places."""
    return [sum(other < value for other in values) + (sum(other == value for other in values) - 1) / 2 for value in values]


def measure(folder, out, data, steps, turns, ranks):
    choices = json.loads((folder / "choices.json").read_text())
    for _ in range(turns):
        for number, choice in enumerate(choices):
            report = folder / f"memory-{number}.json"
            seconds = run(folder / f"choice-{number}", ranks, data, steps, ["--memory-report", str(report)])
            choice["measured"] = min(choice.get("measured", 1e9), statistics.median(seconds[2:]))
            measured = json.loads(report.read_text())
            sent = [entry for entry in measured["communication"] if not entry["collective"].endswith("_scalar")]
            choice["bytes_equal"] = measured["arena_bytes"] == choice["arena_bytes"] and choice["sent"] in (None, sent)
    predicted, taken = order([c["predicted"] for c in choices]), order([c["measured"] for c in choices])
    correlation = statistics.correlation(predicted, taken)
    for choice in choices:
        choice.pop("sent")
        print(choice["choice"]["mesh"], choice["choice"]["zero"], choice["choice"]["rows"], f"{choice['predicted']:.5f}",
              f"{choice['measured']:.5f}", choice["bytes_equal"])
    print(f"rank correlation {correlation:.2f}, bytes equal: {all(c['bytes_equal'] for c in choices)}")
    out.write_text(json.dumps({"rank_correlation": correlation, "choices": choices}, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepare", nargs=2, type=pathlib.Path, metavar=("FOLDER", "BUILD"))
    parser.add_argument("--measure", nargs=2, type=pathlib.Path, metavar=("FOLDER", "OUT.json"))
    parser.add_argument("--data", action="append", default=[])
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--ranks", type=int, default=4)
    mine, rest = (sys.argv[1:] + ["--"])[:(sys.argv + ["--"]).index("--") - 1], sys.argv[(sys.argv + ["--"]).index("--") + 1:]
    arguments = parser.parse_args(mine)
    if arguments.prepare:
        prepare(*arguments.prepare, rest[0], rest[1:])
    if arguments.measure:
        data = [word for one in arguments.data for word in ("--data", one)]
        measure(*arguments.measure, data, arguments.steps, arguments.turns, arguments.ranks)


if __name__ == "__main__":
    main()
