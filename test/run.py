#!/usr/bin/env python3
"""Runs the tests of a build: unit programs and lit's, as one run of lit. It says what it will do, a line a minute, what failed,
and at the end how many passed, failed and were skipped, and which packages would make skipped tests run.

    run.py --build build/release --lit lit              the quick tier
    run.py ... --all                                    and the long one (test/tiers.txt)
    run.py ... --all --shard 2/3                        the second third of both
    run.py ... --since main                             the quick tier, and long tests whose rooms differ from a commit
"""
import argparse
import collections
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

import tiers

ROOT = pathlib.Path(__file__).resolve().parents[1]
RECORD = ROOT / "test/last-whole-run.json"
STALE = 200  # commits
# What brings a feature that lit.cfg.py looks for.
PACKAGES = {"python-onnx": "onnx and onnxruntime (PyPI)", "python-torch": "torch and onnxscript (PyPI; KEDGE_TORCH_PYTHON)",
            "python-tokenizers": "tokenizers (PyPI)",
            **{f"python-{framework}": "scripts/frameworks.sh" for framework in ("keras", "flax", "paddle", "sklearn")},
            "python-torch-models": "torch, onnxscript, torchvision, timm and transformers (PyPI; KEDGE_TORCH_PYTHON)",
            "python-peft": "torch, onnxscript, transformers and peft (PyPI; KEDGE_TORCH_PYTHON)",
            "shipped-files": "scripts/frameworks.sh shipped", "mpirun": "openmpi-bin", "ptxas": "the CUDA toolkit", "cuda": "the CUDA toolkit",
            "cudnn": "cuDNN", "nccl": "NCCL's header",
            "clang-format": "clang-format 22.1.8 (PyPI)", "clang-tidy": "clang-tidy 22.1.8 (PyPI)", "node": "nodejs", "chromium": "chromium",
            "dpkg": "dpkg-dev", "zsh": "zsh", "fish": "fish", "localedef": "locales", "onnx-node-tests": "libonnx-testdata",
            "shared": "the models in ../shared", "faults": "the cases in ../shared", "musl": "zig", "aarch64-musl": "zig", "android": "zig and qemu-user",
            "macos": "zig, and --all",
            "wasm": "clang, lld, wasi-libc and nodejs", "cortex-m": "gcc-arm-none-eabi, libnewlib-arm-none-eabi and qemu-system-arm",
            "aarch64": "g++-aarch64-linux-gnu and qemu-user, and --all", "windows": "g++-mingw-w64-x86-64 and wine64, and --all", "aarch64-units": "googletest, and --all", "wheel": "scripts/wheel.sh",
            "fuzz": "--all", "avx512": "a processor with AVX-512", "kedge-reduce": "MLIR's reducer",
            "no-cudnn": "a machine without cuDNN", "no-nccl": "a machine without NCCL", "no-nvidia-driver": "a machine without a GPU"}
LINE = re.compile(r"^(PASS|FAIL|UNSUPPORTED|XFAIL|XPASS|TIMEOUT|UNRESOLVED|FLAKYPASS): (.*) \((\d+) of (\d+)\)$")
FINE = {"PASS", "XFAIL", "FLAKYPASS"}
SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def arguments():
    parser = argparse.ArgumentParser(allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--lit", default="lit")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() + 1, help="one more than processors: ranks wait for each other")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--shard", metavar="K/N")
    parser.add_argument("--since", metavar="COMMIT")
    parser.add_argument("--keep", action="store_true", help="keep what passing tests wrote")
    parser.add_argument("--filter", help="only tests whose name matches this expression")
    parser.add_argument("--only-read-options", action="store_true", help="refuse wrong ones, and run nothing")
    return parser.parse_args()


def lit_command(options, results):
    command = [options.lit, f"-j{options.jobs}", "-v", "--output", results, "--param", f"tier={'all' if options.all else 'quick'}"]
    if options.keep:
        command += ["--param", "keep=1"]
    if options.since:
        command += ["--param", f"since={options.since}"]
    if options.shard:
        part, parts = options.shard.split("/")
        command += ["--run-shard", part, "--num-shards", parts]
    if options.filter:
        command += ["--filter", options.filter]
    return [*command, options.build / "test/unit", options.build / "test"]


