// --shard REGEX=tensor:DIM.
#pragma once
#include "kedge/Dialect/Train/StateOps.h"
#include "runtime/io/NameRule.h"

namespace kedge::mesh {

struct GivenCut : rt::NameRule {
  int dim = 0;

  /// Throws std::runtime_error.
  static GivenCut parse(const std::string &text);

  /// Whether it names the state; a working copy is named as its parameter.
  bool isOf(train::StateOp state) const;
  /// Reports an error where the dimension is not there, or has nothing to cut.
  mlir::LogicalResult check(train::StateOp state) const;
};

} // namespace kedge::mesh
