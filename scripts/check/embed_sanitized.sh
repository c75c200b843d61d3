#!/usr/bin/env bash
# Libraries of --emit lib, their examples and test/embed/side_by_side.cpp under a sanitizer: embed_sanitized.sh thread|address
# Takes the compiler of build/release, and builds the runtime alone with the sanitizer (build/tsan, build/sanitize).
set -euo pipefail
cd "$(dirname "$0")/../.."
case ${1:-} in
thread) preset=tsan flags=-fsanitize=thread ;;
address) preset=sanitize flags=-fsanitize=address,undefined ;;
*) echo "usage: scripts/check/embed_sanitized.sh thread|address" >&2; exit 1 ;;
esac
[ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" >/dev/null
cmake --build "build/$preset" --target kedge_runtime_library
out=build/$preset/embed
rm -rf "$out" && mkdir -p "$out/out"
echo '{ global: kedge_[!kp]*; kedge_predict; *_open; *_open_on; local: *; };' >"$out/exports.map"
golden=test/golden/perceptron examples=examples/learning-program

# library MODEL NAME OPTION...: headers by --emit lib, code by --emit obj, linked with the sanitizer's runtime.
library() {
  local model=$1 name=$2
  shift 2
  build/release/bin/kedge compile "$model" "$@" --emit lib -o "$out/$name"
  build/release/bin/kedge compile "$model" "$@" --emit obj -o "$out/$name.o"
  c++ -shared $flags -o "$out/lib$name.so" "$out/$name.o" "build/$preset/runtime/libkedge_runtime_library.a" \
    "build/$preset/runtime/libkedge_runtime.a" -Wl,-u,kedge_open "-Wl,--version-script=$out/exports.map" "-Wl,--defsym=${name}_open=kedge_open" \
    "-Wl,--defsym=${name}_open_on=kedge_open_on" -lpthread
}
library "$golden/model.onnx" perceptron --shape input=8x10 --loss mse --optimizer sgd --momentum 0.9
library "$examples/taste.onnx" taste --shape features=4x4 --loss mse --optimizer adam
link=("-I$out" "-L$out" "-Wl,-rpath,$PWD/$out" -g $flags)
c++ -std=c++17 test/embed/side_by_side.cpp "${link[@]}" -lperceptron -ltaste -lpthread -o "$out/side-by-side"
cc "$examples/learn.c" "${link[@]}" -ltaste -lm -o "$out/learn-c"
c++ -std=c++17 "$examples/learn.cpp" "${link[@]}" -ltaste -o "$out/learn-cpp"
"$out/side-by-side" "$golden" "$out/out" >"$out/said"
if grep -q -e DIFFER -e 'no error' "$out/said"; then cat "$out/said"; exit 1; fi
for start in 1 2; do "$out/learn-c" "$out/learned" "$examples/taste.onnx" <"$examples/examples.txt"; done
"$out/learn-cpp" "$out/learned" "$out/trained.onnx" "$examples/taste.onnx" <"$examples/examples.txt"
echo "nothing was found by the $1 sanitizer"
