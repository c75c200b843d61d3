// How many elements ranks send each other in a step, by collective and type.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::analysis {

/// Per rank and step. An all-reduce of n elements counts 2 n; a reduce-scatter and an all-gather
/// count n. Collectives of one element have a row of their own ("all_reduce_scalar").
struct CommunicationRow {
  std::string collective, axis, type; ///< `axis`: of the mesh, or several that commas join
  int64_t calls = 0, elements = 0, bytes = 0;
};

/// For a level-4 module whose step has `accumulate` micro-batches. One row for each collective, axis and
/// type, by name.
std::vector<CommunicationRow> communicationOf(mlir::ModuleOp module, int64_t accumulate);

} // namespace kedge::analysis
