#!/usr/bin/env python3
"""Differentiable functions of jax.lax as jax2onnx writes them, gradients beside JAX': lax_operators.py make|judge OUT [REGEX].

Each operand is a product of the input x and a weight of its own, moved into the function's domain; the loss is a weighted sum of the result. So the gradients of
these weights are those of the function's operands. `make` needs jax and jax2onnx, `judge` numpy, onnx, and kedge in PATH. Prints right, refused, not exported, wrong.
"""
import json
import pathlib
import re
import subprocess
import sys
import warnings

import numpy as np

warnings.filterwarnings("ignore")
INPUT = 3
PLAIN, UNIT, POSITIVE, ABOVE = (lambda v: v), (lambda v: 0.8 * v / (1 + abs(v))), (lambda v: 0.5 + v * v), (lambda v: 1.2 + v * v)


def functions(lax, jnp):
    """Name -> function, shapes of operands, domain."""
    at = {"cond": lambda a, b: lax.cond(a.sum() > 0, lambda u, v: u * v, lambda u, v: u + v, a, b), "fori_loop": lambda a: lax.fori_loop(0, 3, lambda k, v: jnp.sin(v) + v, a),
          "scan": lambda a: lax.scan(lambda c, v: (c + v * c, c * 0.5), a[0], a)[1], "map": lambda a: lax.map(lambda v: v * v.sum(), a)}
    rows = {name: (getattr(lax, name), [(2, 3)], PLAIN) for name in
            "abs atan asinh cos cosh erf erfc exp exp2 expm1 logistic neg sign sin sinh square tan tanh floor ceil".split()}
    rows.update({name: (getattr(lax, name), [(2, 3)], UNIT) for name in "acos asin atanh erf_inv".split()})
    rows.update({name: (getattr(lax, name), [(2, 3)], POSITIVE) for name in "cbrt digamma lgamma log log1p rsqrt sqrt".split()})
    rows["acosh"] = (lax.acosh, [(2, 3)], ABOVE)
    rows.update({name: (getattr(lax, name), [(2, 3), (2, 3)], PLAIN) for name in "add mul sub max min atan2".split()})
    rows.update({name: (getattr(lax, name), [(2, 3), (2, 3)], POSITIVE) for name in "div pow rem".split()})
    rows.update({name: (lambda a, f=getattr(lax, name): f(a, axis=1), [(2, 4)], UNIT) for name in "cumsum cumprod cummax cummin cumlogsumexp".split()})
    rows.update({name: (function, [(3, 2)] * (2 if name == "cond" else 1), PLAIN) for name, function in at.items()})
    index = np.array([[0], [2], [0]], "i4")
    scatter = lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    gather = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    unique = np.array([[0], [2]], "i4")
    rows.update({
        "integer_pow": (lambda a: lax.integer_pow(a, 3), [(2, 3)], PLAIN), "clamp": (lambda a: lax.clamp(-0.3, a, 0.4), [(2, 3)], PLAIN),
        "concatenate": (lambda a, b: lax.concatenate([a, b], 1), [(2, 3), (2, 1)], PLAIN), "dot": (lax.dot, [(2, 3), (3, 4)], PLAIN),
        "batch_matmul": (lax.batch_matmul, [(2, 3, 2), (2, 2, 4)], PLAIN),
        "dot_general": (lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,)))), [(2, 3, 4), (2, 4, 2)], PLAIN),
        "broadcast": (lambda a: lax.broadcast(a, (2,)), [(2, 3)], PLAIN), "broadcast_in_dim": (lambda a: lax.broadcast_in_dim(a, (2, 3, 4), (0, 2)), [(2, 4)], PLAIN),
        "reshape": (lambda a: lax.reshape(a, (3, 2)), [(2, 3)], PLAIN), "rev": (lambda a: lax.rev(a, (1,)), [(2, 3)], PLAIN),
        "transpose": (lambda a: lax.transpose(a, (1, 0, 2)), [(2, 3, 2)], PLAIN), "squeeze": (lambda a: lax.squeeze(a, (1,)), [(2, 1, 3)], PLAIN),
        "expand_dims": (lambda a: lax.expand_dims(a, (1,)), [(2, 3)], PLAIN), "slice": (lambda a: lax.slice(a, (0, 1), (2, 5), (1, 2)), [(2, 6)], PLAIN),
        "slice_in_dim": (lambda a: lax.slice_in_dim(a, 1, 3, axis=1), [(2, 4)], PLAIN), "dynamic_slice": (lambda a: lax.dynamic_slice(a, (0, 1), (2, 2)), [(2, 4)], PLAIN),
        "dynamic_update_slice": (lambda a, b: lax.dynamic_update_slice(a, b, (0, 1)), [(2, 4), (2, 2)], PLAIN),
        "pad": (lambda a: lax.pad(a, np.float32(0.5), ((0, 1, 0), (1, 0, 1))), [(2, 3)], PLAIN), "pad negative": (lambda a: lax.pad(a, np.float32(0), ((0, 0, 0), (-1, 2, 0))), [(2, 4)], PLAIN),
        "select": (lambda a, b: lax.select(np.array([[True, False, True]] * 2), a, b), [(2, 3), (2, 3)], PLAIN), "sort": (lambda a: lax.sort(a, dimension=1), [(2, 4)], PLAIN),
        "top_k": (lambda a: lax.top_k(a, 2)[0], [(2, 4)], PLAIN), "reduce sum": (lambda a: lax.reduce(a, np.float32(0), lax.add, (1,)), [(2, 4)], PLAIN),
        "reduce max": (lambda a: lax.reduce(a, np.float32(-np.inf), lax.max, (1,)), [(2, 4)], PLAIN), "reduce min": (lambda a: lax.reduce(a, np.float32(np.inf), lax.min, (0,)), [(2, 4)], PLAIN),
        "reduce prod": (lambda a: jnp.prod(a, 1), [(2, 4)], PLAIN),
        "reduce_window max": (lambda a: lax.reduce_window(a, -np.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"), [(1, 2, 4, 4)], PLAIN),
        "reduce_window sum": (lambda a: lax.reduce_window(a, 0.0, lax.add, (1, 1, 2, 2), (1, 1, 1, 1), "SAME"), [(1, 2, 4, 4)], PLAIN),
        "conv": (lambda a, b: lax.conv(a, b, (1, 1), "SAME"), [(1, 2, 5, 5), (3, 2, 3, 3)], PLAIN),
        "conv_general_dilated": (lambda a, b: lax.conv_general_dilated(a, b, (2, 1), ((1, 0), (0, 2)), rhs_dilation=(1, 2)), [(1, 2, 6, 6), (3, 2, 2, 2)], PLAIN),
        "conv_general_dilated groups": (lambda a, b: lax.conv_general_dilated(a, b, (1, 1), "VALID", feature_group_count=2), [(1, 4, 5, 5), (4, 2, 3, 3)], PLAIN),
        "conv_general_dilated lhs": (lambda a, b: lax.conv_general_dilated(a, b, (1, 1), ((1, 1), (1, 1)), lhs_dilation=(2, 2)), [(1, 2, 4, 4), (3, 2, 3, 3)], PLAIN),
        "conv_transpose": (lambda a, b: lax.conv_transpose(a, b, (2, 2), "SAME"), [(1, 4, 4, 2), (3, 3, 2, 3)], PLAIN),
        "gather": (lambda a: lax.gather(a, index, gather, (1, 2)), [(3, 2)], PLAIN), "scatter": (lambda a, b: lax.scatter(a, unique, b, scatter), [(3, 2), (2, 2)], PLAIN),
        "scatter_add": (lambda a, b: lax.scatter_add(a, index, b, scatter), [(3, 2), (3, 2)], PLAIN), "scatter_mul": (lambda a, b: lax.scatter_mul(a, unique, b, scatter, unique_indices=True), [(3, 2), (2, 2)], PLAIN),
        "stop_gradient": (lambda a: a * lax.stop_gradient(a), [(2, 3)], PLAIN), "reduce_precision": (lambda a: lax.reduce_precision(a, 8, 10), [(2, 3)], PLAIN)})
    return rows


