"""Every flag with an empty value, in both spellings: empty_values.py PROGRAM. Flags are those of --help."""
import concurrent.futures
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))
from flags import TOOLS, groups_of, help_of, subcommands  # noqa: E402

program = sys.argv[1]


def takes_value(text, flag):
    """Whether --help has a word behind the flag."""
    for line in text.splitlines():
        words = line.split()
        if words and flag in words[0].split(","):
            return len(words) > 1 and (words[1].split(":")[0].split("=")[0] in ("TEXT", "INT", "FLOAT", "UINT", "REAL"))
    return False


def finding(tool, flag, words):
    done = subprocess.run([*([program] if tool == "program" else tool.split()), *words], capture_output=True, text=True)
    right = f"{flag} '': its value is empty; is a variable unset?"
    return "" if done.returncode == 1 and right in done.stderr else f"{tool} {words}: exit {done.returncode}: {done.stderr[:200]}"


tools = TOOLS + [f"kedge-bench {name}" for name in subcommands(help_of("kedge-bench", program))]
trials, flags = [], 0
for tool in tools:
    text = help_of(tool, program)
    names = [flag.split(",")[-1] for rows in groups_of(text).values() for flag, _ in rows]
    for flag in names:
        if takes_value(text, flag):
            flags += 1
            # One spelling each in turn: the check does not know which flag it is.
            trials.append((tool, flag, [flag, ""] if flags % 2 else [flag + "="]) if flag.startswith("--") else (tool, flag, [flag, ""]))
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    findings = [found for found in pool.map(lambda trial: finding(*trial), trials) if found]
for found in findings:
    print(found)
print(f"{flags} flags, {len(findings)} findings")
sys.exit(bool(findings))
