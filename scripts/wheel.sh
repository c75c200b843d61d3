#!/usr/bin/env bash
# Builds the Python wheel, and the same tools as a tarball: wheel.sh [BUILD (build/release)] -> BUILD/wheel/kedge_compiler-*.whl,
# BUILD/wheel/kedge-*.tar.xz
# All tools in one executable with LLVM in it, the runtime that programs are linked with, and what links them on a machine
# without a compiler. The tag names the oldest glibc that everything in it runs with. The tarball's tools hold their glibc: they run
# on any Linux, and with --libc static so do their programs.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
[ -f "$build/build.ninja" ] || cmake --preset release -B "$build" >/dev/null
archives=(kedge_runtime kedge_runtime_main kedge_runtime_library)
grep -q '^KEDGE_CUDA_INCLUDE_DIR:PATH=..*' "$build/CMakeCache.txt" && archives+=(kedge_runtime_cuda kedge_runtime_main_cuda)
cmake --build "$build" -j"$(nproc)" --target kedge-all kedge-all-static "${archives[@]}"
exec python3 scripts/make/make_wheel.py "$build" --tarball
