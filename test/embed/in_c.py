"""Trains a golden model by --emit c and by the program for this processor: in_c.py GOLDEN_FOLDER OUT [--lax] [OPTION VALUE OF COMPILE...].

The C file is compiled as -std=c11 -Wall -Wextra -Werror, loaded, and given the same rows and rates. Losses, gradient norms and weights are equal to
the bit; with --lax, for models that the processor sums in another order, losses within 1e-5, norms of weights within
1e-3 and of vectors within 1e-2 (a key's bias, and one before a normalization, have no gradient but rounding).
"""
import ctypes
import json
import math
import pathlib
import re
import struct
import subprocess
import sys

TYPES = {"float": ctypes.c_float, "double": ctypes.c_double, "int64_t": ctypes.c_int64, "int32_t": ctypes.c_int32}


class Rates(ctypes.Structure):
    _fields_ = [(name, ctypes.c_double) for name in ("lr", "beta1", "beta2", "eps", "weight_decay", "momentum", "clip_norm")] + [("seed", ctypes.c_int64)]


class Result(ctypes.Structure):
    _fields_ = [("loss", ctypes.c_double), ("grad_norm", ctypes.c_double)]


def array_of(path):
    """Bytes of a row, rows, and the bytes of a .npy file."""
    raw = pathlib.Path(path).read_bytes()
    length, = struct.unpack("<H", raw[8:10])
    shape = [int(size) for size in re.search(rb"'shape': \(([^)]*)\)", raw[:10 + length]).group(1).replace(b" ", b"").split(b",") if size]
    data = raw[10 + length:]
    return len(data) // shape[0], shape[0], data


def tensors_of(path):
    raw = pathlib.Path(path).read_bytes()
    size, = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + size])
    return {name: raw[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]]
            for name, entry in header.items() if name != "__metadata__"}


def by_program(folder, trace, out):
    program, log, weights = out / "program", out / "log.jsonl", out / "trained.safetensors"
    subprocess.run(["kedge", "compile", folder / "model.onnx", *trace["compile"], "-o", program], check=True)
    data = [word for name, file in trace["data"].items() for word in ("--data", f"{name}={folder / file}")]
    subprocess.run([program, *data, *trace["run"], "--log", log, "--export-safetensors", weights], check=True)
    return [json.loads(line) for line in log.read_text().splitlines()], tensors_of(weights)


class InC:
    def __init__(self, folder, trace, out, flags=("-O1",)):
        source, library = out / "learner.c", out / "learner.so"
        subprocess.run(["kedge", "compile", folder / "model.onnx", *trace["compile"], "--emit", "c", "-o", source], check=True)
        subprocess.run(["cc", "-std=c11", *flags, "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-shared", "-fPIC", source, "-o", library, "-lm"],
                       check=True)
        self.header = (out / "learner.h").read_text()
        self.library = ctypes.CDLL(str(library.resolve()))
        self.batch = int(re.search(r"learner_batch = (\d+)", self.header).group(1))
        self.inputs = re.search(r"int learner_step\((.*), struct", self.header).group(1).split(", ")
        self.rates = Rates.in_dll(self.library, "learner_rates")
        self.library.learner_start()

    def step(self, rows):
        result, arguments = Result(), []
        for argument in self.inputs:
            name = argument.split("*in_")[1]
            arguments.append(ctypes.create_string_buffer(rows[name], len(rows[name])))
        code = self.library.learner_step(*arguments, ctypes.byref(result))
        assert code == 0, f"input {code} was refused"
        return result

    def tensors(self):
        arena = re.search(r"learner_arena\[(\d+)\]", self.header).group(1)
        memory = bytes((ctypes.c_ubyte * int(arena)).in_dll(self.library, "learner_arena"))
        found = {}
        for kind, offset, name, shape, rest in re.findall(
                r"#define \w+ \(\((\w+) \*\)\(void \*\)\(learner_arena \+ (\d+)\)\) /\* (.*), \[([\d, ]*)\](.*) \*/", self.header):
            count = math.prod(int(size) for size in shape.split(", ") if size)
            if "transposed" not in rest:
                found[name] = memory[int(offset):int(offset) + count * ctypes.sizeof(TYPES[kind])], shape.count(",") == 0
        return found


def trace_of(folder):
    """Of a golden model, or of one in ../shared, which has several: that with AdamW."""
    trace = json.loads((folder / "trace.json").read_text())
    return {**trace, **(trace["runs"].get("adamw") or next(iter(trace["runs"].values())))} if "runs" in trace else trace


def option(words, flag, default):
    return words[words.index(flag) + 1] if flag in words else default


def replaced(words, given):
    """The options `words`, with the values of `given` in place of their own."""
    options = {words[at]: words[at + 1] for at in range(0, len(words) - 1, 2)} | {given[at]: given[at + 1] for at in range(0, len(given), 2)}
    return [word for pair in options.items() for word in pair] + words[len(words) // 2 * 2:]


def close(name, found, wanted, lax):
    same = struct.pack("<d", found) == struct.pack("<d", wanted) or lax and abs(found - wanted) <= 1e-5 * max(1, abs(wanted))
    assert same, f"{name}: {found!r} in C, {wanted!r} by the program"


def main():
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    given, lax = [word for word in sys.argv[3:] if word not in ("--lax", "--vectors")], "--lax" in sys.argv
    flags = ("-O2", "-march=native") if "--vectors" in sys.argv else ("-O1",)
    out.mkdir(parents=True, exist_ok=True)
    trace = trace_of(folder)
    trace["compile"] = replaced(trace["compile"], given)
    log, weights = by_program(folder, trace, out)
    learner, arrays = InC(folder, trace, out, flags), {name: array_of(folder / file) for name, file in trace["data"].items()}
    betas = option(trace["run"], "--betas", f"{learner.rates.beta1!r},{learner.rates.beta2!r}").split(",")
    learner.rates.beta1, learner.rates.beta2 = map(float, betas)
    learner.rates.weight_decay = float(option(trace["run"], "--weight-decay", learner.rates.weight_decay))
    for line in log:
        rows = {}
        for name, (size, count, data) in arrays.items():
            first = line["step"] * learner.batch % count
            rows[name] = b"".join(data[(first + row) % count * size:][:size] for row in range(learner.batch))
        learner.rates.lr = line["lr"]
        result = learner.step(rows)
        close(f"loss of step {line['step']}", result.loss, line["loss"], lax)
        close(f"gradient norm of step {line['step']}", result.grad_norm, line["grad_norm"], lax)
    compared = 0
    for name, (found, is_vector) in learner.tensors().items():
        if name in weights and len(weights[name]) == len(found):
            compared += 1
            if found != weights[name]:
                assert lax, f"{name} differs"
                numbers = [struct.unpack(f"<{len(values) // 4}f", values) for values in (found, weights[name])]
                norm, wanted = (math.sqrt(sum(value * value for value in values)) for values in numbers)
                assert abs(norm - wanted) <= (1e-2 if is_vector else 1e-3) * max(wanted, 1e-3), f"norm of {name}: {norm} in C, {wanted} by the program"
    print(f"{folder.name}: {len(log)} steps and {compared} tensors {'close to those' if lax else 'to the bit those'} of the program")


if __name__ == "__main__":
    main()