class Progress:
    """A line a minute, from what lit prints."""

    def __init__(self):
        self.begin, self.done, self.total, self.failed = time.monotonic(), 0, 0, 0
        self.ended = threading.Event()
        self.clock = threading.Thread(target=self.tell, daemon=True)
        self.clock.start()

    def minutes(self):
        return (time.monotonic() - self.begin) / 60

    def tell(self):
        while not self.ended.wait(60):
            print(f"{self.minutes():.0f} min: {self.done} of {self.total or '?'} tests, {self.failed} failed", flush=True)

    def follow(self, stream):
        """Failures are shown whole; what passes is counted."""
        for line in stream:
            found = LINE.match(line.rstrip("\n"))
            if found:
                self.done, self.total = int(found[3]), int(found[4])
                self.failed += found[1] not in FINE | SKIPPED
            if not found or found[1] not in FINE | SKIPPED:
                print(line, end="", flush=True)
        self.ended.set()


def announce(options):
    rows = tiers.long_tests()
    what = "all tests" if options.all else "the quick tier: unit programs and all of lit's tests but the long ones"
    left = len(tiers.left_out("all" if options.all else "quick", options.since))
    print(f"{what}{f' (part {options.shard})' if options.shard else ''}; {left} of {len(rows)} long tests are left out"
          f"{' (--all runs them)' if left else ''}")
    print(f"{options.jobs} at a time; on two idle cores {'about an hour' if options.all else '9 to 18 minutes'}", flush=True)


def missing_features(output):
    found = re.search(r"unavailable features: (.*)", output)
    return found[1].split(", ") if found else []


def summary(tests, wall):
    """The closing lines, and whether all is well."""
    count = collections.Counter("passed" if test["code"] in FINE else "skipped" if test["code"] in SKIPPED else "failed" for test in tests)
    wanting = collections.defaultdict(int)
    for test in tests:
        if test["code"] == "UNSUPPORTED":
            for feature in missing_features(test["output"]) or ["another machine"]:
                wanting[PACKAGES.get(feature, feature)] += 1
    for package, number in sorted(wanting.items(), key=lambda row: -row[1]):
        print(f"skipped for want of {package}: {number}")
    for test in tests:
        if test["code"] not in FINE | SKIPPED:
            print(f"failed: {test['name']}")
    print(f"{wall / 60:.1f} minutes")
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped", flush=True)
    return count


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def remember_whole_run(options, count):
    """A whole run writes what it found; it is committed with the change that asked for it."""
    if not options.all or options.shard or options.filter:
        return
    RECORD.write_text(json.dumps({"commit": git("rev-parse", "HEAD"), "date": str(datetime.date.today()), **count}, indent=1) + "\n")


def name_stale_record(options):
    if options.all or not RECORD.exists():
        return
    record = json.loads(RECORD.read_text())
    since = git("rev-list", "--count", f"{record['commit']}..HEAD")
    if since.isdigit() and int(since) > STALE:
        print(f"the long tier last ran {since} commits ago ({record['date']}, {record['commit'][:12]}): scripts/test.sh --all")


def main():
    options = arguments()
    if options.only_read_options:
        return
    shutil.rmtree(options.build / "test/mpi", ignore_errors=True)
    results = options.build / "test/results.json"
    results.unlink(missing_ok=True)
    announce(options)
    progress = Progress()
    lit = subprocess.Popen(list(map(str, lit_command(options, results))), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           errors="replace")
    progress.follow(lit.stdout)
    code = lit.wait()
    if not results.exists():
        sys.exit(f"lit ended with {code} before it wrote its results")
    count = summary(json.loads(results.read_text())["tests"], progress.minutes() * 60)
    remember_whole_run(options, count)
    name_stale_record(options)
    sys.exit(0 if code == 0 and not count["failed"] else 1)


if __name__ == "__main__":
    main()
