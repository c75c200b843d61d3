#!/usr/bin/env bash
# What takes an hour and no run of a program: every source compiles by itself, and clang-tidy has nothing to say of any.
# static.sh [--since COMMIT]: of all sources, or of those that differ from a commit. It takes flags from build/release.
set -euo pipefail
cd "$(dirname "$0")/../.."
rooms=(lib passes driver runtime tools)
python3 scripts/check/each_file.py "$@" "${rooms[@]}"
python3 scripts/check/each_file.py --tidy "$@" "${rooms[@]}"
