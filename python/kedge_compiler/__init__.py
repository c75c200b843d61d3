"""Kedge for Python: export a PyTorch model, plan its memory, compile it to a native program, train it, take the weights back.

    import kedge_compiler as kedge
    kedge.fit(model, inputs, targets, epochs=3)             # all below in one call

    kedge.export(model, (tokens,), "gpt.onnx")
    program = kedge.compile("gpt.onnx", shape={"input_ids": (8, 128)}, loss="cross-entropy")
    program.run(tokens=tokens, steps=100, lr=1e-3)
    model.load_state_dict(program.state_dict())

Arrays are numpy's. `export` needs torch and onnxscript; nothing else does.
"""
from ._building import cmake_dir, include
from ._export import export
from ._keras import to_keras
from ._onnx import initializers
from ._fit import fit
from ._history import History, StepResult
from ._program import Program, compile, lint, load_torch_optimizer, plan, torch_optimizer_state
from ._session import Session
from ._errors import KedgeError, KedgeFileNotFoundError, KedgeKeyError, KedgeTypeError, KedgeValueError, KedgeWarning
from ._tools import tool_version as version

__all__ = ["cmake_dir", "include", "export", "fit", "to_keras", "initializers", "lint", "plan", "compile", "Program", "Session", "History", "StepResult",
           "torch_optimizer_state", "load_torch_optimizer", "KedgeError", "KedgeFileNotFoundError", "KedgeKeyError", "KedgeTypeError",
           "KedgeValueError", "KedgeWarning", "version"]
