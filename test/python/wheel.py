#!/usr/bin/env python3
"""Installs the wheel of a build and uses it: wheel.py BUILD TEMP GOLDEN. A second process, in the environment that was made, does the
rest: wheel.py TEMP GOLDEN."""
import pathlib
import shutil
import subprocess
import sys
import sysconfig

STEPS = 20


def environment(build, temp):
    wheels = sorted((build / "wheel").glob("*.whl"), key=lambda path: path.stat().st_mtime)
    assert wheels[-1].stat().st_size <= 90e6, wheels[-1].stat().st_size
    print("size: at most 90 MB")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", temp / "venv"], check=True)
    here = temp / "venv/bin"
    site = pathlib.Path(subprocess.run([here / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                                       capture_output=True, text=True, check=True).stdout.strip())
    (site / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    before = files(temp / "venv")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", here / "python"]
    subprocess.run([*pip, "install", "-q", "--no-index", "--no-deps", wheels[-1]], check=True)
    checked = subprocess.run([*pip, "check"], capture_output=True, text=True).stdout
    assert "kedge" not in checked, checked
    alone = {"PATH": str(temp / "nothing")}
    commands = ["kedge", "kedge-opt", "kedge-translate", "kedge-bench"]
    versions = {subprocess.run([here / name, "--version"], capture_output=True, text=True, check=True, env=alone).stdout for name in commands}
    assert len(versions) == 1, versions
    print("installed: 4 commands, pip check is content", flush=True)
    return here, pip, alone, before


def files(folder):
    return {path for path in folder.rglob("*") if "__pycache__" not in path.parts}


def main(build, temp, golden):
    here, pip, alone, before = environment(build, temp)
    subprocess.run([here / "python", __file__, temp / "work", golden], check=True, env=alone)
    application(here, temp, golden.parent.parent / "examples")
    subprocess.run([*pip, "uninstall", "-q", "-y", "kedge_compiler"], check=True)
    assert files(temp / "venv") == before, files(temp / "venv") ^ before
    print("uninstalled: nothing is left")
    shutil.rmtree(temp / "venv")


def application(here, temp, examples):
    """CMake finds the wheel's package, and an application holds a model that learns."""
    code = "import kedge_compiler as kedge; print(kedge.cmake_dir()); print(kedge.include())"
    folders = subprocess.run([here / "python", "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert (pathlib.Path(folders[1]) / "kedge/compiler.h").exists(), folders
    configure = ["cmake", "-S", examples / "application", "-B", temp / "application", f"-DCMAKE_PREFIX_PATH={folders[0]}"]
    subprocess.run(configure, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", temp / "application"], check=True, capture_output=True)
    said = subprocess.run([temp / "application/learn-c"], check=True, capture_output=True, text=True).stdout
    print("application:", said.strip(), flush=True)
    refused = subprocess.run(["cmake", "-S", examples / "out-of-tree", "-B", temp / "plugins", *configure[-1:]], capture_output=True, text=True)
    assert refused.returncode != 0, f"configured, though the wheel has nothing for plugins: {folders[0]}\n{refused.stdout}"
    assert "install kedge and kedge-dev" in " ".join(refused.stderr.split()), refused.stderr


def words_to_options(words):
    """--lr 0.1 is lr=0.1; --shape is an option of its own."""
    options, shape = {}, {}
    for name, value in zip(words, [*words[1:], "--"]):
        if name == "--shape":
            tensor, _, sizes = value.partition("=")
            shape[tensor] = [int(size) for size in sizes.split("x")]
        elif name.startswith("--"):
            options[name[2:].replace("-", "_")] = True if value.startswith("--") else value
    return shape, options


def used(work, golden):
    import json

    import kedge_compiler as kedge
    import numpy as np
    from kedge_compiler import _compiler

    assert _compiler.is_in_process() and _compiler.library().parent.parent.name == "kedge_compiler", _compiler.library()

    def compiled(name):
        trace = json.loads((golden / name / "trace.json").read_text())
        shape, options = words_to_options(trace["compile"])
        rows = {key: np.load(golden / name / file) for key, file in trace["data"].items()}
        run = words_to_options(trace["run"])[1]
        run.pop("steps")
        return kedge.compile(golden / name / "model.onnx", shape=shape, folder=work / name, **options), rows, run, trace

    for name in ("perceptron", "convnet"):
        program, rows, run, trace = compiled(name)
        results = program.run(data=rows, steps=STEPS, **run)
        for result, wanted in zip(results, trace["loss"]):
            assert abs(result.loss - wanted) <= trace["relative"] * max(abs(wanted), 1e-3), (name, result, wanted)
        print(f"{name}: {len(results)} losses, as PyTorch's", flush=True)

    shutil.rmtree(work / "perceptron")
    program, rows, run, trace = compiled("perceptron")
    losses = [result.loss for result in program.run(data=rows, steps=6, **run)]
    with kedge.Session(program._compiled_library(), steps=6, **run) as session:
        assert [session.step(rows).loss for _ in range(3)] == losses[:3]
        state, kept = session.state_dict(), session.optimizer_state()
        assert set(kept) == {f"momentum/{key}" for key in state}, kept
    other = kedge.compile(golden / "perceptron/model.onnx", shape=program_shape(trace), folder=work / "other", **words_to_options(trace["compile"])[1])
    other.load_state_dict(state, optimizer=kept, steps=3)
    assert [result.loss for result in other.run(data=rows, steps=3, **run)] == losses[3:]
    assert all((other.state_dict()[key] == value).all() for key, value in program.state_dict().items())
    with other.session(**run) as session:
        assert session.steps_done == 6
    print("session: the losses of the program to the bit, resumed, and with states of another", flush=True)

    begun = compiled_again(kedge, work, golden, trace)
    begun.run(data=rows, steps=1000000, callback=lambda result: result.step < 2, **run)
    done = begun.steps_done
    assert 3 <= done < 1000000, done
    assert begun.run(data=rows, steps=1, **run)[0].step == done
    print("callback: ended after 3 steps, the next run went on at step 3", flush=True)

    def raises(result):
        raise ArithmeticError("of the callback")

    try:
        begun.run(data=rows, steps=1000000, callback=raises, **run)
    except ArithmeticError:
        assert begun.steps_done > done + 1
        print("interrupt: its own exception, a whole checkpoint", flush=True)
    alone = kedge.compile(golden / "perceptron/model.onnx", shape=program_shape(trace), folder=work / "alone", libc="static",
                          **words_to_options(trace["compile"])[1])
    assert [result.loss for result in alone.run(data=rows, steps=6, **run)] == losses
    print("static: the same losses", flush=True)
    try:
        kedge.compile(golden / "perceptron/model.onnx", shape=program_shape(trace), loss="mze")
    except kedge.KedgeError as error:
        print("error:", error, flush=True)


def program_shape(trace):
    return words_to_options(trace["compile"])[0]


def compiled_again(kedge, work, golden, trace):
    shape, options = words_to_options(trace["compile"])
    return kedge.compile(golden / "perceptron/model.onnx", shape=shape, folder=work / "again", **options)


if __name__ == "__main__":
    given = [pathlib.Path(argument).resolve() for argument in sys.argv[1:]]
    main(*given) if len(given) == 3 else used(*given)
