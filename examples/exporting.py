"""The export to train from, for the models of this folder. Needs torch and onnxscript from PyPI."""
import onnx
import torch


def export(model, example, path, names, output, shapes):
    """`optimize=False` keeps every parameter under its name, as a tensor of its own."""
    torch.onnx.export(model.train(), example, path, dynamo=True, optimize=False, opset_version=20, external_data=False,
                      input_names=names, output_names=[output], dynamic_shapes=shapes)
    stored = onnx.load(path)
    for node in stored.graph.node:  # where each node came from on this machine: of no use elsewhere, and most of the file
        kept = [p for p in node.metadata_props if p.key != "pkg.torch.onnx.stack_trace"]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(stored, path)
    print(path, path.stat().st_size, "bytes")
