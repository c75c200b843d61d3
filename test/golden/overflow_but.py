#!/usr/bin/env python3
"""Runs a program for STEPS steps that all overflow, but one: overflow_but.py CLEAN STEPS PROGRAM [OPTION...]."""
import subprocess
import sys

clean, steps = map(int, sys.argv[1:3])
injected = ",".join(f"{step}=inf" for step in range(steps) if step != clean)
sys.exit(subprocess.run([*sys.argv[3:], "--steps", str(steps), "--inject-gradient", injected]).returncode)
