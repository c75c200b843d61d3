#!/usr/bin/env python3
"""Each call in this process and in one of its own: in_process.py FOLDER GOLDEN GPT."""
import os
import pathlib
import shutil
import signal
import sys
import threading
import time
import warnings

import kedge_compiler as kedge

OUT, GOLDEN = map(pathlib.Path, sys.argv[1:3])
MODEL, GPT = GOLDEN / "perceptron/model.onnx", sys.argv[3]
SHAPE = {"input": (8, 10)}
WAYS = (True, False)


def both(call):
    one, other = (call(way) for way in WAYS)
    assert one == other, (one, other)
    return one


def program(way, model=MODEL, shape=SHAPE, folder=None, **options):
    return kedge.compile(model, shape=shape, folder=folder, in_process=way, **options)


def bytes_of(way, **options):
    made = program(way, **options)  # its folder goes with it
    return made.path.read_bytes()


def refused(way, call):
    try:
        call(way)
    except kedge.KedgeError as error:
        return type(error), str(error)
    raise AssertionError("nothing was raised")


def answers():
    both(lambda way: bytes_of(way, loss="mse"))
    both(lambda way: bytes_of(way, loss="mse", precision="bf16", optimizer="sgd", momentum=0.9))
    both(lambda way: kedge.plan(MODEL, shape=SHAPE, loss="mse", optimizer="adamw", in_process=way))
    assert both(lambda way: kedge.lint(MODEL, in_process=way))
    print("programs, reports and findings: the same bytes")


def errors():
    wrong = OUT / "wrong.onnx"
    wrong.write_bytes(b"no model")
    calls = [lambda way: program(way, loss="mze"), lambda way: program(way, loss="mse", no_such_option=1),
             lambda way: program(way, loss="mse", freeze="nothing.of.this.name"), lambda way: kedge.plan(wrong, shape=SHAPE, loss="mse", in_process=way),
             lambda way: kedge.plan(MODEL, shape=SHAPE, loss="mse", memory_budget="100B", in_process=way),
             lambda way: program(way, shape={"other": (8, 10)}, loss="mse")]
    for call in calls:
        both(lambda way: refused(way, call))
    print(f"{len(calls)} errors: the same class and text")


def notes():
    def noted(way, **options):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = program(way, model=GOLDEN / "convnet/model.onnx", shape={"pixels": (6, 3, 10, 10)}, loss="cross-entropy", **options)
        return made.notes, [(one.category, str(one.message), one.filename) for one in caught]

    mended, none = both(noted)
    assert len(mended) == 1 and not none, (mended, none)
    left = both(lambda way: noted(way, train_mode="off"))[0]
    assert left[0].startswith("note[frozen-batchnorm] 2 "), left
    print("notes: the same")


def threads():
    made = {}
    workers = [threading.Thread(target=lambda key=key: made.update({key: bytes_of(True, loss="mse")})) for key in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert made[0] == made[1] == bytes_of(False, loss="mse")
    print("two threads: the same bytes")


def interrupt():
    def compiled():
        folder = OUT / "interrupted"
        return program(True, model=GPT, shape={"input_ids": (8, 128)}, folder=folder, loss="cross-entropy", kernel_cache=str(OUT / "cold"))

    began = time.monotonic()
    compiled()
    whole = time.monotonic() - began
    shutil.rmtree(OUT / "interrupted")
    shutil.rmtree(OUT / "cold")
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, min(0.05, whole / 4))
    try:
        compiled()
    except KeyboardInterrupt:
        assert not list((OUT / "interrupted").iterdir()), list((OUT / "interrupted").iterdir())
        assert compiled().path.exists()
        print("Ctrl-C: at once, and nothing is left")


def choices():
    for word in ("2", "1"):
        os.environ["KEDGE_IN_PROCESS"] = word
        try:
            print(kedge.version())
        except kedge.KedgeValueError as error:
            print(error)
    os.environ["KEDGE_BIN"] = str(OUT / "none/bin")  # tools alone
    (OUT / "none/bin/kedge").write_text("#!/bin/sh\necho a process\n")
    (OUT / "none/bin/kedge").chmod(0o755)
    try:
        kedge.version()
    except kedge.KedgeFileNotFoundError as error:
        print(error)
    del os.environ["KEDGE_IN_PROCESS"]
    print(kedge.version())
    for folder in (kedge.include, kedge.cmake_dir):
        try:
            folder()
        except kedge.KedgeFileNotFoundError as error:
            print(error)


answers()
errors()
notes()
threads()
interrupt()
choices()
