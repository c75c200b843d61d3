"""A journey of a user, where every line that is read is looked at: a command, its exit code, and its lines, one expression
each. What a command says beyond them, or does not say, fails the test."""
import pathlib
import re
import signal
import subprocess
import sys


class Journey:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.steps = 0

    def walk(self, command, *lines, code=0, stop_after=None):
        """`lines`: expressions of all lines, in order; a tuple (expression, least, most) is a run of lines. `stop_after`: an
        interrupt is sent when so many lines are there."""
        words = [str(word) for word in command]
        running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.folder)
        said = []
        for line in running.stdout:
            said.append(line.rstrip("\n"))
            if len(said) == stop_after:
                running.send_signal(signal.SIGINT)
        text = " ".join(words) + "\n" + "\n".join(said)
        assert running.wait() == code, f"exit {running.returncode}, expected {code}: {text}"
        rest = list(said)
        for line in lines:
            expression, least, most = line if isinstance(line, tuple) else (line, 1, 1)
            taken = 0
            while rest and taken < most and re.fullmatch(expression, rest[0]):
                rest.pop(0)
                taken += 1
            assert taken >= least, f"expected '{expression}' {least} times, found {taken} of it before '{rest[:1]}' in: {text}"
        assert not rest, f"not expected: {rest} in: {text}"
        self.steps += 1
        return said
