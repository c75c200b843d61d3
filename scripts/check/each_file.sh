#!/usr/bin/env bash
# Compiles rooms file by file, without unity builds and precompiled headers, which hide a missing #include, and asks clang-tidy about each file:
#   scripts/check/each_file.sh [--tidy] ROOM...      such as runtime/calls lib/Analysis passes/Memory
# Its build is build/each. The checks are those of .clang-tidy; the tool is version 22 (pip install 'clang-tidy==22.1.8').
set -euo pipefail
cd "$(dirname "$0")/../.."
version=22
venv=${KEDGE_TEST_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/kedge/test-venv}
tidy=
if [ "${1:-}" = --tidy ]; then
  shift
  for tool in "$venv/bin/clang-tidy" "clang-tidy-$version" "/usr/lib/llvm-$version/bin/clang-tidy" clang-tidy; do
    "$tool" --version 2>/dev/null | grep -q "version $version\." && tidy=$tool && break
  done
  [ -n "$tidy" ] || { echo "scripts/check/each_file.sh: expected clang-tidy $version: pip install 'clang-tidy==22.1.8'" >&2; exit 1; }
fi
[ $# -gt 0 ] || { echo "scripts/check/each_file.sh: expected a folder of sources, such as runtime/calls" >&2; exit 1; }
cmake --preset release -B build/each -DCMAKE_UNITY_BUILD=OFF -DKEDGE_PRECOMPILED_HEADERS=OFF >/dev/null
found=0
for room in "$@"; do
  # Objects by the path of their source: a library may hold several rooms. What a source includes that is made comes first.
  mapfile -t objects < <(ninja -C build/each -t targets all | sed -nE "s#^([^:]*/)?(.*\.cpp\.o): CXX_COMPILER.*#\1\2#p" |
    grep -E "(^|/)CMakeFiles/[^/]+\.dir/" | while read -r object; do
      source=$(sed -E 's#/?CMakeFiles/[^/]+\.dir/#/#; s#\.o$##; s#^/##' <<<"$object")
      case $source in "$room"/*) [ -f "$source" ] && echo "$object" ;; esac
    done)
  [ ${#objects[@]} -gt 0 ] || { echo "$room: found no source that is compiled" >&2; exit 1; }
  ninja -C build/each "${objects[@]}" || found=1
  if [ -n "$tidy" ]; then
    git ls-files "$room/*.cpp" | while read -r source; do grep -qF "$PWD/$source" build/each/compile_commands.json && echo "$source"; done |
      xargs -r -P "$(nproc)" -n 4 "$tidy" -p build/each --quiet 2>/dev/null | grep -E ': (warning|error):' && found=1
  fi
done
[ $found = 0 ] && echo "$*: each file compiles by itself${tidy:+, and clang-tidy has nothing to say}"
exit $found
