#!/usr/bin/env python3
"""Measures the source of commits, a column each: house_metrics.py [--write PAGE] [COMMIT...] (HEAD alone without one).

Production is C++, TableGen, Python, shell and CMake outside of test, docs, examples and bench. Functions are found by braces, which is
approximate. The columns of HEIR, Shardy and CIRCT are the third review's, at their heads of 2026-11-27, and were not measured by this
script: its functions are counted otherwise (9,532 of median 7 at 73646d9b, where this finds 7,761 of median 9). --write replaces the table
in a page between its marks.
"""
import argparse
import pathlib
import re
import statistics
import subprocess

OTHERS = ("test", "docs", "examples", "bench")
KINDS = (".cpp", ".h", ".hpp", ".td", ".py", ".sh", ".cmake", ".cu", ".c")
TESTS = (".test", ".mlir")
CXX = (".cpp", ".h", ".hpp", ".c", ".cu")
HEADING = re.compile(r"^\s*(namespace|extern|enum|union|struct|class|if|for|while|switch|do|else|try|catch|return|using|typedef)\b|=\s*$|^\s*[{}]")
# Of the three projects: rows as below.
PEERS = {
    "HEIR": ["158.3k (136.3k)", "47 / 322 / 3,130", "30", "0.46", "0.09 / 0.6", "10 / 47 / 598", "260 (6.2%); 32%", "29 / 417 / 134 / 21",
             "9 / 189", "19", "831", "23 / 848 (3%)", "2", "156"],
    "Shardy": ["71.3k (63.8k)", "112 / 531 / 2,887", "31", "1.00", "0.03 / 0.3", "10 / 45 / 1,086", "110 (5.7%); 30%", "2 / 35 / 47 / 3",
               "4 / 22", "8", "115", "6 / 285 (2%)", "0", "201"],
    "CIRCT": ["433.6k (396.3k)", "102 / 697 / 7,613", "64", "0.52", "0.01 / 0.1", "7 / 40 / 862", "782 (5.5%); 36%", "41 / 1,216 / 304 / 59",
              "11 / 251", "4", "1,137", "288 / 2,943 (10%)", "4", "457"],
}
ROWS = ["production lines (C++ and .td alone)", "C++ and .td files: median / p90 / longest", "fullest source folder, files",
        "test / production lines", "lines over 120 columns in percent, all / .td", "functions: median / p90 / longest lines",
        "functions over 60 lines; code in them", "dialects / ops / passes / op interfaces", "top-level folders / source folders",
        "places that register a pipeline by name", "rewrite patterns", "notes attached / diagnostics", "headers with `using namespace`",
        "notes of unfinished work"]


def files_of(commit):
    """Path -> text of every source file of a commit."""
    listed = subprocess.run(["git", "ls-tree", "-r", "--name-only", commit], capture_output=True, text=True, check=True).stdout.splitlines()
    wanted = [path for path in listed if path.endswith(KINDS) or path.endswith("CMakeLists.txt") or path.endswith(TESTS)]
    asked = "".join(f"{commit}:{path}\n" for path in wanted).encode()
    raw = subprocess.run(["git", "cat-file", "--batch"], input=asked, capture_output=True, check=True).stdout
    texts, at = {}, 0
    for path in wanted:
        end = raw.index(b"\n", at)
        size = int(raw[at:end].split()[2])
        texts[path] = raw[end + 1:end + 1 + size].decode(errors="replace")
        at = end + 2 + size
    return texts, {path.split("/")[0] for path in listed if "/" in path and not path.startswith(".")}


