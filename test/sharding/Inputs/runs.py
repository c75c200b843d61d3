"""Compiles and runs small annotated models."""
import json
import os
import pathlib
import subprocess

import numpy as np
import onnx


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def succeed(*words):
    done = run(*words)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


class Case:
    """A model and its data in a folder of its own."""

    def __init__(self, folder, model, *options, samples=16):
        self.folder, self.options = pathlib.Path(folder), ("--loss", "mse", "--optimizer", "sgd", "--lr", "0.1", *options)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / "model.onnx"
        onnx.save(model, self.path)
        random = np.random.default_rng(1)
        self.data = []
        for value, name in ((model.graph.input[0], model.graph.input[0].name), (model.graph.output[0], "labels")):
            shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            np.save(self.folder / f"{name}.npy", random.standard_normal([samples, *shape[1:]]).astype(np.float32))
            self.data += ["--data", f"{name}={self.folder}/{name}.npy"]

    def explain(self, *words):
        return json.loads(succeed("kedge", "shard", self.path, *self.options, "--explain", "--json", *words).stdout)

    def refusal(self, *words, command="compile"):
        """The one error."""
        more = ["-o", self.folder / "none"] if command == "compile" else []
        done = run("kedge", command, self.path, *self.options, *words, *more)
        errors = [line for line in done.stderr.splitlines() if line.startswith("kedge: error: ")]
        assert done.returncode == 1 and len(errors) == 1, (done.returncode, done.stdout, done.stderr)
        return errors[0].removeprefix("kedge: error: ").replace(str(self.path), "MODEL")

    def losses(self, ranks, *words, steps=4):
        program, log = self.folder / "program", self.folder / "log.jsonl"
        succeed("kedge", "compile", self.path, *self.options, *words, "-o", program)
        mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", ranks] if ranks > 1 else []
        log.unlink(missing_ok=True)
        succeed(*mpirun, program, *self.data, "--steps", steps, "--threads", 1, "--log", log)
        return [json.loads(line)["loss"] for line in log.read_text().splitlines()]

    def trains_alike(self, ranks, *words, one=()):
        """Losses on several ranks are those of one."""
        found, expected = self.losses(ranks, *words), self.losses(1, "--configuration", "none", *one)
        for own, other in zip(found, expected, strict=True):
            assert abs(own - other) <= 1e-5 * abs(other), (found, expected)


def collectives(answer, phase=None):
    """(collective, node, elements) of each row."""
    return [(row["collective"], row["node"], row["elements"]) for row in answer["collectives"] if phase in (None, row["phase"])]
