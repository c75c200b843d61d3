// @model of a level-1 module through the compiled path, in this process.
#pragma once
#include "kedge/Analysis/ConstantEvaluator.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>

namespace kedge::test {

/// Schedules, generates kernels, plans memory, compiles, runs once. `module` is used up. Outputs by name
/// (train.output). Throws kedge::Error or rt::Error.
std::map<std::string, HostTensor> runCompiled(mlir::ModuleOp module, const std::map<std::string, HostTensor> &inputs);

} // namespace kedge::test
