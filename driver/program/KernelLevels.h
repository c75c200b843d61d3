// --cpu: which processors a program has kernels for.
#pragma once
#include "driver/options/CompileOptions.h"
#include "passes/Lower/Codegen/Codegen.h"
#include <nlohmann/json.hpp>

namespace kedge::driver {

class KernelLevels {
public:
  /// As --cpu names them; empty: this machine. Throws kedge::Error for names of none.
  explicit KernelLevels(const std::vector<std::string> &names);

  /// What stands behind a kernel's name: one for each level that the program chooses among, else nothing.
  std::vector<std::string> suffixes() const;
  /// What the program's data tells of it.
  nlohmann::json target() const;
  /// Kernels of all levels. `names`: of the launches; becomes those in the objects. Destroys the module's
  /// contents.
  mlir::FailureOr<ObjectFiles> compile(mlir::ModuleOp kernels, std::vector<std::string> &names,
                                       FileCache *cache) const;
  const lower::KernelTarget &lowest() const { return targets.front(); }
  /// As KernelTarget::otherMachine: all targets are of one kind of machine.
  std::string otherMachine() const { return lowest().otherMachine(); }
  /// What programs are linked for, as link::Runtime::machine.
  std::string linkedMachine(CLibrary libc) const;

private:
  bool chosen; ///< levels were named: the program chooses among them at its start
  std::vector<lower::KernelTarget> targets;
};

} // namespace kedge::driver
