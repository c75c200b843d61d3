// Registers the library kernels of the CPU runtime. docs/library-kernels.md lists them.
#pragma once

namespace kedge::rt {

/// Registers the kernels of this program's table; makeKernel and hasKernel call it first. The table is
/// explicit because the linker drops objects of a static library that nothing refers to, together with their
/// static initialisers: what no launch names is not in the program.
void registerCpuKernels();

} // namespace kedge::rt
