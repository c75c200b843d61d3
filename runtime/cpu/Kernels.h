// Where the library kernels of the CPU runtime enter the registry. docs/library-kernels.md lists them.
#pragma once

namespace kedge::rt {

/// Registers every CPU kernel; makeKernel and hasKernel call it before their first look. Explicit calls,
/// because static initialisers of a static library are dropped with the objects that nobody names.
void registerCpuKernels();

} // namespace kedge::rt
