// Registers the library kernels of the CPU runtime. docs/library-kernels.md lists them.
#pragma once

namespace kedge::rt {

/// Registers every CPU kernel; makeKernel and hasKernel call it first. The calls are explicit because the
/// linker drops objects of a static library that nothing refers to, together with their static initialisers.
void registerCpuKernels();

} // namespace kedge::rt
