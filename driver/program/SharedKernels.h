// Kernels that several programs of one file have in common are built and stored once.
#pragma once
#include "driver/program/KernelLevels.h"
#include <map>

namespace kedge::driver {

/// Leaves out the kernels that an earlier program of the same file has, and says what they are called there.
std::map<std::string, std::string> shareKernels(mlir::ModuleOp kernels, std::vector<std::string> &names,
                                                const CompileOptions &options, const KernelLevels &levels);

} // namespace kedge::driver