def make(out, regex):
    import jax
    import jax.numpy as jnp
    from jax2onnx import to_onnx
    for name, (function, shapes, domain) in functions(jax.lax, jnp).items():
        if not re.search(regex, name):
            continue
        generator = np.random.default_rng(len(name))
        weights = [generator.standard_normal((INPUT, int(np.prod(shape)))).astype("f4") for shape in shapes]
        x = np.full((1, INPUT), 0.4, "f4")

        def loss(weights, x, scale=None):
            result = function(*[domain(x @ w).reshape(shape) for w, shape in zip(weights, shapes)])
            return (result * (1 + 0.1 * jnp.arange(result.size, dtype=jnp.float32).reshape(result.shape))).sum().reshape(1)
        folder = out / re.sub(r"\W", "-", name)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            value, gradients = loss(weights, x), jax.grad(lambda w: loss(w, x)[0])(weights)
            to_onnx(lambda v: loss(weights, v), inputs=[jax.ShapeDtypeStruct(x.shape, "float32")], return_mode="file", output_path=str(folder / "model.onnx"))
        except Exception as error:
            (folder / "why.txt").write_text(f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:120]}")
            continue
        np.save(folder / "x.npy", x)
        np.savez(folder / "wanted.npz", loss=value, count=len(weights), **{f"w{k}": w for k, w in enumerate(weights)}, **{f"g{k}": g for k, g in enumerate(gradients)})