def functions(text):
    """Lengths of the functions of a C++ file: a `{` at the end of a line whose statement has parentheses."""
    lengths, depth, open_at, statement = [], 0, None, ""
    for number, line in enumerate(text.splitlines()):
        code = re.sub(r'//.*$|"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'', "", line)
        statement = (statement + " " + code.strip()).strip()
        if open_at is None and code.rstrip().endswith("{") and "(" in statement and not HEADING.search(statement):
            open_at = (number, depth)
        depth += code.count("{") - code.count("}")
        if open_at is not None and depth <= open_at[1]:
            lengths.append(number - open_at[0] + 1)
            open_at = None
        if code.rstrip().endswith((";", "{", "}")) or not code.strip():
            statement = ""
    return lengths


def share(part, whole):
    return part / whole * 100 if whole else 0


def p90(values):
    return sorted(values)[int(0.9 * (len(values) - 1))]


def count(pattern, texts):
    return sum(len(re.findall(pattern, text, re.M)) for text in texts.values())


class Measured:
    def __init__(self, commit):
        every, self.top = files_of(commit)
        self.production = {path: text for path, text in every.items() if path.split("/")[0] not in OTHERS and not path.endswith(TESTS)}
        self.test = {path: text for path, text in every.items() if path.startswith("test/")}
        self.cxx = self.of(*CXX)
        self.td = self.of(".td")
        self.code = self.cxx | self.td

    def of(self, *kinds):
        return {path: text for path, text in self.production.items() if path.endswith(kinds)}

    @staticmethod
    def lines(texts):
        return sum(text.count("\n") for text in texts.values())

    def rows(self):
        lengths = [text.count("\n") for text in self.code.values()]
        folders = [str(pathlib.PurePath(path).parent) for path in self.code]
        inside = [length for text in self.cxx.values() for length in functions(text)]
        long = [length for length in inside if length > 60]
        total, all_cxx = self.lines(self.production), self.lines(self.cxx)
        wide = {"all": self.production, "td": self.td}
        wide = {key: share(sum(len(line) > 120 for text in texts.values() for line in text.splitlines()), self.lines(texts))
                for key, texts in wide.items()}
        notes, diagnostics = count(r"attachNote\(", self.cxx), count(r"\bemit(Op)?Error\(|\bemit(Warning|Remark)\(", self.cxx)
        headers = {path: text for path, text in self.cxx.items() if path.endswith((".h", ".hpp"))}
        return [f"{total / 1000:.1f}k ({self.lines(self.code) / 1000:.1f}k)",
                f"{statistics.median(lengths):.0f} / {p90(lengths)} / {max(lengths):,}",
                str(max(folders.count(folder) for folder in set(folders))), f"{self.lines(self.test) / total:.2f}",
                f"{wide['all']:.2f} / {wide['td']:.1f}", f"{statistics.median(inside):.0f} / {p90(inside)} / {max(inside)}",
                f"{len(long)} of {len(inside):,} ({share(len(long), len(inside)):.1f}%); {share(sum(long), all_cxx):.1f}%",
                " / ".join(f"{count(pattern, self.td):,}" for pattern in
                           (r"^def \w+ : Dialect\b", r"^def \w+\s*:\s*\w*Op<|^def \w+Op\b", r"^def \w+\s*:\s*\w*Pass<", r"^def \w+\s*:\s*OpInterface<")),
                f"{len(self.top)} / {len(set(folders))}", f"{count(r'PassPipelineRegistration<|registerPassPipeline[(]', self.cxx)}",
                f"{sum(bool(re.search('Op(Rewrite|Conversion)Pattern', line)) for text in self.cxx.values() for line in text.splitlines()):,}",
                f"{notes} / {diagnostics:,} ({share(notes, diagnostics):.0f}%)",
                str(sum(bool(re.search(r"^\s*using namespace", text, re.M)) for text in headers.values())),
                str(count(r"\b(TO" r"DO|FIX" r"ME)\b", self.production))]


def table(commits):
    names = [subprocess.run(["git", "log", "-1", "--format=%h of %cs", commit], capture_output=True, text=True, check=True).stdout.strip()
             for commit in commits]
    columns = [Measured(commit).rows() for commit in commits] + list(PEERS.values())
    lines = [f"| | {' | '.join(names + list(PEERS))} |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {row} | {' | '.join(column[place] for column in columns)} |" for place, row in enumerate(ROWS)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commits", nargs="*", default=["HEAD"])
    parser.add_argument("--write", type=pathlib.Path)
    given = parser.parse_args()
    text = table(given.commits)
    if not given.write:
        print(text, end="")
        return
    begin, end = "<!-- house_metrics.py -->\n", "<!-- end -->"
    page = given.write.read_text()
    before, rest = page.split(begin)
    given.write.write_text(before + begin + text + rest[rest.index(end):])


main()
