#!/usr/bin/env python3
"""Golden models and adapter cases on ranks along `tensor`, against one rank.

tensor.py GOLDEN TEMP [--shared SHARED] [--json FILE] [--models NAME...] [--meshes MESH...] [--steps 6] [--overlap on] [--words WORD...]

GOLDEN holds golden models of the repository, SHARED (optional) folders `models` and `adapters` beside it. Each program trains with the
options of its model's trace on the meshes: losses are within 1e-5, gradient norms within 1e-4, and exported tensors within 2e-5 of their
length of one rank's with the same rows (adaptive optimizers: 1e-4; 16-bit runs: losses 4e-3, norms 3e-2). WORDs are further options of compile,
--overlap those of --tensor-overlap. Kedge and mpirun are taken from PATH.
"""
import argparse
import array
import json
import pathlib
import subprocess
import sys

MESHES = ["tensor=2", "tensor=3", "tensor=4", "data=2,tensor=2"]
BOUNDS = {"sgd": (1e-5, 1e-4, 2e-5), "adaptive": (1e-5, 1e-4, 1e-4), "16": (4e-3, 3e-2, None)}


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit code {done.returncode}: {done.stderr[-1500:]}")
    return done


def tensors(path):
    raw = path.read_bytes()
    begin = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:begin])
    header.pop("__metadata__", None)
    return {name: array.array("f", raw[begin + entry["data_offsets"][0]:begin + entry["data_offsets"][1]])
            for name, entry in header.items() if entry["dtype"] == "F32"}


def apart(a, b):
    return 0.0 if a == b else abs(a - b) / max(abs(a), 1e-3)


def weights_apart(ours, theirs):
    """The length of the difference of all tensors over their length: adaptive optimizers make steps of the rounding of gradients that are
    zero but for it, such as those of biases of keys."""
    gap = sum((a - b) ** 2 for name, values in theirs.items() for a, b in zip(ours[name], values, strict=True))
    return (gap / sum(value * value for values in theirs.values() for value in values)) ** 0.5


class Case:
    """A model with the options of one run of its trace."""

    def __init__(self, name, folder, trace, model, temp, steps, overlap, more):
        self.name, self.folder, self.model, self.temp, self.overlap = name, folder, model, temp, overlap
        self.words = list(trace["compile"]) + more
        self.data = {key: folder / file for key, file in trace["data"].items()}
        flags = dict(zip(trace["run"][::2], trace["run"][1::2]))
        self.flags = {key: value for key, value in flags.items() if not key.startswith(("--eval", "--export"))} | {"--steps": steps, "--threads": 1}
        if self.flags.get("--schedule") == "wsd":
            self.flags["--steps"] = max(steps, int(self.flags["--decay-steps"]))
        self.kind = "16" if "--precision" in self.words else "sgd" if "sgd" in self.words else "adaptive"

    def shared_among(self, parts):
        words = list(self.words)
        for at, word in enumerate(words[1:], 1):
            if words[at - 1] == "--shape":
                name, sizes = word.split("=")
                rows, *rest = sizes.split("x")
                if int(rows) % parts:
                    return None
                words[at] = f"{name}={'x'.join([str(int(rows) // parts), *rest])}"
        return words

    def train(self, mesh):
        sizes = dict(axis.split("=") for axis in mesh.split(",")) if mesh else {}
        ranks = 1
        for size in sizes.values():
            ranks *= int(size)
        words = self.shared_among(int(sizes.get("data", 1)))
        if words is None:
            return None
        program, log, weights = self.temp / "program", self.temp / "log.jsonl", self.temp / "weights.safetensors"
        for old in (log, weights):
            old.unlink(missing_ok=True)
        norms = ["--sync-batchnorm"] if "data" in sizes else []  # statistics of the rows that one rank has
        run(["kedge", "compile", self.model, *words, *(["--mesh", mesh, "--tensor-overlap", self.overlap] if mesh else []), *norms, "-o", program])
        launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", ranks] if ranks > 1 else []
        data = [word for key, file in self.data.items() for word in ("--data", f"{key}={file}")]
        run([*launcher, program, *data, *(word for pair in self.flags.items() for word in pair), "--log", log, "--export-safetensors", weights])
        return [json.loads(line) for line in log.read_text().splitlines()], tensors(weights)

    def check(self, mesh):
        """Distances of losses, norms and weights; None: the mesh does not divide the rows."""
        found = self.train(mesh)
        if found is None:
            return None
        log, weights = self.alone
        far = [max(apart(a[key], b[key]) for a, b in zip(log, found[0], strict=True) if a[key] is not None) if log[0][key] is not None else 0.0
               for key in ("loss", "grad_norm")]
        return *far, weights_apart(found[1], weights)


def cases(options):
    def of(name, folder, trace, model):
        return Case(name, folder, trace, model, options.temp, options.steps, options.overlap, options.words)
    for folder in sorted(options.golden.glob("*/trace.json")):
        yield of(folder.parent.name, folder.parent, json.loads(folder.read_text()), folder.parent / "model.onnx")
    if not options.shared:
        return
    for file in sorted((options.shared / "models").glob("*/trace.json")):
        trace = json.loads(file.read_text())
        for name, run_ in trace["runs"].items():
            yield of(f"{file.parent.name}/{name}", file.parent, {**trace, **run_}, file.parent / run_.get("model", "model.onnx"))
    for file in sorted((options.shared / "adapters").glob("*/trace.json")):
        trace = json.loads(file.read_text())
        base = options.shared / "models" / trace["base"]
        for name, run_ in trace["runs"].items():
            words = [str(file.parent / "adapter") if word == "ADAPTER" else word for word in run_["compile"]]
            data = {key: f"{key}.npy" for key in ("input_ids", "labels")}
            yield of(f"{file.parent.name}/{name}", base, {**run_, "compile": words, "data": data}, base / "model.onnx")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("golden", type=pathlib.Path)
    parser.add_argument("temp", type=pathlib.Path)
    parser.add_argument("--shared", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--models", nargs="+", default=[])
    parser.add_argument("--meshes", nargs="+", default=MESHES)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--overlap", default="auto")
    parser.add_argument("--words", nargs=argparse.REMAINDER, default=[])
    options = parser.parse_args()
    options.temp.mkdir(parents=True, exist_ok=True)
    rows, failed = [], 0
    for case in cases(options):
        if options.models and not any(case.name.split("/")[0] == name or case.name == name for name in options.models):
            continue
        case.alone = None
        for mesh in options.meshes:
            try:
                case.alone = case.alone or case.train("")
                found = case.check(mesh)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                if "export the model with this dimension dynamic" in str(error) or "ranks with rows of their own are not available" in str(error):
                    continue
                found, failed = [str(error).strip().splitlines()[-1]], failed + 1
            if found is None:
                continue
            bounds = BOUNDS[case.kind]
            good = len(found) == 3 and all(bound is None or value <= bound for value, bound in zip(found, bounds))
            failed += len(found) == 3 and not good
            rows.append([case.name, mesh, *(f"{value:.1e}" if isinstance(value, float) else value for value in found)])
            print("ok    " if good else "FAILED", *rows[-1], flush=True)
    print(f"{len(rows)} programs, {failed} not as one rank")
    if options.json:
        options.json.write_text(json.dumps({"columns": ["run", "mesh", "loss apart", "norm apart", "weights apart"], "rows": rows}, indent=1) + "\n")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
