// What a Python runs for kedge diff --against: reference.py MODEL.onnx TRACE PLACES.json OUTPUT ENGINE.
#pragma once

namespace kedge::driver {

/// Reads the inputs that a program's trace holds of its first step, and writes a trace of what the nodes of
/// the model make of them, and of the model's initializers.
inline constexpr char kReferenceScript[] = R"PYTHON(
import json
import sys

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
except ImportError as error:
    sys.exit(f"this Python lacks a package: {error}")

NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "int64": "i64", "int32": "i32", "bool": "bool"}
TYPES = {name: np.dtype(numpy) for numpy, name in NAMES.items()}
model_file, trace_file, places_file, output_file, engine_file = sys.argv[1:]


def plain(raw, record):
    if record["dtype"] == "bf16":
        values = (np.frombuffer(raw, "<u2").astype("u4") << 16).view("f4")
    else:
        values = np.frombuffer(raw, TYPES[record["dtype"]])
    return values.reshape(record["shape"])


def inputs_of_first_step():
    """(function, run) -> inputs by name."""
    runs = {}
    with open(trace_file, "rb") as file:
        for line in file:
            record = json.loads(line)
            if record.get("step", 0) > 0:
                break
            if record["kind"] == "input":
                feeds = runs.setdefault((record["function"], record["run"]), {})
                feeds[record["name"]] = plain(file.read(record["bytes"]), record)
            else:
                file.seek(record["bytes"], 1)
    return runs


def feeds_of(model, inputs):
    given = {tensor.name for tensor in model.graph.initializer}
    feeds = {}
    for value in model.graph.input:
        if value.name in given:
            continue
        if value.name not in inputs:
            sys.exit(f"the program has no input '{value.name}', which the model reads")
        feeds[value.name] = inputs[value.name].astype(onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
    return feeds


def runner(model, names):
    """A function from feeds to values by name, and what computes them."""
    from onnx.reference import ReferenceEvaluator

    def evaluate(feeds):
        return dict(zip(names, ReferenceEvaluator(model).run(names, feeds)))

    try:
        import onnxruntime
    except ImportError:
        return evaluate, f"onnx.reference {onnx.__version__}"
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    known = {value.name for value in wide.graph.output}
    wide.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in known)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(wide.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:  # ops of training, newer opsets
        return evaluate, f"onnx.reference {onnx.__version__}"
    return lambda feeds: dict(zip(names, session.run(names, feeds))), f"onnxruntime {onnxruntime.__version__}"


def write(file, values, **facts):
    values = np.ascontiguousarray(values)
    if values.dtype.name not in NAMES:
        return
    raw = values.tobytes()
    record = {**facts, "dtype": NAMES[values.dtype.name], "shape": list(values.shape), "bytes": len(raw)}
    file.write(json.dumps(record).encode() + b"\n" + raw)


def main():
    model = onnx.load(model_file)
    made = {name for node in model.graph.node for name in node.output}
    places = [entry for entry in json.load(open(places_file)) if entry[0] in made]
    run, engine = runner(model, [entry[0] for entry in places])
    with open(output_file, "wb") as file:
        for tensor in model.graph.initializer:
            write(file, numpy_helper.to_array(tensor), kind="state", step=0, name=tensor.name, read_as=tensor.name)
        for (function, number), inputs in inputs_of_first_step().items():
            values = run(feeds_of(model, inputs))
            for at, (name, place, op, reads) in enumerate(places):
                if isinstance(values[name], np.ndarray):
                    write(file, values[name], kind="value", step=0, run=number, function=function, launch=at, op="onnx." + op,
                          place=place, backward=False, into_state=False, reads=reads)
    open(engine_file, "w").write(engine)


main()
)PYTHON";

} // namespace kedge::driver
