"""Makes what web.mjs and the browser need: web.py GOLDEN_FOLDER OUT: OUT/site/learner.* of --emit web, OUT/log.jsonl of the program, OUT/rates.json."""
import json
import pathlib
import subprocess
import sys

from in_c import by_program, option, trace_of

folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
(out / "site").mkdir(parents=True, exist_ok=True)
trace = trace_of(folder)
by_program(folder, trace, out)
subprocess.run(["kedge", "compile", folder / "model.onnx", *trace["compile"], "--emit", "web", "-o", out / "site/learner"], check=True)
rates = {}
if "--betas" in trace["run"]:
    rates["beta1"], rates["beta2"] = map(float, option(trace["run"], "--betas", "").split(","))
if "--weight-decay" in trace["run"]:
    rates["weight_decay"] = float(option(trace["run"], "--weight-decay", "0"))
(out / "rates.json").write_text(json.dumps(rates))
