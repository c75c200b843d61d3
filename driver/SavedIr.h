// Files of --save-ir: IR with what `compile` needs to go on from it.
#pragma once
#include "driver/options/CompileOptions.h"
#include "driver/options/Phase.h"
#include "lib/Export/Plan/PlanReport.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <nlohmann/json.hpp>

namespace kedge::driver {

struct SavedIr {
  Phase phase = Phase::None;
  std::string model, graphHash; ///< the ONNX file (absolute), and what its graph was
  SavedArguments arguments;     ///< of the compile command
  exporter::StepCounts counts;  ///< of the step, from Step on
  nlohmann::json facts, report; ///< of the loss, from Step on; of the plan, at Exec
  int threads = 0;              ///< that the plan counts with
  bool edited = false;          ///< the IR is not what was saved, or what it came from was not

  /// Notes all of it on the module, as one attribute, which `takeFrom` reads and removes (throws kedge::Error
  /// when there is none: `path` is named).
  void putOn(mlir::ModuleOp module) const;
  static SavedIr takeFrom(mlir::ModuleOp module, const std::string &path);
  /// What the file at `path` says, without its IR.
  static SavedIr of(const std::string &path, const std::vector<std::string> &plugins = {});
};

/// Parses and verifies a file; throws kedge::Error.
mlir::OwningOpRef<mlir::ModuleOp> parseIr(mlir::MLIRContext &context, const std::string &path);
/// IR as --save-ir writes it: whole, to be parsed again.
std::string wholeText(mlir::ModuleOp module);

/// Whether MODEL is a file of --save-ir.
bool isSavedIr(const std::string &path);

} // namespace kedge::driver
