"""Tests whose programs are for another machine: KEDGE_TEST_MACHINE=aarch64-linux, x86_64-windows, a level of them or
aarch64-android compiles for it and runs under an emulator, or wine."""
import os

_MACHINE = os.environ.get("KEDGE_TEST_MACHINE", "")
COMPILE = ["--cpu", _MACHINE] if _MACHINE else []
LAUNCHER = (["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"] if _MACHINE.startswith("aarch64-linux") else
            ["qemu-aarch64"] if _MACHINE == "aarch64-android" else ["wine"] if _MACHINE.startswith("x86_64-windows") else [])
