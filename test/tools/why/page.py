"""page.py KEDGE ANSWERS.json MODEL OPTIONS...: what a plan's page answers is what `kedge why --json` does, five of each kind."""
import json
import subprocess
import sys

kedge, answers, model, *options = sys.argv[1:]
answers = json.load(open(answers))
kinds = {}
for answer in answers:
    kinds.setdefault("state" if "state" in answer else answer["values"][0].get("chosen", "given"), []).append(answer)
kinds.pop("given", None)
for kind, members in sorted(kinds.items()):
    chosen = members[::max(1, len(members) // 5)][:5]
    for answer in chosen:
        done = subprocess.run([kedge, "why", model, answer["tensor"], *options, "--json"], capture_output=True, text=True, check=True)
        if json.loads(done.stdout) != answer:
            sys.exit(f"{answer['tensor']}: the page says\n{json.dumps(answer)}\nand kedge why\n{done.stdout}")
print(f"{len(answers)} answers, 5 of each kind as kedge why gives them: {' '.join(sorted(kinds))}")
