#!/usr/bin/env python3
"""Watches the anonymous memory of a program from outside: resident.py REPORT.json PROGRAM FLAGS...

Samples RssAnon of /proc/PID/status all the time the program trains. Its maximum, less RssAnon before the arena was
mapped (the report's `rss_anon_before` of library_kernels), stays within arenas + reservations + 32 MiB, and the
measured reservations themselves within the planned ones.
"""
import json
import subprocess
import sys
import time

SAMPLES = 50
ALLOWANCE = 32 << 20


def resident(pid):
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0


def watch(command):
    """Largest value seen and number of samples; a program that has ended has none."""
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    largest = samples = 0
    while program.poll() is None:
        try:
            largest = max(largest, resident(program.pid))
        except FileNotFoundError:
            break
        samples += 1
        time.sleep(0.001)
    errors = program.communicate()[1]
    if program.returncode:
        sys.exit(f"{command[0]} ended with {program.returncode}: {errors}")
    return largest, samples


def main():
    report_file, command = sys.argv[1], sys.argv[2:]
    largest, samples = watch(command + ["--memory-report", report_file])
    steps = command.index("--steps") + 1 if "--steps" in command else 0
    while steps and samples < SAMPLES and int(command[steps]) < 100_000:  # a fast machine needs more steps to be watched
        command[steps] = str(4 * int(command[steps]))
        largest, samples = watch(command + ["--memory-report", report_file])
    with open(report_file) as file:
        report = json.load(file)
    reserved = {entry["name"]: entry for entry in report["reservations"]}
    reservations = sum(entry["bytes"] for entry in reserved.values())
    before, arena = reserved["library_kernels"]["rss_anon_before"], report["arena_bytes"] + report.get("host_bytes", 0)
    growth = largest - before
    print(f"{samples} samples: {before} bytes before the arena, {growth} more at most; arena {arena}, "
          f"reservations {reservations}: {growth - arena - reservations} above")
    if samples < SAMPLES:
        sys.exit("too few samples: the program ran for too short a time to be watched")
    if growth < arena:
        sys.exit("the arena is not resident: another process was watched, or the report is of another program")
    if growth > arena + reservations + ALLOWANCE:
        sys.exit(f"{growth - arena - reservations} bytes above arena and reservations, {ALLOWANCE} are allowed")
    plan = json.loads(subprocess.run([command[0], "--plan"], check=True, stdout=subprocess.PIPE, text=True).stdout)
    planned = sum(entry["bytes"] for entry in plan["reservations"])
    if reservations > planned:
        sys.exit(f"reservations of {reservations} bytes, {planned} planned")
    print("memory as promised")


if __name__ == "__main__":
    main()
