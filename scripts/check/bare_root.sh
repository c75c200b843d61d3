#!/usr/bin/env bash
# The Debian package in a bare Debian 12: bare_root.sh PACKAGE.deb FOLDER
# Makes the root in FOLDER by debootstrap (root and the network are needed), installs the package with what it depends on,
# trains the README's model, stops, resumes, exports, builds and runs the example in C and C++, and removes the package.
set -euo pipefail
package=$(realpath "$1") root=$(realpath -m "$2")
if [ ! -e "$root/etc/debian_version" ]; then
  debootstrap --variant=minbase --include=ca-certificates bookworm "$root" >"$root.log" 2>&1 || { tail "$root.log"; exit 1; }
fi
echo "deb http://deb.debian.org/debian-security bookworm-security main" >"$root/etc/apt/sources.list.d/security.list"
cp "$package" "$root/root/kedge.deb"
cat >"$root/root/walk.sh" <<'WALK'
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
cd /root
apt-get update -qq
apt-get install -y -qq --no-install-recommends ./kedge.deb pkg-config >/dev/null
kedge --version
examples=/usr/share/doc/kedge/examples
perl -0777 -ne 'print pack("v*", unpack("C*", $_))' /usr/share/common-licenses/GPL-3 >licence.bin
kedge lint $examples/byte-gpt/byte-gpt.onnx
kedge compile $examples/byte-gpt/byte-gpt.onnx --shape input_ids=8x128 --loss cross-entropy \
  --weight-decay-exclude 'bias$|norm' --clip-norm 1 -o train-byte-gpt
./train-byte-gpt --version
run=(--tokens licence.bin --shuffle 0 --lr 1e-3 --steps 40 --checkpoint-dir ck)
# Stopped in the middle by a signal, it saves what it has; the next run goes on.
timeout --preserve-status -s TERM 4 ./train-byte-gpt "${run[@]}" || echo "stopped with exit code $?"
./train-byte-gpt "${run[@]}" --resume --export-onnx trained.onnx --export-safetensors trained.safetensors
./train-byte-gpt --tokens licence.bin --lr 1e-4 --steps 3 --weights trained.safetensors --export-onnx tuned.onnx
kedge lint tuned.onnx
cp -r $examples/learning-program . && cd learning-program
kedge compile taste.onnx --shape features=4x4 --loss mse --optimizer adam --emit lib -o taste
export PKG_CONFIG_PATH=.
cc learn.c -o learn-c $(pkg-config --cflags --libs taste) -lm -Wl,-rpath,'$ORIGIN'
c++ -std=c++17 learn.cpp -o learn-cpp $(pkg-config --cflags --libs taste) -Wl,-rpath,'$ORIGIN'
./learn-c learned <examples.txt
./learn-c learned <examples.txt
./learn-cpp learned trained.onnx <examples.txt
apt-get remove -y -qq kedge >/dev/null
[ ! -e /usr/bin/kedge ] && [ ! -e /usr/lib/kedge ] && echo "the package is gone"
WALK
cp /etc/resolv.conf "$root/etc/resolv.conf"
# /proc, /sys and /dev as on a machine; gone with this process.
unshare --mount bash -c 'mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev" && exec chroot "$0" bash /root/walk.sh' "$root"
