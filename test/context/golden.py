"""The golden gpt, compiled and run on meshes with an axis `context`."""
import json
import pathlib
import subprocess

ROWS, LENGTH, WIDTH, LAYERS = 4, 24, 32, 2


class Golden:
    def __init__(self, model, folder):
        self.model, self.folder = pathlib.Path(model), pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.data = [word for name in ("input_ids", "labels") for word in ("--data", f"{name}={self.model / name}.npy")]

    def do(self, *command):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-3000:])
        return done.stdout

    def options(self, rows):
        return [self.model / "model.onnx", "--shape", f"input_ids={rows}x{LENGTH}", "--loss", "cross-entropy", "--clip-norm", 0.7]

    def compile(self, name, *options, rows=ROWS):
        self.do("kedge", "compile", *self.options(rows), *options, "-o", self.folder / name)
        return self.folder / name

    def launched(self, program, ranks, *options):
        before = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", ranks] if ranks > 1 else []
        return [str(word) for word in (*before, program, *self.data, "--threads", 1, "--lr", 0.003, *options)]

    def run(self, program, *options, ranks=1):
        """Losses and norms."""
        log = self.folder / "log.jsonl"
        self.do(*self.launched(program, ranks, "--log", log, *options))
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return [line["loss"] for line in lines], [line["grad_norm"] for line in lines]

    def refused(self, *options):
        done = subprocess.run([str(word) for word in ("kedge", "plan", *self.options(ROWS), *options)], capture_output=True, text=True)
        assert done.returncode == 1, (options, done.returncode, done.stderr)
        return done.stderr


def check(found, wanted, what):
    for own, other, bound in zip(found, wanted, (1e-5, 1e-4)):
        assert len(own) == len(other), what
        worst = max(abs(a - b) / abs(b) for a, b in zip(own, other))
        assert worst < bound, (what, worst)
