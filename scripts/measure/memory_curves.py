#!/usr/bin/env python3
"""Added time against memory budget, planned by `kedge plan`, as docs/memory-curves.md and docs/memory-curves.svg.

memory_curves.py --kedge build/quick/bin/kedge [--out docs] [--device a100] [--effort N] [--jobs 2]
                 [--pytorch BUDGETS.json] [NAME...]

Models are those of kedge shapes, so nothing is downloaded. NAMEs leave out the others
(gpt2, bert-base, resnet50, unet, llama-1b, gpt2-medium, lesson-l); nothing runs on the device: its times are predicted.
--pytorch: what pytorch_budget.py wrote, for a column next to ours.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

from memory_plot import plot

CURVES = {
    "gpt2": ("GPT-2 124M, B8 T1024", "input_ids=8x1024"),
    "bert-base": ("BERT-base, B16 T512", "input_ids=16x512"),
    "resnet50": ("ResNet-50, B64 3x224x224", "pixels=64x3x224x224"),
    "unet": ("U-Net, B4 3x256x256", "pixels=4x3x256x256"),
    "llama-1b": ("Llama-1B shapes, B2 T1024", "input_ids=2x1024"),
}
LESSON = {
    "gpt2-medium": ("GPT-2 medium, 354,823,168 parameters", "input_ids=16x1024"),
    "lesson-l": ("L, 1,416,552,448 parameters", "input_ids=16x1024"),
}
POLICIES = ("none", "attention", "sqrt", "full")
SHARES = (90, 80, 70, 60, 50, 40, 30, 25)
KEPT = (60, 70, 80)
LESSON_BUDGET = 24 << 30
PRECISIONS = ("fp32", "bf16", "fp16")
# Below any plan, so that the answer is the smallest feasible budget.
HOPELESS = "activations=1%"


class Planner:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.torch = json.loads(options.pytorch.read_text()) if options.pytorch else {"models": {}}
        self.pool = concurrent.futures.ThreadPoolExecutor(options.jobs)

    def fixed(self):
        effort = [] if self.options.effort is None else ["--effort", str(self.options.effort)]
        return ["--loss", "cross-entropy", "--device", self.options.device, "--json"] + effort

    def model(self, name):
        path = self.folder / f"{name}.onnx"
        if not path.exists():
            subprocess.run(["kedge", "shapes", name, "-o", str(path)], check=True, capture_output=True)
        return str(path)

    def run(self, name, shape, *memory):
        command = [self.options.kedge, "plan", self.model(name), "--shape", shape, *self.fixed(), *memory]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 2) or not done.stdout:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
        print(name, *memory, "" if done.returncode == 0 else "no plan", file=sys.stderr, flush=True)
        return outcome(json.loads(done.stdout), done)

    def start(self, name, shape, *memory):
        return self.pool.submit(self.run, name, shape, *memory)


def outcome(report, done):
    """What the tables and the plot show of one plan; bytes, and ratios to the time without recomputation."""
    def last_line(text):
        found = re.search(text.replace("N", r"(\d+)"), done.stderr)
        return int(found[1]) if found else None

    step = next(f for f in report["functions"] if f["name"] == "step")
    fixed = step["persistent_bytes"] + sum(r["bytes"] for r in report["reservations"])
    return {"found": done.returncode == 0, "peak": report["peak_bytes"], "budget": report["budget_bytes"],
            "overhead": report["recompute"]["overhead"], "bound": report["recompute"]["lower_bound"],
            "ops": report["recompute"]["ops"], "fixed": fixed, "transient": report["unconstrained_transient_bytes"],
            "packing": max(packing_of(f) for f in report["functions"]),
            "floor": last_line("no plan needs less than N bytes"),
            "smallest": last_line("smallest feasible budget: N bytes")}


def packing_of(function):
    """What the packed arena of a function has above its largest live set, which no packing beats."""
    live = function["transient_live_bytes"]
    return function["transient_peak_bytes"] / live - 1 if live else 0


def start_named(planner, name, shape):
    named = {policy: planner.start(name, shape, "--recompute", policy) for policy in POLICIES}
    named = {policy: plan.result() for policy, plan in named.items()}
    hopeless = planner.start(name, shape, "--memory-budget", HOPELESS)
    return named, hopeless


def start_curve(planner, name, shape):
    """Everything that one curve needs; the values of the dictionaries are plans, or plans to come."""
    named, hopeless = start_named(planner, name, shape)
    shares = {share: planner.start(name, shape, "--memory-budget", f"activations={share}%") for share in SHARES}
    peaks = {}
    for policy in POLICIES[1:]:
        if named[policy]["ops"]:
            peaks.setdefault(named[policy]["peak"], []).append(policy)
    peers = {" and ".join(policies): planner.start(name, shape, "--memory-budget", str(peak))
             for peak, policies in peaks.items()}
    return named, hopeless, shares, peers


def finish_curve(planner, name, shape, started):
    named, hopeless, shares, peers = started
    hopeless = hopeless.result()
    smallest = planner.start(name, shape, "--memory-budget", str(hopeless["smallest"]))
    return {"named": named, "floor": hopeless["floor"], "smallest": smallest.result(),
            "shares": {share: plan.result() for share, plan in shares.items()},
            "peers": {policy: plan.result() for policy, plan in peers.items()}}


def start_lesson(planner, name, shape):
    named, hopeless = start_named(planner, name, shape)
    saving = named["none"]["peak"] - named["full"]["peak"]
    auto = {f"auto, {LESSON_BUDGET >> 30} GiB": LESSON_BUDGET}
    auto |= {f"auto, {kept} % of full's saving": named["none"]["peak"] - saving * kept // 100 for kept in KEPT}
    auto["auto, full's peak"] = named["full"]["peak"]
    return named, hopeless, {title: planner.start(name, shape, "--memory-budget", str(budget))
                             for title, budget in auto.items()}


def start_precisions(planner, name, shape):
    """By precision: the policies, and what 24 GiB ask for."""
    rows = {policy: ("--recompute", policy) for policy in POLICIES} | {"auto, 24 GiB": ("--memory-budget", str(LESSON_BUDGET))}
    return {precision: {title: planner.start(name, shape, "--precision", precision, *memory) for title, memory in rows.items()}
            for precision in PRECISIONS}


def share_of(plan, count):
    """Percent of the unconstrained transient peak that `count` bytes leave for activations, as in activations=X%."""
    return 100 * (count - plan["fixed"]) / plan["transient"]


def gigabytes(count):
    return f"{count / 1e9:.3f}"


def percent(ratio):
    return f"{100 * ratio:.1f} %"


def torch_cell(torch, share):
    """Of PyTorch's plan at the same share: what its forward keeps, and what it adds."""
    if not torch:
        return ""
    plan, whole = torch[str(share / 100)], torch["1.0"]
    return f"{gigabytes(plan['saved'])}, +{percent(plan['flops'] / whole['flops'] - 1)}"


