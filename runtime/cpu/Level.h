// Programs with kernels for one or several levels of the x86-64 psABI (kedge compile --cpu).
#pragma once
#include <string>
#include <vector>

namespace kedge::rt::cpu {

/// The highest level among `features` that this machine (or KEDGE_CPU_ISA) has; from here on the kernels of the runtime keep
/// to it as well, so that a level gives the same bits on every machine. Empty when there is no level among them. Throws
/// rt::Error when the machine is below all of them.
std::string takeLevel(const std::vector<std::string> &features);

} // namespace kedge::rt::cpu
