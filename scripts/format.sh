#!/usr/bin/env bash
# Formats the sources of the project, or says which are not formatted: format.sh [--check | --version]. Its clang-format is version 22, from
# PyPI, LLVM's packages or the search path.
set -euo pipefail
cd "$(dirname "$0")/.."
version=22
venv=${KEDGE_TEST_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/kedge/test-venv}
for tool in "$venv/bin/clang-format" "clang-format-$version" "/usr/lib/llvm-$version/bin/clang-format" clang-format; do
  "$tool" --version 2>/dev/null | grep -q "version $version\." && break
  tool=
done
[ -n "$tool" ] || { echo "scripts/format.sh: expected clang-format $version: pip install 'clang-format==22.1.8'" >&2; exit 1; }
[ "${1:-}" != --version ] || exec "$tool" --version
git ls-files -z --cached --others --exclude-standard '*.h' '*.cpp' '*.inc' '*.cu' | if [ "${1:-}" = --check ]; then
  # In portions, so that each says its files.
  xargs -0 -n 50 "$tool" --dry-run 2>&1 | sed -n 's/^\([^: ]*\):[0-9]*:[0-9]*: warning: code should be clang-formatted.*/\1/p' | sort -u |
    { grep . && { echo "not formatted (above): run scripts/format.sh" >&2; exit 1; } || echo "all files are formatted"; }
else
  xargs -0 "$tool" -i
fi