def curve_row(title, plan, budget=None, torch=""):
    asked = gigabytes(budget) if budget else ""
    if not plan["found"]:
        return f"| {title} | {asked} | no plan found | | | | {torch} |"
    return (f"| {title} | {asked} | {gigabytes(plan['peak'])} | {share_of(plan, plan['peak']):.1f} % | "
            f"{percent(plan['overhead'])} | {percent(plan['bound']) if budget else ''} | {torch} |")


def worst_packing(curve):
    plans = [curve["smallest"], *(plan for part in ("named", "shares", "peers") for plan in curve[part].values())]
    return max(plan["packing"] for plan in plans if plan["found"])


def curve_table(title, curve, torch):
    named = curve["named"]
    floor = curve["floor"]
    lines = [f"## {title}", "",
             wrapped(
             f"Proven floor: no plan needs less than {gigabytes(floor)} GB ({share_of(named['none'], floor):.1f} %); "
             f"the smallest feasible budget found is {gigabytes(curve['smallest']['budget'])} GB. "
             f"Arenas have at most {100 * worst_packing(curve):.2f} % above what lives at once."), "",
             "| plan | budget GB | peak GB | activations | added time | proven: none adds less than "
             "| PyTorch: kept GB, added FLOPs |", "|---|---|---|---|---|---|---|"]
    for policy, plan in named.items():
        lines.append(curve_row(policy if plan["ops"] or policy == "none" else f"{policy} (nothing to recompute)", plan,
                               torch=torch_cell(torch, 100) if policy == "none" else ""))
    for share, plan in curve["shares"].items():
        lines.append(curve_row(f"auto, activations={share}%", plan, plan["budget"], torch_cell(torch, share)))
    lines.append(curve_row("auto, smallest feasible", curve["smallest"], curve["smallest"]["budget"]))
    for policy, plan in curve["peers"].items():
        lines.append(curve_row(f"auto, peak of {policy}", plan, plan["budget"]))
    return lines + [""]


