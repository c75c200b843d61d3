#!/usr/bin/env python3
"""PyTorch's own samples of its operators (OpInfo), exported, trained for a step, gradients beside PyTorch's.

    operators.py OUT [--of torch|torchvision] [--export-only] [--samples N] [--names REGEX] [--seconds S]

OUT gets a folder for each sample and `results.jsonl`, where a sample that is there already is not tried again. All floats of a
sample that need gradients are parameters; the loss is a weighted mean of all that the operator gives, on one rank in fp32.
Needs torch, onnx, onnxscript and, in PATH, kedge. `--table` prints what `results.jsonl` says: right, refused (and why), not
exported (and why), wrong.
"""
import argparse
import collections
import contextlib
import io
import json
import logging
import pathlib
import re
import signal
import subprocess
import sys
import time
import warnings

import numpy as np

RELATIVE = 2e-4  # of the largest element of a gradient, beside PyTorch in fp32 or fp64; kinks are where both may choose


class TooLong(Exception):
    pass


@contextlib.contextmanager
def limit(seconds):
    def stop(*_):
        raise TooLong(f"more than {seconds} s")
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def flat(values):
    """Tensors of nested lists, tuples and dicts, in order."""
    import torch
    if isinstance(values, torch.Tensor):
        return [values]
    if isinstance(values, dict):
        values = list(values.values())
    return [tensor for value in values for tensor in flat(value)] if isinstance(values, (list, tuple)) else []


def replaced(values, by):
    import torch
    if isinstance(values, torch.Tensor):
        return by[id(values)]
    if isinstance(values, dict):
        return {key: replaced(value, by) for key, value in values.items()}
    if isinstance(values, (list, tuple)):
        made = [replaced(value, by) for value in values]
        return type(values)(*made) if hasattr(values, "_fields") else type(values)(made)
    return values


