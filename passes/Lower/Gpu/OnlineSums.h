// Sums of exp(x - max x) in one pass over a row, beside the maximum.
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Lower/Cluster/ClusterNest.h"
#include "passes/Lower/Cluster/ScalarOps.h"

namespace kedge::lower::gpu {

/// Finds sums of exp(x - m), m being the maximum of the same x over the same dims, and gives them the pass of
/// their maximum: worth it where each pass reads the row again. Returns whether there are any.
bool pairOnlineSums(ClusterNest &nest);

/// The arithmetic of such a pair (m, s): s is the sum of exp(x - reference(m)) over what has been seen.
class OnlineSum {
public:
  /// `sum`: whose exponentials tell how exact they are.
  OnlineSum(ScalarOps &ops, sched::ReduceOp sum);

  /// The maximum; 0 where only -inf was seen (or nothing), so that the differences below are numbers and s
  /// stays 0.
  mlir::Value reference(mlir::Value maximum);
  /// exp(x - reference), x in as many lanes as it has.
  mlir::Value term(mlir::Value x, mlir::Value reference);
  /// s as seen from a maximum that is not smaller.
  mlir::Value rescaled(mlir::Value sum, mlir::Value maximum, mlir::Value reference);
  /// The sum as a reduction of exp(x - maximum) has it: NaN where the maximum is infinite or NaN.
  mlir::Value finished(mlir::Value sum, mlir::Value maximum);

private:
  ScalarOps &ops;
  mlir::arith::FastMathFlags flags;
};

} // namespace kedge::lower::gpu
