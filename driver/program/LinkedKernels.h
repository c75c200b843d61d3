// Kernels of plugins' ops: functions of object files that programs are linked with.
#pragma once
#include "lib/Support/ObjectFile.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Lower/Codegen/Codegen.h"
#include <set>
#include <string>

namespace kedge::driver {

struct LinkedKernels {
  std::vector<lower::KernelEntry> entries; ///< of the program's table
  std::set<std::string> files;             ///< objects and archives

  void add(LinkedKernels other);
};

/// Those that the launches of a level-4 module call. `prefix`: of the names of the program's kernels.
/// `machine`: as KernelLevels::otherMachine. Throws kedge::Error where an op has no file for the machine.
LinkedKernels linkedKernels(mlir::ModuleOp module, const std::string &prefix, const std::string &machine);

/// The objects of a file. Throws kedge::Error if it cannot be read, or is neither an object nor an archive.
ObjectFiles objectsIn(const std::string &file);

/// The files of all ops of the plugins that have kernels of their own for the machine.
std::set<std::string> kernelFilesOf(const std::vector<std::string> &plugins, const std::string &machine);

} // namespace kedge::driver
