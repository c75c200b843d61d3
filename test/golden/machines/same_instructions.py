#!/usr/bin/env python3
"""Whether two objects have the same code, one in ELF and one in Mach-O: same_instructions.py ELF MACHO

Functions by name, instruction by instruction as llvm-objdump shows them. What a linker fills in is left out: how a symbol's address
is formed, and places in the file. Prints how many functions are alike; ends with an error that shows the first which are not.
"""
import re
import subprocess
import sys

LABEL = re.compile(r"^(?:[0-9a-f]+ )?<(.+)>:$")
LINE = re.compile(r"^\s*([0-9a-f]+):\s+(.*?)\s*$")
RELOCATION = re.compile(r"^\s*(?:[0-9a-f]+:\s+)?(?:R_AARCH64|ARM64_RELOC)_\w+")
SUFFIX = re.compile(r"\.aarch64-\w+$")


def functions(path, prefix):
    text = subprocess.run(["llvm-objdump", "-d", "-r", "--no-show-raw-insn", path], check=True, capture_output=True, text=True).stdout
    found, code = {}, None
    for line in text.splitlines():
        if label := LABEL.match(line):
            name = label[1].removeprefix(prefix)
            code = found.setdefault(SUFFIX.sub("", name), [])
        elif code is not None and re.search(r"(R_AARCH64|ARM64_RELOC)_", line):
            code[-1] = re.sub(r"(0x[0-9a-f]+( <.*>)?|#0x[0-9a-f]+|#-?\d+|, lsl #12)", "", code[-1]) + " SYMBOL"
        elif code is not None and (step := LINE.match(line)):
            code.append(re.sub(r"0x[0-9a-f]+ <[^>+]+(\+0x[0-9a-f]+)?>", r"here\1", step[2].replace("\t", " ").split(" //")[0].split(" ;")[0]))
    return found


def main():
    elf, macho = functions(sys.argv[1], ""), functions(sys.argv[2], "_")
    common = sorted(set(elf) & set(macho))
    different = [name for name in common if elf[name] != macho[name]]
    for name in different[:1]:
        for one, other in zip(elf[name], macho[name]):
            if one != other:
                print(f"{name}: {one!r} in ELF, {other!r} in Mach-O")
                break
    count = sum(len(elf[name]) for name in common)
    print(f"{len(common) - len(different)} of {len(common)} functions with {count} instructions alike")
    if different or not common or set(elf) != set(macho):
        sys.exit(f"different: {different[:5]}; in one alone: {sorted(set(elf) ^ set(macho))[:5]}")


if __name__ == "__main__":
    main()
