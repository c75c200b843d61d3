#!/usr/bin/env python3
"""Whether two objects of 64-bit Arm compute alike, one in ELF and one in Mach-O: same_instructions.py ELF MACHO

Functions by name, as llvm-objdump shows them: the instructions on vector registers, which hold all numbers, are the same in the same
order. Which general registers hold addresses may differ, since Apple's systems keep one more for themselves. Prints how many functions
are alike as a whole, too; what a linker fills in is left out. Ends with an error that shows the first instruction that differs.
"""
import re
import subprocess
import sys

LINE = re.compile(r"^\s*([0-9a-f]+):\s+(.*?)\s*$")
PLACE = re.compile(r"0x[0-9a-f]+ <.*>")
NUMBER = re.compile(r"#?-?\b(0x[0-9a-f]+|\d+)\b(?!\.)|, lsl #12")
VECTOR, GENERAL, ADDRESS = re.compile(r"\b[vqdshb]\d+\b"), re.compile(r"\b[wx](\d+|zr)\b"), re.compile(r"\[[^\]]*\]!?(, #-?\w+)?")
LEVEL = re.compile(r"\.aarch64-\w+$")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def starts(path, prefix):
    """Address -> name of the functions that others see."""
    table = (line.split() for line in output("llvm-nm", "--defined-only", "-P", path).splitlines() if not line.endswith(":"))
    return {int(words[2], 16): LEVEL.sub("", words[0].removeprefix(prefix)) for words in table if words[1] == "T"}


def functions(path, prefix):
    names, found, code, begin = starts(path, prefix), {}, None, 0
    for line in output("llvm-objdump", "--triple=aarch64-linux", "-d", "-r", "--no-show-raw-insn", path).splitlines():
        if re.search(r"(R_AARCH64|ARM64_RELOC)_", line):
            if code:
                code[-1] = NUMBER.sub("", PLACE.sub("", code[-1])) + " SYMBOL"
            continue
        step = LINE.match(line)
        if not step:
            continue
        address, text = int(step[1], 16), step[2].replace("\t", " ").split(" //")[0].split(" ;")[0].rstrip()
        if address in names:
            code, begin = found.setdefault(names[address], []), address
        if code is not None:
            code.append(PLACE.sub(lambda place: f"{int(place[0].split()[0], 16) - begin:+}", text))
    return found


def numbers(code):
    """Instructions on vector registers in their order, whichever general registers they take addresses and bits from."""
    plain = (GENERAL.sub("general", ADDRESS.sub("[]", step)) for step in code)
    return [step for step in plain if VECTOR.search(step) and not step.startswith(("ld", "st"))]


def main():
    elf, macho = functions(sys.argv[1], ""), functions(sys.argv[2], "_")
    if not elf or set(elf) != set(macho):
        sys.exit(f"functions in one object alone: {sorted(set(elf) ^ set(macho))[:5]}, in both: {len(set(elf) & set(macho))}")
    for name in sorted(elf):
        one, other = numbers(elf[name]), numbers(macho[name])
        if one != other:
            first = next((pair for pair in zip(one, other) if pair[0] != pair[1]), (f"{len(one)} instructions", f"{len(other)}"))
            sys.exit(f"{name}: {first[0]!r} in ELF, {first[1]!r} in Mach-O")
    alike = sum(elf[name] == macho[name] for name in elf)
    print(f"{len(elf)} functions compute alike with {sum(len(numbers(code)) for code in elf.values())} instructions; {alike} are alike as a whole")


if __name__ == "__main__":
    main()
