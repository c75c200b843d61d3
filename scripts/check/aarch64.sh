#!/usr/bin/env bash
# All golden models as programs for 64-bit Arm under an emulator, against PyTorch's traces, and the unit tests of the runtime and of
# its kernels: aarch64.sh BUILD SHARED PYTHON (with the package onnx). About two hours.
set -euo pipefail
build=$(realpath "$1") shared=$(realpath "$2") python=$3
cd "$(dirname "$0")/../../test/golden"
export PATH="$build/bin:$PATH" KEDGE_TEST_MACHINE=aarch64-linux
# Units on a processor with NEON alone; kernels that differ with more on one that has all.
arm="$build/runtime/aarch64-linux" emulator="qemu-aarch64 -L /usr/aarch64-linux-gnu"
cmake --build "$arm" --target kedge-units >/dev/null
$emulator -cpu cortex-a57 "$arm/bin/kedge-unit-kernels" --gtest_brief=1
# Without what needs an Open MPI for Arm, and what starts itself again.
$emulator -cpu cortex-a57 "$arm/bin/kedge-unit-runtime" --gtest_brief=1 --gtest_filter='-*RuntimeRank*:*Lookout*'
$emulator -cpu max,sve-default-vector-length=32 "$arm/bin/kedge-unit-kernels" --gtest_brief=1 \
  --gtest_filter='KernelInteger*:KernelNarrow*:KernelScaled*:KernelPool*:KernelRe*'
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for model in perceptron gpt convnet quantised recurrent keras; do
  python3 check.py $model "$out/$model" 2>/dev/null | tail -1
done
python3 ../../scripts/check/arm_traces.py "$shared" "$out" "$python"
