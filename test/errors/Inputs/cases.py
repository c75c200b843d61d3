"""What the tests of errors share: models with their data, and runs whose words are looked at."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "precision" / "Inputs"))
from small import Small, array, tensors  # noqa: E402, F401


def words(*command, code=0, folder=None):
    """What a command says, after it ended as expected."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=folder)
    assert done.returncode == code, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def expect(text, *pieces):
    for piece in pieces:
        assert piece in text, f"expected '{piece}' in:\n{text}"


def data_of(case):
    return [word for name, path in case.data.items() for word in ("--data", f"{name}={path}")]
