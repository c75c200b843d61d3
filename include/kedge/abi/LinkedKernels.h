// What kernels of others are called in a program's table of kernels.
#pragma once
#include <string>

namespace kedge::abi {

/// `op` is the op that calls it, as "smooth.Smooth". Generated kernels have no space in their names.
inline std::string linkedKernelName(const std::string &op) { return "call " + op; }

} // namespace kedge::abi
