"""why.py KEDGE COUNT MODEL OPTIONS...: what `kedge why` says of COUNT values of a plan, against the plan itself.

Launches and places against the tables of `kedge plan`, prices against plans in which that decision was forced.
"""
import csv
import json
import subprocess
import sys
import tempfile

kedge, count, *model = sys.argv[1:]
folder = tempfile.mkdtemp()


def run(*words):
    done = subprocess.run([kedge, *words], capture_output=True, text=True)
    if done.returncode not in (0, 2):
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def why(tensor, *options):
    return run("why", model[0], tensor, *model[1:], "--json", *options)


plan = run("plan", *model, "--json", "--arena", f"{folder}/arena.csv", "--launches", f"{folder}/launches.csv")
launches = [row for row in csv.DictReader(open(f"{folder}/launches.csv")) if row["function"] == "step"]
buffers = [{k: int(row[k]) for k in ("lower", "upper", "size", "offset")}
           for row in csv.DictReader(open(f"{folder}/arena.csv")) if row["id"].startswith("step.")]
persistent = plan["functions"][0]["persistent_bytes"]
expect_first = plan["functions"][0]["name"]
if expect_first != "step":
    sys.exit(f"the plan's first function is {expect_first}, expected step")
base = 1  # the table's number of launch 0: 0 is before the first


def live(launch):
    return persistent + sum(b["size"] for b in buffers if b["lower"] <= launch + base < b["upper"])


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: found {found}, expected {expected}")


def check_value(value):
    name = value["id"]
    for turn in value["made"] + value["read"]:
        row = launches[turn["launch"]]
        if row["kernel"] != turn["kernel"] and turn["kernel"] != "cluster":
            sys.exit(f"{name}: launch {turn['launch']} is {row['kernel']}, found {turn['kernel']}")
        place = "/".join(part for part in (turn["module"], turn["node"]) if part)
        if place not in row["place"]:
            sys.exit(f"{name}: launch {turn['launch']} is at {row['place']}, found {place}")
    for life in value["in_memory"]:
        holds = [b for b in buffers if b["offset"] == life["offset"] and b["size"] == life["bytes"]
                 and b["lower"] - base <= life["from"] and life["to"] < b["upper"] - base]
        if life["memory"] == "device" and not value.get("persistent") and not holds:
            sys.exit(f"{name}: no buffer of the arena holds it from {life['from']} to {life['to']}")
    peak = value["peak"]
    expect(f"{name}: bytes at launch {peak['launch']}", peak["bytes"], live(peak["launch"]))
    expect(f"{name}: highest launch", peak["bytes"], max(live(k) for k in range(len(launches))))
    there = any(life["memory"] == "device" and life["from"] <= peak["launch"] <= life["to"] for life in value["in_memory"])
    expect(f"{name}: at the peak", peak["stands"], there)


def check_prices(value):
    forced = 0
    for decision, price in value["prices"].items():
        if "obstacle" in price:
            continue
        found = why(value["id"], "--force", decision)["plan"]
        expect(f"{value['id']}: peak with {decision}", found["peak_bytes"], price["peak_bytes"])
        seconds = found["step_seconds"] - plan["step_seconds"]
        if abs(seconds - price["seconds_change"]) > 1e-6 * plan["step_seconds"]:
            sys.exit(f"{value['id']}: {decision} adds {seconds} s, priced {price['seconds_change']}")
        forced += 1
    if value.get("chosen") and "obstacle" in value["prices"][value["chosen"]]:
        sys.exit(f"{value['id']}: what the plan chose is priced as impossible")
    return forced


modules = sorted({row["place"].replace("backward/", "").rsplit("/", 1)[0] for row in launches
                  if "/" in row["place"].replace("backward/", "")})
ids, kinds = [], {}
for module in modules:
    for value in why(module)["values"]:
        # Some of each choice and part of the step, the large ones first.
        if value["id"] not in ids and "persistent" not in value:
            ids.append(value["id"])
            kinds.setdefault((value.get("chosen"), value["phase"]), []).append((value["bytes"], value["id"]))
    if len(ids) > 60:
        break
chosen = []
for rank in range(60):
    for kind in sorted(kinds, key=str):
        entries = sorted(kinds[kind], reverse=True)
        if rank < len(entries) and len(chosen) < int(count):
            chosen.append(entries[rank][1])
forced, choices = 0, set()
for name in chosen:
    answer = why(name)
    expect("peak of the plan", answer["plan"]["peak_bytes"], plan["peak_bytes"])
    expect("time of the plan", answer["plan"]["step_seconds"], plan["step_seconds"])
    (value,) = answer["values"]
    check_value(value)
    forced += check_prices(value)
    choices.add(value.get("chosen"))
print(f"{len(chosen)} values, {forced} forced plans as priced, chosen: {' '.join(sorted(map(str, choices)))}")
