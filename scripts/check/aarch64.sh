#!/usr/bin/env bash
# All golden models as programs for 64-bit Arm under an emulator, against PyTorch's traces: aarch64.sh BUILD SHARED PYTHON
# (with the package onnx). About ten minutes.
set -euo pipefail
build=$(realpath "$1") shared=$(realpath "$2") python=$3
cd "$(dirname "$0")/../../test/golden"
export PATH="$build/bin:$PATH" KEDGE_TEST_MACHINE=aarch64-linux
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for model in perceptron gpt convnet quantised recurrent keras; do
  python3 check.py $model "$out/$model" 2>/dev/null | tail -1
done
for model in mlp gpt2 llama vit resnet; do
  python3 shared/check.py "$shared" $model "$out" "$python" 2>/dev/null | tail -1
  [ $model = mlp ] || echo "16 bits: $(python3 shared/check.py "$shared" $model "$out" "$python" 16-bit 2>/dev/null | tail -1)"
done
