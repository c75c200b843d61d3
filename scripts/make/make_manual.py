#!/usr/bin/env python3
"""Manual pages and completions from what the tools say of their own flags: make_manual.py BIN OUT VERSION.

Writes OUT/man1/TOOL.1, OUT/bash/TOOL, OUT/zsh/_TOOL, OUT/fish/TOOL.fish. The build runs it; nothing of it is committed.
"""
import pathlib
import re
import subprocess
import sys

COLUMN = 30  # where --help puts the meaning, on the next line when the flag is longer


def is_split(line):
    """Whether the flag ends before the column of meanings; "..." belongs to a flag that takes several values."""
    return line[COLUMN - 1:COLUMN] in (" ", "") and not line[COLUMN:].startswith("...")


class Flag:
    def __init__(self, group, names, value):
        self.group, self.names, self.value, self.meaning = group, names.split(","), value, ""
        choices = re.search(r"\{(.*?)\}", value)
        self.choices = choices.group(1).split(",") if choices else []
        if not self.choices and "--target" in self.names:
            self.choices = ["cpu", "cuda"]

    @property
    def takes_value(self):
        return bool(re.match(r"(TEXT|INT|FLOAT|UINT)", self.value))

    @property
    def shown_value(self):
        """TEXT:{a,b}=a ... -> a|b; INT=1 -> INT"""
        if self.choices:
            return "|".join(self.choices)
        return re.sub(r"[=:].*| \.\.\.| Excludes.*| REQUIRED.*| x \d+", "", self.value).strip()


class Page:
    """One `TOOL --help`."""

    def __init__(self, command):
        self.command, self.flags, self.subcommands, self.positionals = command, [], {}, []
        text = subprocess.run([*command[:1], *command[1:], "--help"], check=True, capture_output=True, text=True).stdout
        self.name = "-".join([pathlib.Path(command[0]).name, *command[1:]])
        self.title = next(line for line in text.splitlines() if line.strip())
        self.usage = re.search(r"^Usage: \S*?([^/\s]+( .*)?)$", text, re.M).group(1)
        self.read(text)

    def read(self, text):
        group, open_flag = "", None
        for line in text.splitlines():
            left, right = (line[:COLUMN], line[COLUMN:]) if is_split(line) else (line, "")
            words = left.split(None, 1)
            if re.match(r"^[A-Z]\w+:$", line):
                group, open_flag = line[:-1], None
            elif words and group == "Subcommands":
                self.subcommands[words[0]] = right
            elif words and group == "Positionals":
                self.positionals.append((words[0], right))
            elif words and words[0].startswith("-"):
                open_flag = Flag(group, words[0], words[1].strip() if len(words) > 1 else "")
                open_flag.meaning = right
                self.flags.append(open_flag)
            elif not words and right and open_flag and not open_flag.meaning:
                open_flag.meaning = right


def roff(text):
    return text.replace("\\", "\\e").replace("-", "\\-").replace("\n.", "\n\\&.").replace("'", "\\(aq")


def manual(page, pages, version):
    lines = [f'.TH "{page.name.upper()}" 1 "" "{version}" "Kedge"', ".SH NAME", f"{roff(page.name)} \\- {roff(page.title)}",
             ".SH SYNOPSIS", f".B {roff(page.usage)}"]
    if page.subcommands:
        lines.append(".SH COMMANDS")
        for name, meaning in page.subcommands.items():
            lines += [".TP", f".BR {roff(page.name)}\\-{roff(name)} (1)", roff(meaning)]
    for group in dict.fromkeys(flag.group for flag in page.flags):
        lines.append(f".SH {'OPTIONS' if group == 'Options' else roff(group.upper())}")
        for flag in page.flags:
            if flag.group == group:
                value = f" \\fI{roff(flag.shown_value)}\\fR" if flag.takes_value else ""
                lines += [".TP", "\\fB" + ", ".join(map(roff, flag.names)) + "\\fR" + value, roff(flag.meaning) or "(no text)"]
    others = [other.name for other in pages if other is not page]
    lines += [".SH SEE ALSO", ", ".join(f"\\fB{roff(name)}\\fR(1)" for name in others)]
    return "\n".join(lines) + "\n"


