#!/usr/bin/env bash
# Builds kedge itself for 64-bit Arm, with Debian's cross compiler (g++-aarch64-linux-gnu) and its LLVM for arm64, and has it, under
# qemu-user, compile and train a golden model: arm_native.sh FOLDER [TRACE-MODEL]. FOLDER keeps packages and build (3 GB, an hour on two
# cores), and needs scripts/setup.sh g++-aarch64-linux-gnu qemu-user. TRACE-MODEL: a folder with model.onnx and trace.json in place of the golden perceptron. No package is installed.
set -euo pipefail
here=$(realpath "$(dirname "$0")/../..")
mkdir -p "$1"
folder=$(realpath "$1") root=$folder/root
packages=(libc6 libgcc-s1 libstdc++6 libllvm22 libmlir-22 libmlir-22-dev llvm-22 llvm-22-dev llvm-22-linker-tools llvm-22-tools
  mlir-22-tools zlib1g zlib1g-dev libzstd1 libzstd-dev libxml2 libxml2-dev libicu72 liblzma5 libedit2 libedit-dev libbsd0 libmd0
  libtinfo6 libffi8 libffi-dev libz3-4 libfmt9 libfmt-dev libprotobuf32 libprotobuf-lite32 libprotobuf-dev libgtest-dev libgmock-dev
  libbenchmark1debian libbenchmark-dev libopenmpi3 libopenmpi-dev)
if [ ! -e "$root/complete" ]; then
  mkdir -p "$folder/debs" "$folder/lists/partial" "$root"
  apt=(-oAPT::Architecture=arm64 -oAPT::Architectures=arm64 "-oDir::State::Lists=$folder/lists" -oAPT::Sandbox::User=root)
  apt-get "${apt[@]}" update -qq
  (cd "$folder/debs" && apt-get "${apt[@]}" download -qq "${packages[@]}")
  for package in "$folder"/debs/*.deb; do dpkg -x "$package" "$root"; done
  # What CMake calls at build time has to run here.
  ln -sf "$(command -v mlir-tblgen-22 || echo /usr/lib/llvm-22/bin/mlir-tblgen)" "$root/usr/lib/llvm-22/bin/mlir-tblgen"
  touch "$root/complete"
fi
cat >"$folder/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CXX_FLAGS_INIT "-idirafter /usr/include")
set(CMAKE_FIND_ROOT_PATH $root)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
END
cmake -S "$here" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DKEDGE_AARCH64=OFF \
  "-DCMAKE_TOOLCHAIN_FILE=$folder/toolchain.cmake" "-DLLVM_DIR=$root/usr/lib/llvm-22/lib/cmake/llvm" \
  "-DMLIR_DIR=$root/usr/lib/llvm-22/lib/cmake/mlir" "-DGTest_DIR=$root/usr/lib/aarch64-linux-gnu/cmake/GTest" >/dev/null
cmake --build "$folder/build" --target kedge
# The C++ compiler that an Arm machine would have.
mkdir -p "$folder/bin"
printf '#!/bin/sh\nexec aarch64-linux-gnu-g++ -B/usr/lib/llvm-22/bin "$@"\n' >"$folder/bin/c++"
chmod +x "$folder/bin/c++"
arm() {
  qemu-aarch64 -L "$root" -E "PATH=$folder/bin:$PATH" \
    -E "LD_LIBRARY_PATH=$root/lib/aarch64-linux-gnu:$root/usr/lib/aarch64-linux-gnu:$root/usr/lib/llvm-22/lib" "$@"
}
model=$(realpath "${2:-$here/test/golden/perceptron}")
python3 - "$model" >"$folder/words" <<'END'
import json
import sys

trace = json.load(open(f"{sys.argv[1]}/trace.json"))
run = next(iter(trace["runs"].values())) if "runs" in trace else trace
print(*run["compile"])
print(*run["run"], *(f"--data {name}={sys.argv[1]}/{file}" for name, file in trace["data"].items()))
print(*run["loss"])
END
{ read -ra compile && read -ra train && read -ra losses; } <"$folder/words"
arm "$folder/build/bin/kedge" --version
arm "$folder/build/bin/kedge" compile "$model/model.onnx" "${compile[@]}" --embed-weights -o "$folder/program"
rm -f "$folder/log.jsonl"
arm "$folder/program" "${train[@]}" --log "$folder/log.jsonl" 2>/dev/null
python3 - "$folder/log.jsonl" "${losses[@]}" <<'END'
import json
import sys

found, wanted = [json.loads(line)["loss"] for line in open(sys.argv[1])], [float(word) for word in sys.argv[2:]]
worst = max(abs(a - b) / abs(b) for a, b in zip(found, wanted, strict=True))
print(f"{len(found)} steps, losses at most {worst:.1e} from PyTorch's")
sys.exit(worst > 1e-5)
END
