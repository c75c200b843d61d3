#!/usr/bin/env python3
"""What ptxas makes of kernels: ptx_kernels.py BEFORE.ptx [AFTER.ptx] [--arch sm_90] [--nvdisasm PATH] [--only REGEX]

Machine instructions, registers, spilled bytes of each kernel of one module, or of two beside each other (by the kernels' names without
their numbers, in order). The input is the output of `kedge compile --emit ptx`. Instructions are counted in the listing of nvdisasm (a
static count: loops once), which Triton's wheel has, too. Nothing is run.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

# Everything but no-operations behind the last jump.
INSTRUCTION = re.compile(r"^\s+(?:/\*[0-9a-f]+\*/\s+)?(?:@!?U?P\d\s+)?([A-Z][A-Z0-9_.]+)")


def kernels(path, arch, nvdisasm):
    """{name: (instructions, registers, spilled bytes)} in the order of the module."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = pathlib.Path(folder) / "kernels.cubin"
        made = subprocess.run(["ptxas", f"-arch={arch}", "-v", "-fmad=false", "-o", cubin, path], capture_output=True, text=True)
        if made.returncode:
            sys.exit(made.stderr)
        listing = subprocess.run([nvdisasm, "-c", cubin], capture_output=True, text=True, check=True).stdout
    facts, name = {}, None
    for line in made.stderr.splitlines():
        if found := re.search(r"Compiling entry function '(\w+)'", line):
            name = found[1]
            facts[name] = [0, 0, 0]
        elif found := re.search(r"(\d+) bytes spill stores", line):
            facts[name][2] = int(found[1])
        elif found := re.search(r"Used (\d+) registers", line):
            facts[name][1] = int(found[1])
    name = None
    for line in listing.splitlines():
        if found := re.match(r"\s*\.section\s+\.text\.(\w+)", line):
            name = found[1]
        elif name in facts and (found := INSTRUCTION.match(line)) and found[1] != "NOP":
            facts[name][0] += 1
    return facts


def by_kind(facts):
    """Kernels by what their names say, numbered where several say the same."""
    seen, named = collections.Counter(), {}
    for name, fact in facts.items():
        kind = re.sub(r"^k\d+_", "", name)
        seen[kind] += 1
        named[f"{kind}.{seen[kind]}" if seen[kind] > 1 else kind] = fact
    return named


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--nvdisasm", default="nvdisasm")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    tables = [by_kind(kernels(path, given.arch, given.nvdisasm)) for path in given.modules]
    print("| kernel | " + " | ".join(["instructions", "registers", "spilled"]) + " |\n|---|---|---|---|")
    for kind in dict.fromkeys(kind for table in tables for kind in table):
        if re.search(given.only, kind):
            cells = zip(*(table.get(kind, ("-",) * 3) for table in tables))
            print(f"| {kind} | " + " | ".join(" -> ".join(map(str, cell)) for cell in cells) + " |")


if __name__ == "__main__":
    main()
