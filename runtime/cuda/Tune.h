// Fills the algorithm table (docs/guide/cuda.md) by timing on this machine's GPU.
#pragma once
#include "runtime/program/Program.h"

namespace kedge::rt::cuda {

/// Times the algorithms that cuBLASLt proposes for every product of the program, and writes a
/// table of the fastest to `path`. Throws rt::RuntimeError if the program could not run on this machine.
void tuneProgram(const Program &program, const std::string &path);

} // namespace kedge::rt::cuda
