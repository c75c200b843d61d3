// --weight-decay-exclude and --lr-scale: options of single parameters.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "runtime/io/NameRule.h"

namespace kedge::driver {

struct CompileOptions;

/// REGEX=X: what the rate of parameters is multiplied by.
struct RateScale : rt::NameRule {
  double scale = 1;

  /// Throws std::runtime_error.
  static RateScale parse(const std::string &text);
};

/// Notes them on the states of level 1 that train. Throws kedge::Error for an expression that matches none.
void applyParameterOptions(mlir::ModuleOp module, const CompileOptions &options);

} // namespace kedge::driver
