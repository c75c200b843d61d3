// Programs compiled for one or several levels of x86-64 (kedge compile --cpu).
#pragma once
#include <string>
#include <vector>

namespace kedge::rt::cpu {

/// Returns the highest level among `features` that this machine (or KEDGE_CPU_ISA) has, and limits
/// the runtime's own kernels to it, so that a level gives the same bits on every machine. Returns
/// an empty text if `features` has no level. Throws rt::RuntimeError if the machine has none of them.
std::string takeLevel(const std::vector<std::string> &features);

} // namespace kedge::rt::cpu
