#!/usr/bin/env bash
# Installs what the build and the tests need on Debian 12, and the packages that are named: setup.sh [PACKAGE...]. Needs root (or
# sudo) when something is missing.
set -euo pipefail
packages=(g++ cmake ninja-build ccache git lld-22 llvm-22-dev libmlir-22-dev mlir-22-tools liblld-22-dev libzstd-dev zlib1g-dev llvm-22-tools
  libprotobuf-dev protobuf-compiler libpng-dev libjpeg-dev libopenmpi-dev openmpi-bin
  libcli11-dev nlohmann-json3-dev libfmt-dev libgtest-dev libgmock-dev libbenchmark-dev libonnx-testdata
  python3 python3-venv zsh fish locales "$@")
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "installing: ${missing[*]}"
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "scripts/setup.sh: expected root or sudo to install them" >&2; exit 1; }
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  unknown=()
  for package in "${missing[@]}"; do apt-cache show "$package" >/dev/null 2>&1 || unknown+=("$package"); done
  if [ ${#unknown[@]} -gt 0 ]; then
    echo "scripts/setup.sh: not in this machine's package sources: ${unknown[*]}" >&2
    echo "Debian 12 has LLVM 22 in bookworm-security: add 'deb http://deb.debian.org/debian-security bookworm-security main'" \
      "to /etc/apt/sources.list" >&2
    exit 1
  fi
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq "${missing[@]}" >/dev/null
fi
