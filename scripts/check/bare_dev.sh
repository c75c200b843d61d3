#!/usr/bin/env bash
# The packages kedge and kedge-dev in a bare Debian 12: bare_dev.sh PACKAGES FOLDER [PYTHON]
# PACKAGES is what cpack writes to. Makes the root in FOLDER by debootstrap (root and the network are needed), installs both packages and
# what a plugin is built with, and no source. There it builds examples/out-of-tree (a pass, and an op with its gradient), trains a model of
# that op, and builds examples/application, which then runs without Kedge. PYTHON (numpy, onnx) writes the model before, and compares
# gradients and losses with the formula afterwards.
set -euo pipefail
packages=$(realpath "$1") root=$(realpath -m "$2") python=${3:-python3}
repository=$(cd "$(dirname "$0")/../.." && pwd)
if [ ! -e "$root/etc/debian_version" ]; then
  debootstrap --variant=minbase --include=ca-certificates bookworm "$root" >"$root.log" 2>&1 || { tail "$root.log"; exit 1; }
fi
echo "deb http://deb.debian.org/debian-security bookworm-security main" >"$root/etc/apt/sources.list.d/security.list"
rm -rf "$root/root/work" && mkdir -p "$root/root/work"
cp "$packages"/kedge_*.deb "$root/root/kedge.deb"
cp "$packages"/kedge-dev_*.deb "$root/root/kedge-dev.deb"
cp "$repository/test/golden/perceptron/model.onnx" "$root/root/work/perceptron.onnx"
"$python" "$repository/test/extending/Inputs/snake.py" --write "$root/root/work"
cat >"$root/root/walk.sh" <<'WALK'
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends /root/kedge.deb /root/kedge-dev.deb cmake make libmlir-22-dev llvm-22-dev mlir-22-tools >/dev/null
cd /root/work
cp -r /usr/share/doc/kedge/examples .
ls /root/work/examples/*/CMakeLists.txt
cmake -S examples/out-of-tree -B plugins >log && cmake --build plugins >>log || { tail -20 log; exit 1; }
common="--loss mse --optimizer sgd"
kedge compile perceptron.onnx --shape input=8x10 $common --emit train --with-places -o step.mlir
kedge-opt step.mlir --load-pass-plugin=plugins/count-ops.so --count-ops -o same.mlir 2>&1 | grep -m1 products
kedge compile perceptron.onnx --shape input=8x10 $common --load-pass-plugin plugins/count-ops.so --passes-after 'step=func.func(count-ops)' \
  -o perceptron 2>&1 | grep products
kedge compile snake.onnx $common --load-pass-plugin plugins/snake.so -o train-snake
./train-snake --data x=x.npy --data labels=y.npy --steps 12 --shuffle 0 --lr 0.05 --log losses --dump-gradients gradients.safetensors 2>/dev/null
cmake -S examples/application -B application >log && cmake --build application >>log || { tail -20 log; exit 1; }
cmake -S examples/application -B held -DTASTE_STATIC=ON >log && cmake --build held >>log || { tail -20 log; exit 1; }
mkdir moved && cp application/learn-c application/learn-cpp application/taste/libtaste.so moved
cp held/learn-c moved/held-c && cp held/learn-cpp moved/held-cpp
# The installed tree, moved: the same files, found where they are.
mkdir -p away/share && cp -r /usr/include/kedge away/ && mkdir away/include && mv away/kedge away/include
mkdir away/bin away/lib && cp /usr/bin/kedge* away/bin && cp -r /usr/lib/kedge /usr/lib/libkedge-compiler.so* away/lib
mkdir away/lib/cmake && cp -r /usr/lib/cmake/Kedge away/lib/cmake
apt-get remove -y -qq kedge kedge-dev >/dev/null
if [ -e /usr/bin/kedge ] || [ -e /usr/include/kedge ] || [ -e /usr/lib/kedge ]; then echo "the packages left something"; exit 1; fi
echo "the packages are gone"
cmake -S examples/application -B again -DCMAKE_PREFIX_PATH=/root/work/away >log && cmake --build again >>log || { tail -20 log; exit 1; }
echo "built against the moved tree: $(again/learn-c)"
cmake -S examples/out-of-tree -B plugins-again -DCMAKE_PREFIX_PATH=/root/work/away >log && cmake --build plugins-again >>log || { tail -20 log; exit 1; }
away/bin/kedge compile snake.onnx $common --load-pass-plugin plugins-again/snake.so -o away/train-snake
cmp away/train-snake train-snake && echo "compiled by the moved tree: the same program"
rm -r again away application held
for program in learn-c learn-cpp held-c held-cpp; do echo "$program: $(moved/$program)"; done
WALK
cp /etc/resolv.conf "$root/etc/resolv.conf"
# /proc, /sys and /dev as on a machine; gone with this process.
unshare --mount bash -c 'mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev" && exec chroot "$0" bash /root/walk.sh' "$root"
"$python" "$repository/test/extending/Inputs/snake.py" --compare "$root/root/work"
