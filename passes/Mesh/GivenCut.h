// --shard REGEX=tensor:DIM.
#pragma once
#include "lib/Dialect/Train/StateOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/io/NamePattern.h"

namespace kedge::mesh {

struct GivenCut {
  std::string text;
  rt::NamePattern names;
  int dim = 0;

  /// Whether it names the state; a working copy is named as its parameter.
  bool isOf(train::StateOp state) const;
  /// Reports an error where the dimension is not there, or has nothing to cut.
  mlir::LogicalResult check(train::StateOp state) const;
};

/// Reports an error at the module.
mlir::FailureOr<GivenCut> parseGivenCut(mlir::ModuleOp module, const std::string &text);

} // namespace kedge::mesh
