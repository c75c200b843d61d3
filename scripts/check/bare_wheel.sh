#!/usr/bin/env bash
# The wheel and the tarball in a bare Linux without a compiler: bare_wheel.sh WHEELS SUITE FOLDER [MIRROR [TORCH]].
# WHEELS is the folder that scripts/wheel.sh writes; SUITE is what debootstrap takes (bullseye, bookworm, trixie, jammy, noble). Makes
# a bare system in FOLDER, installs python3 and numpy and nothing else, and trains with both. pip must refuse the wheel where glibc
# is older than its tag; there the tarball makes programs that hold their own. TORCH: the site-packages of a Python like that system's, with torch and onnxscript;
# README's lines run with them. Needs root.
set -euo pipefail
wheels=$(realpath "$1") suite=$2 folder=$3 mirror=${4:-http://deb.debian.org/debian} torch=${5:-}
repository=$(cd "$(dirname "$0")/../.." && pwd)
components=main
case $suite in jammy | noble) components=main,universe ;; esac # Ubuntu keeps numpy and venv in universe
[ -d "$folder/usr" ] || debootstrap --variant=minbase --components=$components --include=python3,python3-venv,python3-numpy,ca-certificates "$suite" "$folder" "$mirror" >/dev/null
rm -rf "$folder/test" && mkdir -p "$folder/test"
cp "$wheels"/kedge_compiler-*.whl "$wheels"/kedge-*.tar.xz "$folder/test"
cp -r "$repository/test/golden/perceptron" "$folder/test/perceptron"
cat >"$folder/test/train.py" <<'PYTHON'
import json
import kedge_compiler as kedge
import numpy as np
trace = json.load(open("/test/perceptron/trace.json"))
rows = {name: np.load(f"/test/perceptron/{file}") for name, file in trace["data"].items()}
program = kedge.compile("/test/perceptron/model.onnx", shape={"input": (8, 10)}, loss="mse", optimizer="sgd", momentum=0.9)
losses = [step.loss for step in program.run(data=rows, steps=20, lr=0.1)]
assert all(abs(one - other) <= 2e-5 * abs(other) for one, other in zip(losses, trace["loss"])), losses
print("the module: 20 losses as PyTorch's")
PYTHON
mount -t proc proc "$folder/proc"
mkdir -p "$folder/torch"
trap 'umount "$folder/proc"; mountpoint -q "$folder/torch" && umount "$folder/torch"' EXIT
if [ -n "$torch" ]; then
  mount --bind "$torch" "$folder/torch"
  sed -n '/^import torch, kedge_compiler/,/^```/p' "$repository/README.md" | sed '/^```/d' >"$folder/test/readme.py"
fi
chroot "$folder" /bin/sh -eu <<'SHELL'
cd /test
if command -v g++ cc ld >/dev/null; then echo "a compiler is there: this root is not bare" >&2; exit 1; fi
python3 -m venv --system-site-packages venv
libc=--libc=shared
tag=$(ls kedge_compiler-*.whl | sed 's/.*manylinux_2_\([0-9]*\)_.*/\1/')
glibc=$(ldd --version | sed -n '1s/.* 2\.//p')
if [ "$glibc" -ge "$tag" ]; then
  venv/bin/pip install -q --no-index --no-deps kedge_compiler-*.whl
  venv/bin/pip check
  venv/bin/python train.py
  venv/bin/kedge compile perceptron/model.onnx --shape input=8x10 --loss mse -o train # as the README has it
  ./train # what it is, its inputs and an example
  ./train --data input=perceptron/input.npy --data labels=perceptron/labels.npy --steps 3 2>&1 | tail -1
  if [ -f readme.py ]; then
    echo /torch >"$(echo venv/lib/python3*/site-packages)/torch.pth"
    venv/bin/python -W ignore readme.py 2>&1 | tail -1
  fi
elif venv/bin/pip install -q --no-index --no-deps kedge_compiler-*.whl 2>refusal; then
  echo "pip took a wheel for glibc 2.$tag on glibc 2.$glibc" >&2; exit 1
else
  echo "glibc 2.$glibc: pip refuses the wheel, as its tag says"
  libc=--libc=static
fi
tar xf kedge-*.tar.xz 2>/dev/null || python3 -c 'import glob, tarfile; tarfile.open(glob.glob("kedge-*.tar.xz")[0]).extractall()'
kedge-*/bin/kedge compile perceptron/model.onnx --shape input=8x10 --loss mse $libc -o program
./program --data input=perceptron/input.npy --data labels=perceptron/labels.npy --steps 3 2>&1 | tail -1
kedge-*/bin/kedge-opt --version
SHELL
