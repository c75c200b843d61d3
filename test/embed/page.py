"""Makes OUT/page.html, which a browser opens from the file, of what web.py left in OUT: page.py GOLDEN_FOLDER OUT."""
import base64
import json
import pathlib
import sys

here, folder, out = pathlib.Path(__file__).parent, pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
trace = json.loads((folder / "trace.json").read_text())
answers = {"data": {name: base64.b64encode((folder / file).read_bytes()).decode() for name, file in trace["data"].items()},
           "log": [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()],
           "rates": json.loads((out / "rates.json").read_text())}
(out / "answers.js").write_text(f"globalThis.answers = {json.dumps(answers)};\n")
golden = (here / "golden.mjs").read_text().replace("export function", "function")
(out / "page.html").write_text((here / "page.html").read_text().replace("GOLDEN", golden))
