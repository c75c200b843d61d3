#!/usr/bin/env python3
"""The tables of docs/guide/flags.md beside what the tools say: flags.py FLAGS.md PROGRAM [--write].

A table follows a line `<!-- TOOL, GROUP -->` and ends at an empty line. Its rows are what `TOOL --help` prints under that
group. Flags that an earlier tool has with the same text (plan's beside compile's) need no table of their own. Without
--write: exit 1 and the difference when a table is not the help's, or a flag is in none. TOOL `program` is PROGRAM.
"""
import difflib
import re
import subprocess
import sys

COLUMN = 30  # where --help puts the meaning, on the next line when the flag is longer
MARK = re.compile(r"^<!-- (.+), (.+) -->$")
TOOLS = ["kedge compile", "kedge plan", "kedge lint", "kedge shard", "kedge why", "kedge diff", "kedge reduce", "kedge tokens",
         "kedge data csv", "kedge data jsonl", "kedge data images", "kedge shapes", "kedge artifacts", "kedge-translate", "program"]


def help_of(tool, program):
    words = [program] if tool == "program" else tool.split()
    result = subprocess.run([*words, "--help"], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{tool} --help: exit code {result.returncode}: {result.stderr}")
    return result.stdout


def subcommands(text):
    if "Subcommands:" not in text:
        return []
    rows = re.findall(r"^  (\S+) +(.*)$", text.split("Subcommands:")[1], re.M)
    return [name for name, meaning in rows if meaning != "not available yet"]


def meaning(value, words):
    """`value` is what stands behind the flag: TEXT:{a,b}=a, INT:POSITIVE, FLOAT x 2."""
    choices, default = re.search(r"\{(.*?)\}", value or ""), re.search(r"=(\S+)", re.sub(r"\{.*?\}", "", value or ""))
    parts = [words or ""]
    if choices and not all(choice in parts[0] for choice in choices.group(1).split(",")):
        parts.append(" or ".join(choices.group(1).replace(",", ", ").rsplit(", ", 1)))
    if default:
        parts.append(f"default {default.group(1)}")
    return "; ".join(parts).replace("|", "\\|")


def is_split(line):
    """Whether the flag ends before the column of meanings; "..." belongs to a flag that takes several values."""
    return line[COLUMN - 1:COLUMN] in (" ", "") and not line[COLUMN:].startswith("...")


def groups_of(text):
    """{group: [(flag, meaning)]} of one --help."""
    groups, group, waiting = {}, None, None
    for line in text.splitlines():
        left, right = (line[:COLUMN], line[COLUMN:]) if is_split(line) else (line, "")
        words = left.split(None, 1)
        if re.match(r"^[A-Z]\w+:$", line):
            group = line[:-1]
        elif waiting and not words and right:
            groups[group].append((waiting[0], meaning(waiting[1], right)))
            waiting = None
        elif words and words[0].startswith("-") and not words[0].startswith("-h"):
            flag, value = words[0], words[1].strip() if len(words) > 1 else ""
            groups.setdefault(group, [])
            waiting = None if right else (flag, value)
            if right:
                groups[group].append((flag, meaning(value, right)))
    return groups


def table(rows):
    return ["| flag | meaning |", "|---|---|", *(f"| `{flag}` | {words} |" for flag, words in rows)]


def rewritten(page, known):
    lines, marks, at = [], set(), 0
    while at < len(page):
        lines.append(page[at])
        found = MARK.match(page[at])
        at += 1
        if not found:
            continue
        tool, group = found.groups()
        if group not in known.get(tool, {}):
            sys.exit(f"the page has a table of '{tool}, {group}', which {tool} --help does not have")
        marks.add((tool, group))
        while at < len(page) and page[at].startswith("|"):
            at += 1
        lines += table(known[tool][group])
    return lines, marks


def main():
    place, program, write = sys.argv[1], sys.argv[2], "--write" in sys.argv
    bench = [f"kedge-bench {name}" for name in subcommands(help_of("kedge-bench", program))]
    known, said, wanted = {}, set(), []
    for tool in TOOLS + bench:
        known[tool] = {}
        for group, rows in groups_of(help_of(tool, program)).items():
            shared = tool != "program" and not tool.startswith("kedge-")
            fresh = [row for row in rows if not shared or (group, row) not in said]
            said |= {(group, row) for row in rows if shared}
            if fresh:
                known[tool][group] = fresh
                wanted.append((tool, group))
    with open(place) as file:
        page = file.read().splitlines()
    lines, marks = rewritten(page, known)
    missing = [f"{tool}, {group}" for tool, group in wanted if (tool, group) not in marks]
    if write:
        with open(place, "w") as file:
            file.write("\n".join(lines) + "\n")
    difference = list(difflib.unified_diff(page, lines, "the page", "--help", lineterm="", n=0)) if not write else []
    for line in difference + [f"no table of: {name}" for name in missing]:
        print(line)
    if difference or missing:
        sys.exit(f"{place} is behind: run test/tools/flags.py {place} PROGRAM --write, and put a line "
                 "'<!-- TOOL, GROUP -->' where a table is missing")
    print(f"{place} says what --help says: {sum(len(rows) for groups in known.values() for rows in groups.values())} flags")


if __name__ == "__main__":
    main()