def judge(folder):
    import onnx
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    from operators import safetensors
    if (folder / "why.txt").exists():
        return "not exported", (folder / "why.txt").read_text()
    wanted, file = np.load(folder / "wanted.npz"), onnx.load(str(folder / "model.onnx"))
    held = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in file.graph.initializer}
    names = [next((name for name, value in held.items() if value.shape == wanted[f"w{k}"].shape and np.array_equal(value, wanted[f"w{k}"])), None) for k in range(int(wanted["count"]))]
    if None in names:
        return "not exported", "a weight is not in the file"
    done = subprocess.run(["kedge", "compile", folder / "model.onnx", "--loss", "none", "--loss-output", file.graph.output[0].name, "--optimizer", "sgd", "--lr", "0.001", "-o",
                           folder / "program"], capture_output=True, text=True)
    if done.returncode:
        return "refused" if done.returncode == 1 else "wrong", " ".join(done.stderr.split())[:300]
    done = subprocess.run([folder / "program", "--data", f"{file.graph.input[0].name}={folder / 'x.npy'}", "--steps", "1", "--threads", "1", "--log", folder / "log.jsonl", "--dump-gradients",
                           folder / "gradients.safetensors", "--dump-step", "0"], capture_output=True, text=True)
    if done.returncode:
        return "wrong", " ".join(done.stderr.split())[:300]
    loss = json.loads((folder / "log.jsonl").read_text().splitlines()[0])["loss"]
    if abs(loss - wanted["loss"][0]) > 1e-4 * max(1, abs(wanted["loss"][0])):
        return "wrong", f"loss {loss} instead of {wanted['loss'][0]}"
    found = safetensors(folder / "gradients.safetensors")
    for k, name in enumerate(names):
        want = wanted[f"g{k}"]
        own = found.get(name, np.zeros_like(want))
        far = np.abs(own - want).max() / max(np.abs(want).max(), 1e-3)
        if not far <= 2e-4:
            return "wrong", f"gradient of operand {k}: {far:.1e} off"
    return "right", ""


def main():
    what, out, regex = sys.argv[1], pathlib.Path(sys.argv[2]), (sys.argv[3:] or ["."])[0]
    if what == "make":
        make(out, regex)
        return
    counts = {}
    for folder in sorted(at for at in out.iterdir() if at.is_dir() and re.search(regex, at.name)):
        outcome, why = judge(folder)
        counts[outcome] = counts.get(outcome, 0) + 1
        print(f"{folder.name}: {outcome} {why}", flush=True)
    print(*(f"{outcome} {counts.get(outcome, 0)}" for outcome in ("right", "refused", "not exported", "wrong")))
    sys.exit(counts.get("wrong", 0) > 0)


if __name__ == "__main__":
    main()
