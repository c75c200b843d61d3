#!/usr/bin/env bash
# All fuzz targets, each for as many seconds: scripts/check/fuzz.sh [SECONDS (600)] [BUILD (build/sanitize, else build/release)].
# Findings stay in BUILD/fuzz; the exit code says whether there are any.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-600}
build=${2:-build/sanitize}
[ -d "$build" ] || build=build/release
cmake --build "$build" --target kedge-fuzz-import kedge-fuzz-compile kedge-fuzz-formats kedge-fuzz-deepspeed kedge-fuzz-messages kedge kedge-opt kedge-translate >/dev/null
export PATH="$PWD/$build/bin:$PATH"
# Leaks of a process that ends with an error are none; allocations of hostile sizes are refused by us, not by the tool;
# LLVM's own libraries have no sanitizer: they do not tell it what they take of a pool that our code made.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0:allocator_may_return_null=1:allow_user_poisoning=0}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-halt_on_error=1}
found=0
mkdir -p "$build/fuzz"
golden=(test/golden/*/model.onnx)
run() { # NAME COMMAND...
  echo "== $1"
  "${@:2}" || found=1
}
seed=${FUZZ_SEED:-$(date +%s)}
echo "seed $seed"
run "import" kedge-fuzz-import --seconds "$seconds" --seed "$seed" --save "$build/fuzz/import.onnx" "${golden[@]}"
run "lint, repair, import, folding" kedge-fuzz-compile --seconds "$seconds" --seed "$seed" --save "$build/fuzz/compile.onnx" "${golden[@]}"
run "npy, safetensors, tokens, weights, manifests, adapters" kedge-fuzz-formats --seconds "$seconds" --seed "$seed" --save "$build/fuzz/format.bin"
run "DeepSpeed configurations" kedge-fuzz-deepspeed --seconds "$seconds" --seed "$seed" --save "$build/fuzz/deepspeed.json"
run "hellos and messages of ranks" kedge-fuzz-messages --seconds "$seconds" --seed "$seed" --save "$build/fuzz/messages.bin"
run "IR" python3 test/fuzz/mutate_ir.py test/golden/perceptron/model.onnx "$build/fuzz/ir" --seconds "$seconds" --seed "$seed" -- \
  --shape input=8x10 --loss mse
run "IR of 16-bit programs of several ranks" python3 test/fuzz/mutate_ir.py test/golden/perceptron/model.onnx "$build/fuzz/ranks-ir" \
  --seconds "$seconds" --seed "$seed" -- --shape input=8x10 --loss mse --precision fp16 --ranks 2 --zero 2 --accumulate 2
run "options" python3 test/fuzz/mutate_options.py test/golden/perceptron/model.onnx "$build/fuzz/options" --seconds "$seconds" --seed "$seed" -- \
  --shape input=8x10 --loss mse
exit $found
