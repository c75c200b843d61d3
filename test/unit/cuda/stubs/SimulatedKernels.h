// A program's generated kernels, run thread by thread on this processor.
//   KEDGE_STUB_KERNELS=FILE.so   what kedge-gpu-on-host made of them, or FILE.ptx (PtxKernels.h)
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kedge::stub {

struct SimulatedKernel;
using Simulated = std::shared_ptr<const SimulatedKernel>;

struct SimulatedKernel {
  std::string name;
  void (*function)(char *const *, int64_t, int64_t) = nullptr; ///< null: it is interpreted
  int64_t operands = 0;
  bool meets = false;
  int64_t sharedBytes = 0;
};

/// Null without KEDGE_STUB_KERNELS; ends the process when the library lacks the kernel: a program and its
/// kernels belong together.
Simulated simulated(const char *name);
/// Ends the process with a message when threads wait for each other in different places. `memory`: all that
/// is allocated.
void runSimulated(const SimulatedKernel &kernel, std::array<int64_t, 3> grid, std::array<int64_t, 3> block,
                  const std::vector<char *> &arguments, const std::vector<std::span<char>> &memory);
/// Ends the process.
[[noreturn]] void stop(const std::string &why);

} // namespace kedge::stub