def lesson_table(title, named, auto, hopeless):
    saving = named["none"]["peak"] - named["full"]["peak"]
    floor = gigabytes(hopeless["floor"])
    worst = max(plan["packing"] for plan in [*named.values(), *auto.values()] if plan["found"])
    lines = [f"### {title}", "", f"The smallest feasible budget found is {gigabytes(hopeless['smallest'])} GB. "
             f"Arenas have at most {100 * worst:.2f} % above what lives at once.", "",
             "| plan | budget GB | peak GB | fits 24 GiB | of full's saving | added time | proven floor GB |",
             "|---|---|---|---|---|---|---|"]
    for name, plan in list(named.items()) + list(auto.items()):
        budget = gigabytes(plan["budget"]) if plan["budget"] else ""
        fits = "yes" if plan["peak"] <= LESSON_BUDGET else "no"
        kept = percent((named["none"]["peak"] - plan["peak"]) / saving)
        cells = (gigabytes(plan["peak"]), fits, kept, percent(plan["overhead"])) if plan["found"] else (
            "no plan found", "no", "", "")
        lines.append(f"| {name} | {budget} | {' | '.join(cells)} | {floor} |")
    return lines + [""]


def precision_table(title, plans):
    """What 16 bits buy: peak and added time of each plan, by precision; peaks that fit are bold."""
    def cell(plan):
        if not plan["found"]:
            return "no plan found |"
        peak = gigabytes(plan["peak"])
        return f"{f'**{peak}**' if plan['peak'] <= LESSON_BUDGET else peak} | {percent(plan['overhead'])}"

    lines = [f"### {title}: 16 bits compared with fp32", "", "| plan | " + " | ".join(f"{p} peak GB | added time" for p in plans) + " |",
             "|---|" + "---|---|" * len(plans)]
    for row in next(iter(plans.values())):
        lines.append(f"| {row} | " + " | ".join(cell(plans[p][row]) for p in plans) + " |")
    return lines + [""]


def oddities(title, plans, named, smallest):
    """Plans over their budget or below the smallest one, costs that fall with the memory, auto behind a policy."""
    found = [f"{title}: {plan['peak']} bytes planned in a budget of {plan['budget']}"
             for plan in plans if plan["found"] and plan["peak"] > plan["budget"]]
    plans = sorted((p for p in plans if p["found"]), key=lambda p: -p["budget"])
    found += [f"{title}: {smallest} bytes reported as the smallest feasible budget, but a plan of {plan['peak']} was "
              "found"
              for plan in plans if plan["budget"] < smallest]
    found += [f"{title}: {percent(less['overhead'])} within {gigabytes(less['budget'])} GB, but "
              f"{percent(more['overhead'])} within {gigabytes(more['budget'])} GB"
              for more, less in zip(plans, plans[1:]) if less["overhead"] < more["overhead"] - 1e-9]
    for policy, rival in named.items():
        best = min((p["overhead"] for p in plans if p["budget"] <= rival["peak"]), default=None)
        if best is not None and best > rival["overhead"] + 1e-9 and any(p["budget"] == rival["peak"] for p in plans):
            found.append(f"{title}: auto adds {percent(best)} at the peak of {policy}, which adds "
                         f"{percent(rival['overhead'])}")
    return found


def wrapped(text):
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def preamble(planner, names):
    effort = "the default effort" if planner.options.effort is None else f"`--effort {planner.options.effort}`"
    return ["# Added time against memory", "", wrapped(
        f"Written by `scripts/measure/memory_curves.py{''.join(' ' + name for name in names)}`; the models are those of "
        "`kedge shapes`, shapes without weights, trained with AdamW, in fp32 where nothing else is said. Every row is one "
        f"`kedge plan MODEL --shape ... {' '.join(planner.fixed()[:4])}` at {effort}, with `--recompute POLICY` or "
        "`--memory-budget BUDGET`. **Times are the cost model's for the device "
        f"`{planner.options.device}`, not measured**; added time is relative to the plan without recomputation."), "",
        wrapped(
        "Peaks are of everything that the program allocates: parameters, gradients, optimizer and activations. "
        "`activations` is the transient part as a percentage of that without recomputation, as in "
        "`--memory-budget activations=50%`. `none adds less than` is a proven lower bound on the added time of every "
        "plan within the budget, the floor one on the bytes of every plan. GB are 10^9 bytes. Attention is one fused op "
        "here and keeps no table of scores, so the policy `attention`, which recomputes it, has little to save."), "",
        *torch_note(planner.torch)]