def words_of(page):
    return [name for flag in page.flags for name in flag.names] + list(page.subcommands)


def bash(tool, pages):
    function = "_" + tool.replace("-", "_")
    lines = [f"# bash completion of {tool}", f"{function}() {{", '  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words',
             '  case "${COMP_WORDS[1]}:$before" in']
    for page in pages:
        command = page.command[1] if len(page.command) > 1 else "*"
        for flag in page.flags:
            if flag.takes_value:
                reply = f'$(compgen -W "{" ".join(flag.choices)}" -- "$word")' if flag.choices else '$(compgen -f -- "$word")'
                lines += [f"    {command}:{name}) COMPREPLY=({reply}); return ;;" for name in flag.names]
    lines += ["  esac", '  case "${COMP_WORDS[1]}" in']
    for page in pages:
        if len(page.command) > 1:
            lines.append(f'    {page.command[1]}) words="{" ".join(words_of(page))}" ;;')
    lines += [f'    *) words="{" ".join(words_of(pages[0]))}" ;;', "  esac",
              '  COMPREPLY=($(compgen -W "$words" -- "$word") $([[ $word == -* ]] || compgen -f -- "$word"))', "}",
              f"complete -o filenames -F {function} {tool}"]
    return "\n".join(lines) + "\n"


def quoted(text):
    return text.replace("'", "'\\''")


def zsh_specs(page):
    for flag in page.flags:
        meaning = quoted(re.sub(r"([\[\]:])", r"\\\1", flag.meaning))
        value = "" if not flag.takes_value else f":value:({' '.join(flag.choices)})" if flag.choices else ":value:_files"
        for name in flag.names:
            yield f"'*{name}[{meaning}]{value}'"


def zsh(tool, pages):
    lines = [f"#compdef {tool}", f"# zsh completion of {tool}"]
    if len(pages) == 1:
        return "\n".join(lines + ["_arguments \\", *(f"  {spec} \\" for spec in zsh_specs(pages[0])), "  '*:file:_files'"]) + "\n"
    first = "".join(f" '{name}:{quoted(meaning)}'" for name, meaning in pages[0].subcommands.items())
    lines += ["if (( CURRENT == 2 )); then", f"  local -a commands=({first} )", "  _describe command commands",
              "  _arguments " + " ".join(zsh_specs(pages[0])), "  return", "fi", "case $words[2] in"]
    for page in pages[1:]:
        lines += [f"  {page.command[1]}) shift words; (( CURRENT-- )); _arguments \\",
                  *(f"    {spec} \\" for spec in zsh_specs(page)), "    '*:file:_files' ;;"]
    return "\n".join(lines + ["esac"]) + "\n"


def fish(tool, pages):
    lines = [f"# fish completion of {tool}"]
    for page in pages:
        condition = f" -n '__fish_seen_subcommand_from {page.command[1]}'" if len(page.command) > 1 else ""
        for name, meaning in page.subcommands.items():
            lines.append(f"complete -c {tool} -n __fish_use_subcommand -a {name} -d '{quoted(meaning)}'")
        for flag in page.flags:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
            value = "" if not flag.takes_value else f" -x -a '{' '.join(flag.choices)}'" if flag.choices else " -r"
            lines.append(f"complete -c {tool}{condition} {names}{value} -d '{quoted(flag.meaning)}'")
    return "\n".join(lines) + "\n"


def main():
    folder, out, version = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    tools = {}
    for tool in ("kedge", "kedge-bench", "kedge-translate"):
        top = Page([str(folder / tool)])
        tools[tool] = [top, *(Page([str(folder / tool), name]) for name in top.subcommands)]
    everything = [page for pages in tools.values() for page in pages]
    files = {f"man1/{page.name}.1": manual(page, everything, version) for page in everything}
    for tool, pages in tools.items():
        files |= {f"bash/{tool}": bash(tool, pages), f"zsh/_{tool}": zsh(tool, pages), f"fish/{tool}.fish": fish(tool, pages)}
    for name, text in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text)


if __name__ == "__main__":
    main()
