#!/usr/bin/env python3
"""Models as torch's TorchScript exporter writes them: lint names what was lost, compile refuses it, and with --repair PyTorch's
losses and parameters come out: traced.py OUT NAME..."""
import json
import pathlib
import subprocess
import sys

import check

HERE = pathlib.Path(__file__).parent / "traced"
CODES = {"merged": "merged-parameters", "untied": "untied-parameters"}


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def count(findings, severity):
    found = {}
    for finding in findings:
        if finding["severity"] == severity:
            found[finding["code"]] = found.get(finding["code"], 0) + 1
    return found


def main():
    out = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:]:
        trace, model = json.loads((HERE / f"{name}.json").read_text()), HERE / f"{name}.onnx"
        wanted = {CODES[what]: number for what, number in trace["findings"].items()}
        found = count(json.loads(run("kedge", "lint", model, "--json").stdout)["findings"], "error")
        assert found == wanted, f"{name}: lint finds {found}, expected {wanted}"
        words = [word for word in trace["compile"] if word != "--repair"]
        refused = run("kedge", "compile", model, *words, "--repair=off", "-o", out / "refused")
        assert refused.returncode == 1 and "not compiled: lint found" in refused.stderr, f"{name}: compile takes it: {refused.returncode} {refused.stderr}"
        log, norms = check.train(HERE, trace, out / name, [])
        wrong = list(check.differences(trace, log, norms))
        unsure = ("key.bias", "in_proj_bias")  # a key's bias has no gradient but rounding
        extra = {name for name in norms if not name.endswith(unsure)} - set(trace["norms"])
        assert not wrong and not extra, "\n".join([name, *wrong, *sorted(extra)])
    print(f"{len(sys.argv[2:])} models as in PyTorch")


if __name__ == "__main__":
    main()
