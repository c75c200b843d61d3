// The algorithm table of contract section 6, filled by timing on this machine's GPU.
#pragma once
#include "runtime/program/Program.h"

namespace kedge::rt::cuda {

/// Times the algorithms that cuBLASLt proposes for every product of the program and writes the table of the best to
/// `path`. Throws rt::Error where the program could not run either.
void tuneProgram(const Program &program, const std::string &path);

} // namespace kedge::rt::cuda
