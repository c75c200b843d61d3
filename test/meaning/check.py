#!/usr/bin/env python3
"""Runs models whose files say more than their operators, and compares with PyTorch: check.py FOLDER OUT [CASE...].

FOLDER holds a folder for each case: model.onnx, data, and case.json, whose keys README.md explains. Needs numpy; cases with
`onnx` and `onnx_output` need onnx.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np

MODEL_FLAGS = {"--train-mode": 0, "--repair": 0, "--strict": 0, "--shape": 1, "--loss": 1, "--logits": 1, "--labels": 1, "--class-axis": 1,
               "--loss-output": 1, "--train": 1, "--freeze": 1, "--allow": 1, "--ranks": 1, "--precision": 1}
LEAST = 1e-3  # differences of smaller numbers are relative to this


def safetensors(path):
    """Name -> values of all tensors, in fp64."""
    raw = pathlib.Path(path).read_bytes()
    begin = 8 + int.from_bytes(raw[:8], "little")
    tensors = {}
    for name, entry in json.loads(raw[8:begin]).items():
        if name == "__metadata__":
            continue
        first, end = (begin + at for at in entry["data_offsets"])
        tensors[name] = plain(raw[first:end], entry["dtype"]).reshape(entry["shape"])
    return tensors


def plain(raw, kind):
    if kind == "BF16":
        return (np.frombuffer(raw, "<u2").astype("u4") << 16).view("f4").astype("f8")
    return np.frombuffer(raw, {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4", "U8": "u1", "BOOL": "?"}[kind]).astype("f8")


def initializers(path):
    import onnx
    return {tensor.name: onnx.numpy_helper.to_array(tensor).astype("f8") for tensor in onnx.load(str(path)).graph.initializer}


def reference_outputs(path, feeds):
    import onnx
    from onnx.reference import ReferenceEvaluator
    model = onnx.load(str(path))
    inputs = {value.name: value.type.tensor_type.shape.dim[0].dim_value for value in model.graph.input}
    feeds = {name: values for name, values in feeds.items() if name in inputs}
    rows = len(next(iter(feeds.values())))
    batch = max(inputs.values()) or rows  # what the file says, or all rows at once
    evaluator = ReferenceEvaluator(model)
    parts = [evaluator.run(None, {name: values[at:at + batch] for name, values in feeds.items()}) for at in range(0, rows, batch)]
    return {value.name: np.concatenate(rest) for value, *rest in zip(model.graph.output, *parts)}


class Case:
    """One case: what was asked, and what the commands did."""

    def __init__(self, folder, out):
        self.folder, self.out = folder, out
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        self.asked = json.loads((folder / "case.json").read_text())
        self.model = folder / "model.onnx"
        self.rc, self.words = 0, ""  # of the command that ended the case
        self.linted = self.started = None

    def options(self, kind):
        return [word.replace("CASE/", f"{self.folder}/") for word in self.asked.get(kind, [])]

    def command(self, *words):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def lint(self):
        """Findings as lines 'severity[code] node tensor module reason remedy'."""
        if self.linted is None:
            rc, out, err = self.command("kedge", "lint", self.model, "--json", *model_options(self.options("compile")))
            self.lint_rc = rc
            if rc not in (0, 2):
                raise ValueError(f"kedge lint ended with {rc}: {err.strip()}")
            self.linted = ["{severity}[{code}] {node} {tensor} {module} {reason} {remedy}".format(**finding) for finding in json.loads(out)["findings"]]
        return self.linted

    def compile(self):
        if self.started is None:
            self.rc, _, self.words = self.command("kedge", "compile", self.model, *self.options("compile"), "-o", self.out / "program")
            self.started = self.rc == 0
        return self.started

    def run(self):
        """Everything that a run can write, once."""
        self.log = []
        if not self.compile() or self.asked["command"] in ("compile", "lint"):
            return
        expect = self.asked["expect"]
        data = [f"{name}={self.folder / file}" for name, file in self.asked["data"].items()]
        words = [word for item in data for word in ("--data", item)]
        if "eval_loss" in expect or self.asked["command"] == "predict":
            words += [word for item in data for word in ("--eval-data", item)]
        for name in expect.get("predict", {}):
            words += ["--predict", f"{name}={self.out / name}.npy"]
        if "onnx" in expect or "onnx_output" in expect:
            words += ["--export-onnx", self.out / "trained.onnx"]
        ranks = self.asked.get("ranks", 1)
        launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", ranks] if ranks > 1 else []
        self.rc, _, told = self.command(*launcher, self.out / "program", *words, *self.options("run"), "--log", self.out / "log.jsonl",
                                        "--export-safetensors", self.out / "trained.safetensors")
        self.words += told
        if (self.out / "log.jsonl").exists():
            self.log = [json.loads(line) for line in (self.out / "log.jsonl").read_text().splitlines()]

    # What the record can expect: each method gives what is wrong -------------------------------------------------
    def wrong(self, expect):
        """Nothing if all that the record expects holds, or all of the record in its `or`."""
        of_lint_alone = not expect.keys() - {"lint", "lint_not", "or"}  # an error that it finds ends compile, too
        found = [] if "exit" in expect or of_lint_alone else list(self.ended_well())
        found += [text for key in expect if (method := getattr(self, f"wrong_{key}", None)) for text in method(expect)]
        if found and "or" in expect:
            found += [f"and neither: {text}" for text in other] if (other := self.wrong(expect["or"])) else []
            return found if other else []
        return found

    def ended_well(self):
        if self.asked["command"] != "lint" and self.rc != 0:
            yield f"ended with {self.rc}: {' '.join(self.words.split())}"

    def wrong_loss(self, expect):
        losses = [line["loss"] for line in self.log]
        yield from far(losses, expect["loss"], expect["relative"], "loss")

    def wrong_eval_loss(self, expect):
        found = [line["eval_loss"] for line in self.log if "eval_loss" in line]
        yield from far(found[-1:], [expect["eval_loss"]], expect["relative"], "evaluation loss")

    def wrong_loss_mean(self, expect):
        losses = np.array([line["loss"] for line in self.log], "f8")
        for key, found in (("loss_mean", losses.mean() if len(losses) else np.nan), ("loss_spread", losses.std() if len(losses) else np.nan)):
            want, tolerance = expect[key]
            if not abs(found - want) <= tolerance:
                yield f"{key}: expected {want} within {tolerance}, found {found}"

    def wrong_weights(self, expect):
        if self.rc:
            return
        allowed = expect.get("weights_relative", expect.get("relative"))
        trained, first = safetensors(self.out / "trained.safetensors"), initializers(self.model)
        for name, (norm, *moved) in expect["weights"].items():
            if name not in trained:
                yield f"--export-safetensors has no '{name}', but {', '.join(trained)}"
                continue
            start = first.get(name, first.get(f"model.{name}"))
            yield from far([np.linalg.norm(trained[name])], [norm], allowed, f"norm of {name}")
            if start is not None and moved:
                yield from far([np.linalg.norm(trained[name] - start)], moved, allowed, f"what moved {name}")

    def wrong_onnx(self, expect):
        if self.rc:
            return
        found = initializers(self.out / "trained.onnx")
        for name, (norm, *_) in expect["onnx"].items():
            yield from far([np.linalg.norm(found[name])] if name in found else [], [norm], expect.get("weights_relative", expect.get("relative")), f"--export-onnx, norm of {name}")

    def wrong_predict(self, expect):
        for name, file in expect["predict"].items():
            at = self.out / f"{name}.npy"
            yield from apart(np.load(at) if at.exists() else None, np.load(self.folder / file), expect["relative"], f"--predict {name}")

    def wrong_onnx_output(self, expect):
        if self.rc:
            return
        found = reference_outputs(self.out / "trained.onnx", {name: np.load(self.folder / file) for name, file in self.asked["data"].items()})
        for name, file in expect["onnx_output"].items():
            yield from apart(found.get(name), np.load(self.folder / file), expect["relative"], f"--export-onnx, output {name}")

    def wrong_exit(self, expect):
        if self.rc != expect["exit"]:
            yield f"expected exit code {expect['exit']}, found {self.rc}"

    def wrong_stderr(self, expect):
        if not re.search(expect["stderr"], self.words, re.DOTALL):
            yield f"expected /{expect['stderr']}/ on standard error, found: {' '.join(self.words.split()) or 'nothing'}"

    def wrong_lint(self, expect):
        if expect.get("agree") and self.compile() and self.lint_ended() == 0:
            return
        if not any(re.search(expect["lint"], line) for line in self.lint()):
            yield f"lint: expected /{expect['lint']}/, found {self.lint() or 'nothing'}"

    def wrong_lint_not(self, expect):
        yield from (f"lint: unexpected {line}" for line in self.lint() if re.search(expect["lint_not"], line))

    def wrong_agree(self, expect):
        if self.compile() != (self.lint_ended() == 0):
            yield f"compile {'takes' if self.compile() else 'refuses'} the file, lint ends with {self.lint_ended()}: {self.words.strip()}"

    def lint_ended(self):
        self.lint()
        return self.lint_rc


def model_options(words):
    """Those options of compile that kedge lint knows."""
    known, at = [], 0
    while at < len(words):
        values = 1
        while at + values < len(words) and not words[at + values].startswith("--"):
            values += 1
        if words[at].split("=")[0] in MODEL_FLAGS:
            known += words[at:at + values]
        at += values
    return known


def far(found, wanted, allowed, what):
    if len(found) != len(wanted):
        yield f"{what}: expected {len(wanted)} values, found {len(found)}"
        return
    gaps = [abs(a - b) / max(abs(b), LEAST) if a is not None else np.inf for a, b in zip(found, wanted)]
    worst = int(np.argmax(gaps))
    if not gaps[worst] <= allowed:
        yield f"{what} {worst}: expected {wanted[worst]}, found {found[worst]}, {gaps[worst]:.1e} off ({allowed:.0e} allowed)"


def apart(found, wanted, allowed, what):
    if found is None or found.shape != wanted.shape:
        yield f"{what}: expected shape {wanted.shape}, found {None if found is None else found.shape}"
        return
    gap = (np.abs(found - wanted) / np.maximum(np.abs(wanted), 1)).max()
    if not gap <= allowed:
        yield f"{what}: {gap:.1e} off ({allowed:.0e} allowed)"


def main():
    folder, out, names = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
    names = names or sorted(at.parent.name for at in folder.glob("*/case.json"))
    right = 0
    for name in names:
        case = Case(folder / name, out / name)
        case.run()
        wrong = case.wrong(case.asked["expect"])
        print(f"{name}: {'right' if not wrong else 'WRONG'}", *(f"\n  {text}" for text in wrong), flush=True)
        right += not wrong
    print(f"{right} of {len(names)} cases right")
    sys.exit(right != len(names))


if __name__ == "__main__":
    main()
