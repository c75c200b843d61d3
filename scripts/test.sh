#!/usr/bin/env bash
# Builds and tests: test.sh [--all] [--shard K/N] [--since COMMIT]. Without options the quick tier, with --all the long one, too, or
# a part of both; --since adds the long tests of what differs from a commit (test/run.py, test/tiers.txt). The ONNX checks need the
# packages onnx and onnxruntime from PyPI; they are put into a virtual environment outside the tree, and report themselves as
# unsupported when they cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."
begin=$SECONDS
# A word that the tests would refuse is refused before the build.
python3 test/run.py --build build/release --lit none --only-read-options "$@"
case " $* " in *" --help "* | *" -h "*) exit ;; esac
targets=kedge-tests
case " $* " in *" --all "*) targets=kedge-tests-all ;; esac
scripts/setup.sh
[ $targets = kedge-tests ] || scripts/setup.sh g++-aarch64-linux-gnu qemu-user ||
  echo "the cross compiler for 64-bit Arm cannot be installed: its tests are unsupported"
[ $targets = kedge-tests ] || scripts/setup.sh g++-mingw-w64-x86-64 wine wine64 ||
  echo "the cross compiler for Windows and wine cannot be installed: their tests are unsupported"
[ $targets = kedge-tests ] || scripts/setup.sh gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm ||
  echo "the compiler for bare Arm processors and QEMU cannot be installed: their test is unsupported"
[ $targets = kedge-tests ] || scripts/setup.sh clang lld wasi-libc nodejs chromium ||
  echo "what compiles and runs WebAssembly cannot be installed: its tests are unsupported"
[ $targets = kedge-tests ] || scripts/frameworks.sh || echo "(scripts/frameworks.sh tries again)"
venv=${KEDGE_TEST_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/kedge/test-venv}
if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c 'import onnx, onnxruntime' 2>/dev/null; then
  { python3 -m venv "$venv" && "$venv/bin/pip" install -q onnx onnxruntime numpy; } || echo "onnx and onnxruntime cannot be installed: their tests are unsupported"
fi
# What kedge shard writes is read by onnx-ir, too; its test says so where it is not there.
"$venv/bin/python" -c 'import onnx_ir' 2>/dev/null || "$venv/bin/pip" install -q onnx-ir || true
# As scripts/format.sh pins it.
"$venv/bin/clang-format" --version 2>/dev/null | grep -q "version 22\." || "$venv/bin/pip" install -q 'clang-format==22.1.8' ||
  echo "clang-format 22 cannot be installed: its test is unsupported"
# As scripts/check/each_file.py asks for it.
"$venv/bin/clang-tidy" --version 2>/dev/null | grep -q "version 22\." || "$venv/bin/pip" install -q 'clang-tidy==22.1.8' ||
  echo "clang-tidy 22 cannot be installed: its test is unsupported"
# The judge of kedge tokens; its test belongs to the long tier.
[ $targets = kedge-tests ] || "$venv/bin/python" -c 'import tokenizers' 2>/dev/null || "$venv/bin/pip" install -q tokenizers ||
  echo "tokenizers cannot be installed: its test is unsupported"
python=
"$venv/bin/python" -c 'import onnx, onnxruntime' 2>/dev/null && python="$venv/bin/python"
cmake --preset release -DKEDGE_TEST_PYTHON="$python" >/dev/null
echo "building $targets: 12 to 25 minutes on two idle cores where nothing is built yet"
cmake --build build/release -j"$(nproc)" --target all $targets
echo "set up and built in $(((SECONDS - begin) / 60)) minutes"
lit=$(sed -n 's/^KEDGE_LIT:FILEPATH=//p' build/release/CMakeCache.txt)
exec python3 test/run.py --build build/release --lit "$lit" "$@"
