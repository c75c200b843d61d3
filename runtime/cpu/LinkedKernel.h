// Kernels of others, which the program is linked with (include/kedge/kernel.h).
#pragma once
#include "kedge/kernel.h"
#include "runtime/calls/LibraryKernel.h"

namespace kedge::rt::cpu {

/// Runs `function` in at most `iterations` parts on `threads` threads. Throws rt::RuntimeError for operands
/// or attributes that C has no form for.
std::unique_ptr<calls::LibraryKernel> makeLinkedKernel(const calls::LibraryCall &call, kedge_kernel function,
                                                       int64_t iterations, int threads);

} // namespace kedge::rt::cpu
