#!/usr/bin/env bash
# Installs what is missing, builds Kedge, and trains a byte-level GPT on the licences that every Debian has.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
scripts/build.sh release kedge kedge_runtime_main
out=build/quickstart
mkdir -p "$out"
# Every byte is a token.
build/release/bin/kedge tokens --tokenizer bytes /usr/share/common-licenses/{Apache-2.0,Artistic,GFDL-1.3,GPL-2,GPL-3,LGPL-2.1,LGPL-3,MPL-2.0} \
  -o "$out/licences.bin"
build/release/bin/kedge tokens --tokenizer bytes /usr/share/common-licenses/MPL-1.1 -o "$out/held-out.bin"
build/release/bin/kedge lint examples/byte-gpt/byte-gpt.onnx
build/release/bin/kedge compile examples/byte-gpt/byte-gpt.onnx --shape input_ids=8x128 --loss cross-entropy \
  --weight-decay-exclude 'bias$|norm' --clip-norm 1 -o "$out/train-byte-gpt"
"$out/train-byte-gpt" --tokens "$out/licences.bin" --eval-tokens "$out/held-out.bin" --eval-every 200 --steps 600 \
  --shuffle 0 --lr 1e-3 --schedule cosine --warmup 50 --min-lr 1e-4 --log "$out/log.jsonl" --export-onnx "$out/byte-gpt-trained.onnx" \
  --sample "The license" --sample-tokens 120 --temperature 0.5 --tokenizer bytes
echo "loss of the first and the last step:"
sed -n -e '1p' -e '$p' "$out/log.jsonl"
echo "trained model: $out/byte-gpt-trained.onnx"
