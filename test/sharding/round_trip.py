#!/usr/bin/env python3
"""What kedge shard writes: round_trip.py GOLDEN TEMP. The file is the model but for the annotations; onnx's checker and, where it is
installed, onnx-ir's accept it; compiled by it, the program is that of --mesh, to the byte."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import onnx


def output(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def without_annotations(path):
    model = onnx.load(path, load_external_data=False)
    model.ir_version = 10
    del model.configuration[:]
    for node in model.graph.node:
        del node.device_configurations[:]
    return model


def through_onnx_ir(path):
    try:
        import onnx_ir
        from onnx_ir import _multi_device
    except ImportError:
        return "not installed"
    model = onnx_ir.load(path)
    assert len(model.device_configurations) == 1, model.device_configurations
    assert _multi_device._check_device_configurations(model) == []
    onnx_ir.save(model, path)
    return "accepted"


def main():
    golden, temp = map(pathlib.Path, sys.argv[1:])
    temp.mkdir(parents=True, exist_ok=True)
    for name, options in (("gpt", ["--shape", "input_ids=4x16", "--loss", "cross-entropy"]),
                          ("perceptron", ["--shape", "input=6x10", "--loss", "mse"])):
        original, model = temp / f"{name}-original.onnx", temp / f"{name}.onnx"
        onnx.save(onnx.load(golden / name / "model.onnx"), original, save_as_external_data=True, location=f"{name}.bin", size_threshold=0)
        for mesh in ("tensor=2", "tensor=4", "data=2,tensor=2"):
            def programs():
                """But for the hash of the file."""
                texts = [output("kedge", "compile", model, *options, "--mesh", mesh, "--emit", stage) for stage in ("train", "exec", "llvm")]
                return [re.sub(r'graph_hash = "[0-9a-f]{16}"', "", text) for text in texts]

            shutil.copyfile(original, model)
            expected = programs()
            written = json.loads(output("kedge", "shard", model, *options, "--mesh", mesh, "-o", model, "--json"))
            assert written["tensors"] > 0 and not written["unsaid"] and not written["follows"], written
            assert without_annotations(model).SerializeToString() == without_annotations(original).SerializeToString()
            onnx.checker.check_model(model)
            ranks = written["devices"] * (2 if "data" in mesh else 1)
            followed = json.loads(output("kedge", "shard", model, *options, "--ranks", ranks, "--check", "--json"))
            assert (followed["follows"], followed["mesh"], followed["check"]) == (mesh, mesh, "passed"), followed
            assert programs() == expected, (name, mesh)
            said = through_onnx_ir(model)
            assert programs() == expected, (name, mesh, said)
            print(f"{name} {mesh}: {written['tensors']} specs, onnx-ir: {said}, the same program", flush=True)


if __name__ == "__main__":
    main()
