"""A small ELF file with GPU code of two architectures, before and after scripts/gpu/thin_library.py: thin_library.py BEFORE | BEFORE AFTER."""
import pathlib
import struct
import sys

NAMES = b"\0.nv_fatbin\0__nv_relfatbin\0.text\0.shstrtab\0"


def entry(kind, arch, code):
    return struct.pack("<HHIQIIHHI", kind, 0x101, 64, len(code), 0, 0, 0, 0, arch).ljust(64, b"\0") + code


def make():
    entries = entry(2, 80, b"OLD_CODE") + entry(2, 90, b"OWN_CODE") + entry(1, 90, b"PTX_TEXT")
    parts = [b"", struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries, b"RELOCATE", b"HOSTCODE", NAMES]
    heads, body = [], b""
    for name, part in zip((b"", b".nv_fatbin", b"__nv_relfatbin", b".text", b".shstrtab"), parts):
        heads.append(struct.pack("<IIQQQQ", NAMES.index(name + b"\0") if name else 0, 1, 0, 0, 64 + len(body), len(part)).ljust(64, b"\0"))
        body += part
    head = b"\x7fELF".ljust(40, b"\0") + struct.pack("<Q", 64 + len(body))
    return head.ljust(58, b"\0") + struct.pack("<HHH", 64, len(heads), len(heads) - 1) + body + b"".join(heads)


if len(sys.argv) == 2:
    pathlib.Path(sys.argv[1]).write_bytes(make())
else:
    before, after = (pathlib.Path(path).read_bytes() for path in sys.argv[1:])
    assert len(before) == len(after)
    print(*(word.decode() for word in (b"OLD_CODE", b"OWN_CODE", b"PTX_TEXT", b"RELOCATE", b"HOSTCODE") if word in after))