def module_of(operator, sample):
    """A module whose parameters are the sample's floats that need gradients, and whose result is a loss."""
    import torch

    class Sample(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.given = (sample.input, tuple(sample.args), dict(sample.kwargs))
            self.held = {}
            for number, tensor in enumerate(flat(list(self.given))):
                name = f"t{number}"
                if id(tensor) not in self.held:
                    self.held[id(tensor)] = name
                    value = tensor.detach().clone()
                    if tensor.requires_grad:
                        setattr(self, name, torch.nn.Parameter(value))
                    else:
                        self.register_buffer(name, value)
            self.differentiable = None  # which results have gradients in PyTorch; null: all

        def results(self):
            first, args, kwargs = replaced(self.given, {key: getattr(self, name) for key, name in self.held.items()})
            all_of_them = [value for value in flat(operator.op(first, *args, **kwargs)) if value.is_floating_point()]
            return [value for k, value in enumerate(all_of_them) if self.differentiable is None or self.differentiable[k]]

        def forward(self, x):
            total = x.sum()
            for number, value in enumerate(self.results()):
                total = total + (value * getattr(self, f"weight{number}")).sum()
            return total.reshape(())
    return Sample()


def export(folder, operator, sample):
    """model.onnx and PyTorch's loss and gradients; the reason why not."""
    import onnx
    import torch
    module = module_of(operator, sample)
    if not list(module.parameters()):
        return "nothing to differentiate"
    if any(p.numel() == 0 for p in module.parameters()) or sum(p.numel() for p in module.parameters()) > 20000:
        return "empty or large"
    random = torch.Generator().manual_seed(1)
    module.differentiable = [value.requires_grad for value in module.results()]  # saved statistics have none
    if not any(module.differentiable):
        return "nothing to differentiate"
    outs = module.results()
    for number, value in enumerate(outs):
        module.register_buffer(f"weight{number}", torch.rand(value.shape, generator=random) + 0.5)
    x = torch.full((1, 1), 0.25)
    loss = module(x)
    loss.backward()
    gradients = {name: p.grad for name, p in module.named_parameters() if p.grad is not None}
    if not loss.isfinite() or not all(g.isfinite().all() for g in gradients.values()):
        return "not finite in PyTorch"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        torch.onnx.export(module, (x,), str(folder / "model.onnx"), dynamo=True, optimize=False, opset_version=20, external_data=False,
                          input_names=["x"], output_names=["loss"], verbose=False)
    kinds = {node.op_type for node in onnx.load(str(folder / "model.onnx")).graph.node}
    if any(kind.startswith("Random") or kind in ("Bernoulli", "Dropout", "Multinomial") for kind in kinds):
        return "random numbers"
    np.save(folder / "x.npy", x.numpy())
    np.savez(folder / "wanted.npz", loss=loss.detach().numpy(), **{f"g.{name}": g.numpy() for name, g in gradients.items()},
             **{f"d.{name}": g.numpy() for name, g in in_double(module, x).items()})
    return None


def in_double(module, x):
    """Gradients in fp64, which decide where fp32's differ; none where the operator has no fp64."""
    module.zero_grad()
    try:
        module.double()(x.double()).backward()
    except Exception:
        return {}
    return {name: p.grad for name, p in module.named_parameters() if p.grad is not None}


def kedge(folder):
    """(outcome, what was said)."""
    words = ["kedge", "compile", folder / "model.onnx", "--loss", "none", "--loss-output", "loss", "--optimizer", "sgd", "--lr", "0.001", "-o",
             folder / "program"]
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120)
        if done.returncode:
            internal = done.returncode != 1 or "should hold" in done.stderr
            return "internal" if internal else "refused", " ".join(done.stderr.split())[:600]
        run = [folder / "program", "--data", f"x={folder / 'x.npy'}", "--steps", 1, "--threads", 1, "--log", folder / "log.jsonl",
               "--dump-gradients", folder / "gradients.safetensors", "--dump-step", 0]
        (folder / "log.jsonl").unlink(missing_ok=True)
        done = subprocess.run([str(word) for word in run], capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired as error:
        return "internal", f"no end: {error}"[:200]
    if done.returncode:
        return "internal" if done.returncode < 0 else "refused", " ".join(done.stderr.split())[:600]
    return compare(folder)


def safetensors(path):
    raw = path.read_bytes()
    begin = 8 + int.from_bytes(raw[:8], "little")
    return {name: np.frombuffer(raw[begin + entry["data_offsets"][0]:begin + entry["data_offsets"][1]], "<f4").reshape(entry["shape"])
            for name, entry in json.loads(raw[8:begin]).items() if name != "__metadata__" and entry["dtype"] == "F32"}


def compare(folder):
    wanted = np.load(folder / "wanted.npz")
    loss = json.loads((folder / "log.jsonl").read_text().splitlines()[0])["loss"]
    if loss is None or abs(loss - wanted["loss"]) > 1e-4 * max(1, abs(wanted["loss"])):
        return "wrong", f"loss {loss} instead of {wanted['loss']}"
    found = safetensors(folder / "gradients.safetensors")
    for key in wanted.files:
        if not key.startswith("g."):
            continue
        want, own = wanted[key], found.get(key[2:])
        if own is None:
            if np.abs(want).max() > 0:
                return "wrong", f"no gradient of {key[2:]}"
            continue
        each = [wanted[k] for k in (key, f"d.{key[2:]}") if k in wanted.files]
        far = min(np.abs(own.reshape(want.shape) - one).max() / max(np.abs(one).max(), 1e-3) for one in each)
        if not far <= RELATIVE:
            return "wrong", f"gradient of {key[2:]}: {far:.1e} off"
    return "right", ""


def variants(samples, count):
    """Those whose arguments differ first."""
    seen, rest = {}, []
    for sample in samples:
        if any(tensor.numel() == 0 for tensor in flat([sample.input, list(sample.args), sample.kwargs])):
            continue
        key = repr(sorted((k, v) for k, v in sample.kwargs.items() if not hasattr(v, "shape"))) + repr([a for a in sample.args if not hasattr(a, "shape")])
        if key in seen:
            rest.append(sample)
        else:
            seen[key] = sample
    return [*seen.values(), *rest][:count]


def cause(error):
    """What the exporter's error comes from, without the numbers of nodes."""
    while error.__cause__ is not None:
        error = error.__cause__
    words = " ".join((str(error).strip().splitlines() or [""])[0].split())
    return re.sub(r"%\S+|node '\S+'|\b\d{2,}\b", "*", f"{type(error).__name__}: {words}")[:300]


def tried(out):
    path = out / "results.jsonl"
    return {(row["name"], row["sample"]): row for row in map(json.loads, path.read_text().splitlines())} if path.exists() else {}


def sweep(given):
    import torch
    if given.of == "torchvision":
        from torchvision_operators import op_db
    else:
        from torch.testing._internal.common_methods_invocations import op_db
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    done, begin = tried(given.out), time.time()
    with (given.out / "results.jsonl").open("a") as log:
        for operator in op_db:
            name = operator.name + (f".{operator.variant_test_name}" if operator.variant_test_name else "")
            if not re.search(given.names, name) or not operator.supports_autograd or torch.float32 not in operator.dtypes:
                continue
            if time.time() - begin > given.seconds:
                break
            if all((name, k) in done for k in range(given.samples)) or done.get((name, 0), {}).get("why", "").startswith("no samples"):
                continue
            try:
                with limit(60):
                    torch.manual_seed(0)
                    samples = variants(operator.sample_inputs("cpu", torch.float32, requires_grad=True), given.samples)
            except Exception as error:
                log.write(json.dumps({"name": name, "sample": 0, "outcome": "not exported", "why": f"no samples: {error}"[:300]}) + "\n")
                continue
            for number, sample in enumerate(samples):
                if (name, number) in done:
                    continue
                folder = given.out / "samples" / re.sub(r"\W", "-", f"{name}-{number}")
                folder.mkdir(parents=True, exist_ok=True)
                try:
                    with limit(90):
                        why = export(folder, operator, sample)
                    outcome = "not exported" if why else "exported"
                except Exception as error:
                    outcome, why = "not exported", cause(error)
                row = {"name": name, "sample": number, "outcome": outcome, "why": why or "", "kwargs": repr(sample.kwargs)[:200], "folder": folder.name}
                if outcome == "exported" and not given.export_only:
                    row["outcome"], row["why"] = kedge(folder)
                log.write(json.dumps(row) + "\n")
                log.flush()


def train_exported(given):
    """What was exported alone before."""
    rows = list(tried(given.out).values())
    with (given.out / "results.jsonl").open("a") as log:
        for row in rows:
            again = row["outcome"] == "exported" or (given.again and row["outcome"] in ("refused", "wrong", "internal", "right"))
            if again and re.search(given.names, row["name"]):
                row["outcome"], row["why"] = kedge(given.out / "samples" / row["folder"])
                log.write(json.dumps(row) + "\n")
                log.flush()


def table(given):
    rows = list(tried(given.out).values())
    ops = collections.defaultdict(list)
    for row in rows:
        ops[row["name"]].append(row["outcome"])
    print("samples:", dict(collections.Counter(row["outcome"] for row in rows)))
    print("operators:", len(ops), "of which one sample or more right:", sum("right" in o for o in ops.values()))
    for outcome in ("wrong", "internal", "refused", "not exported"):
        reasons = collections.defaultdict(list)
        for row in rows:
            if row["outcome"] == outcome:
                reasons[re.sub(r"^.*?model\.onnx: ", "", row["why"])[:160 if outcome != "not exported" else 90]].append(f"{row['name']}-{row['sample']}")
        print(f"\n## {outcome}")
        for why, names in sorted(reasons.items(), key=lambda entry: -len(entry[1])):
            print(f"{len(names):4} {why}: {', '.join(names[:6])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--of", choices=("torch", "torchvision"), default="torch", help="whose operators (torchvision_operators.py)")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--names", default="")
    parser.add_argument("--seconds", type=int, default=10**9)
    parser.add_argument("--export-only", action="store_true")
    parser.add_argument("--train-exported", action="store_true", help="compile and run what --export-only left")
    parser.add_argument("--again", action="store_true", help="with --train-exported: all that was exported")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    (table if given.table else train_exported if given.train_exported else sweep)(given)


if __name__ == "__main__":
    main()
