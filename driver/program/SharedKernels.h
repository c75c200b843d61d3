// Kernels that several programs of one file have in common are built and stored once.
#pragma once
#include "driver/program/KernelLevels.h"
#include <map>

namespace kedge::driver {

/// The place of a program's kernels among those of several programs in one file.
struct AmongPrograms {
  std::string prefix; ///< of the names of its kernels
  /// Names of the kernels so far, by their text, with their prefix; null: each program has its own.
  std::map<std::string, std::string> *known = nullptr;
};

/// Leaves out the kernels that an earlier program of the same file has, and says what they are called there.
std::map<std::string, std::string> shareKernels(mlir::ModuleOp kernels, std::vector<std::string> &names,
                                                const AmongPrograms &among, const KernelLevels &levels);

} // namespace kedge::driver
