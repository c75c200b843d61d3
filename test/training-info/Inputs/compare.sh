# compare.sh PYTHON KIND FOLDER: make, compile, train, compare with numpy.
set -e
here=$(dirname "$0")
make=$here/regression.py
rm -rf "$3" && mkdir -p "$3"
"$1" "$make" make "$2" "$3/m.onnx" "$3/x.npy"
kedge compile "$3/m.onnx" --shape x=8x3 --loss none --loss-output a_loss -o "$3/program"
data="--data x=$3/x.npy --data t=$3/x.npy.t.npy"
"$3/program" $data --steps 6 --log "$3/log.jsonl" --export-onnx "$3/out.onnx"
"$1" "$make" check "$2" "$3/x.npy" "$3/log.jsonl" "$3/out.onnx"
# Stopped and resumed it goes on with its variables, counters included.
"$3/program" $data --steps 2 --checkpoint-dir "$3/saved" > "$3/first.txt"
"$3/program" $data --steps 6 --checkpoint-dir "$3/saved" --resume --export-onnx "$3/resumed.onnx" > "$3/second.txt"
cmp "$3/out.onnx" "$3/resumed.onnx"
