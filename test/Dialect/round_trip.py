"""Every attribute of every dialect, with empty and odd lists and words, is what it was after printing and parsing: round_trip.py TEMP

TableGen says which attributes there are, and which of their parameters are lists and words. An attribute without an example, or a
list or word that no example has empty, is a failure.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LLVM = pathlib.Path("/usr/lib/llvm-22")
ODD = r'"a, b] > \22 \\ %0 \0A"'
CUT = '<1 over "tensor" = 2>'
PLACE = '#kedge.place<forward "h.0", "up">'
# By dialect and mnemonic: (text, the parameters that are empty or odd in it). Lists that are left out are empty.
EXAMPLES = {
    "dist.mesh": [("<[] = []>", "axes sizes"), ('<["replica", "data"] = [2, 4]>', ""), (f'<["x", {ODD}] = [1, 3]>', "")],
    "dist.cut": [(CUT, "sections"), ('<0 over "" = 1 sections [48] unit 8>', "axis"), (f"<0 over {ODD} = 3 sections [4, 5]>", "")],
    "dist.spec": [('<"">', "tensor"), (f"<{ODD} cut {CUT}>", "")],
    "dist.annotation": [(f"<{PLACE}>", "inputs outputs specs"), (f'<{PLACE} reads ["", {ODD}] makes ["y"] specs [<"w" cut {CUT}>, <"x">] stage 1>', ""),
                        (f'<{PLACE} reads ["x"] stage 0>', "")],
    "dist.sharding": [("<[] on [0, 1] from 0>", "shape cuts axis"), ('<[] over "data" = 4>', "shape stages"), ("<[0] on [1] from 0>", ""),
                      (f"<[48, 144] cut [{CUT}]>", ""), (f'<[48, 144] cut [<0 over "a" = 2>, {CUT}] over "data" = 4 on [0, 2] from 1>', "")],
    "dist.slot": [('<forward of 2 stage 1, 5.000000e-01 to 1.000000e+00>', "part")],
    "dist.timetable": [('<"" seconds [] modules [] slots []>', "schedule seconds modules slots"),
                       ('<"1f1b" seconds [1.000000e-01] modules [[], ["h.0"]] slots [<forward of 0 stage 0, 0.000000e+00 to 0.000000e+00>]>', "")],
    "exec.file": [('<"", 0>', "directory"), (f"<{ODD}, 4096>", "")],
    "exec.reservation": [('<"", 0, "">', "name source"), (f"<{ODD}, 1, {ODD}>", "")],
    "kedge.place": [('<forward "", "">', "module node"), (f"<update {ODD}, {ODD}>", "")],
    "sched.recompute": [("<policy = \"\", fits = true, unconstrained_peak_bytes = 0, unconstrained_transient_bytes = 0, smallest_feasible_bytes = 0, "
                         "proven_floor_bytes = 0, seconds = 0.000000e+00, ops = 0, flops = 0.000000e+00, overhead = 0.000000e+00, "
                         "lower_bound = 0.000000e+00, blocks = []>", "policy blocks frontier"),
                        ("<policy = \"none\", fits = false, budget_bytes = 7, unconstrained_peak_bytes = 0, unconstrained_transient_bytes = 0, "
                         "smallest_feasible_bytes = 0, proven_floor_bytes = 0, seconds = 0.000000e+00, ops = 0, flops = 0.000000e+00, "
                         "overhead = 0.000000e+00, lower_bound = 0.000000e+00, blocks = [[]], frontier = []>", "frontier")],
    "train.binding": [('<input "">', "target"), (f"<output {ODD}>", ""), ("<state @w>", ""), ('<output "y" part 0 of tensor<0xf32>>', ""),
                      ('<output "y" part 1 of tensor<f32>>', "")],
    "train.kind": [("<model>", "")],
    "train.role": [(" parameter", ""), (" moment1", "")],
    "train.weight": [('<""[0, +0]>', "file"), (f"<{ODD}[8, +16]>", "")],
    "tune.adapter": [('<A of @w scale 0.000000e+00 : f64 transposed false path "">', "path from bias rows"),
                     (f"<B of @w scale 2.000000e+00 : f64 transposed true path {ODD} from olora bias @b rows[3, 1]>", "")],
    "tune.encoding": [("<nf4 codes of tensor<f32> double true>", ""), ("<nf4 codes of tensor<0xf32> double false>", ""), ("<fp4 absmax of tensor<2x4xf32> double false block 4 : i64>", "")],
    "tune.fake_quantized": [("<int4 input uint8>", "axis block min max learned sums out_min out_max"),
                            ("<int8 axis 1 : i64 block 8 : i64 range @a @b learned @c sums unit output @d @e input int8>", "")],
    "tune.folded_norm": [("<scale @a bias @b mean @c variance @d epsilon 1.000000e-05 : f32>", "product_bias"),
                         ("<scale @a bias @b mean @c variance @d product_bias @e epsilon 1.000000e-05 : f32>", "")],
    "tune.format": [("<nf4>", "")],
    "tune.resized": [("<0 from 32>", "")],
    "tune.random": [("<normal 1.000000e+00 : f64>", "")],
}


def attributes():
    """dialect.mnemonic -> the names of its lists and words."""
    newest = LLVM / "bin/llvm-tblgen"
    tblgen = str(newest) if newest.exists() else shutil.which("llvm-tblgen")
    found = {}
    for file in sorted((ROOT / "include/kedge/Dialect").glob("*/*Attrs.td")):
        records = json.loads(subprocess.run([tblgen, "--dump-json", "-I", str(ROOT / "include"), "-I", str(LLVM / "include"), str(file)], check=True,
                                            capture_output=True).stdout)
        for name in records["!instanceof"]["AttrDef"]:
            record, open_ = records[name], set()
            for kind, parameter in record["parameters"]["args"]:
                text = kind if isinstance(kind, str) else records[kind["def"]]["cppType"]
                if re.search(r"ArrayRef|StringRef|StringAttr|ArrayAttr", text) and parameter:
                    open_.add(parameter)
            found[f"{records[record['dialect']['def']]['name']}.{record['mnemonic']}"] = open_
    return found


def printed(temp, text):
    source = temp / "attribute.mlir"
    source.write_text(text)
    done = subprocess.run(["kedge-opt", source], capture_output=True, text=True)
    return done.stdout, done.stderr


def check(temp, name, text):
    # A word alone stands in the dialect's brackets: #train<role parameter>.
    attribute = "#{}<{}{}>".format(*name.split("."), text) if text.startswith(" ") else f"#{name}{text}"
    first, error = printed(temp, f"module attributes {{it.is = {attribute}}} {{}}\n")
    if not first:
        return f"does not parse: {error.strip()[-300:]}"
    second, error = printed(temp, first)
    if second != first:
        return f"is not what it was: {first.strip()} becomes {second.strip() or error.strip()[-300:]}"
    return None


def main():
    temp = pathlib.Path(sys.argv[1])
    temp.mkdir(parents=True, exist_ok=True)
    wrong, tried = [], 0
    for name, open_ in attributes().items():
        examples = EXAMPLES.get(name, [])
        for text, _ in examples:
            tried += 1
            if why := check(temp, name, text):
                wrong.append(f"#{name}{text} {why}")
        if missing := open_ - {word for _, odd in examples for word in odd.split()}:
            wrong.append(f"#{name}: no example has {', '.join(sorted(missing))} empty")
        if not examples:
            wrong.append(f"#{name}: no example")
    print(*wrong, f"{tried} attributes, {len(wrong)} wrong", sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