def torch_note(torch):
    if "torch" not in torch:
        return []
    return [wrapped(
        f"PyTorch {torch['torch']}: `scripts/measure/pytorch_budget.py`, the same models under `activation_memory_budget` of the "
        "row's share (1.0 for `none`), its graphs read and not run. `kept` is what its forward hands to its backward: "
        "neither a peak nor a promise, as gradients, workspaces and what backward computes again come on top; the budget "
        "is a share of what it would keep without fusing. Its FLOPs are products, convolutions and attention only; "
        "our added time counts everything."), ""]


def lesson_preamble():
    return ["## The memory lesson", "", wrapped(
        "Batch 16, sequences of 1024, a device of 24 GiB (25.770 GB). Selective recomputation is widely quoted as "
        "keeping 60 to 80 % of full's saving for 10 to 15 % more time; `auto` is shown at those savings, at "
        "full's peak and at 24 GiB. A table for each shows what `--precision bf16` and `fp16` (policy `master`) take; "
        "peaks within 24 GiB are bold, and added time is relative to the same precision without recomputation."), ""]


def all_tables(planner, names):
    """Yields all there is so far, whenever a model is done."""
    chosen = lambda models: {n: m for n, m in models.items() if not names or n in names}
    curves = {name: start_curve(planner, name, shape) for name, (_, shape) in chosen(CURVES).items()}
    lessons = {name: start_lesson(planner, name, shape) for name, (_, shape) in chosen(LESSON).items()}
    narrow = {name: start_precisions(planner, name, shape) for name, (_, shape) in chosen(LESSON).items()}
    finished, odd, tables = {}, [], []
    for name, started in curves.items():
        title, shape = CURVES[name]
        curve = finished[title] = finish_curve(planner, name, shape, started)
        tables += curve_table(title, curve, planner.torch["models"].get(name))
        odd += oddities(title, [*curve["shares"].values(), *curve["peers"].values(), curve["smallest"]], curve["named"],
                        curve["smallest"]["budget"])
        yield finished, tables, odd
    tables += lesson_preamble() if lessons else []
    for name, (named, hopeless, auto) in lessons.items():
        plans = {title: plan.result() for title, plan in auto.items()}
        tables += lesson_table(LESSON[name][0], named, plans, hopeless.result())
        tables += precision_table(LESSON[name][0], {precision: {row: plan.result() for row, plan in rows.items()}
                                                    for precision, rows in narrow[name].items()})
        odd += oddities(LESSON[name][0], list(plans.values()), named, hopeless.result()["smallest"])
        yield finished, tables, odd


def write(planner, curves, tables, odd):
    options = planner.options
    picture = ["![Added time against activation memory](memory-curves.svg)", ""] if curves else []
    notes = ["## Oddities that the script found", "", *(f"- {line}" for line in odd), ""] if odd else []
    text = "\n".join(preamble(planner, options.names) + picture + tables + notes)
    (options.out / "memory-curves.md").write_text(text.rstrip() + "\n")
    if curves:
        (options.out / "memory-curves.svg").write_text(plot(curves, share_of))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kedge", required=True)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2] / "docs")
    parser.add_argument("--device", default="a100")
    parser.add_argument("--effort", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--pytorch", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    unknown = [n for n in options.names if n not in CURVES and n not in LESSON]
    if unknown:
        parser.error(f"no model {unknown[0]}; there are {', '.join([*CURVES, *LESSON])}")
    options.kedge = os.path.abspath(options.kedge)
    with tempfile.TemporaryDirectory() as folder:
        planner = Planner(options, pathlib.Path(folder))
        for curves, tables, odd in all_tables(planner, options.names):
            write(planner, curves, tables, odd)
    print("\n".join(odd))


if __name__ == "__main__":
    main()
