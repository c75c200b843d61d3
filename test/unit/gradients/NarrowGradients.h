// Gradients in bf16 and fp16 beside those in f32 of the same arguments.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <set>
#include <string>

namespace kedge::test {

struct NarrowGap {
  std::string problem; ///< why nothing was compared; empty: it was
  double roundings =
      0; ///< the largest difference of an element, in roundings of the largest element of its gradient
  std::set<std::string> ops; ///< whose gradients took part
};

/// `function` in f64 is computed in f32 and, as --precision TYPE casts it under `master`, in 16 bits, both
/// through the CPU path; arguments and seeds are values of the 16-bit type. A rounding is 2^-8 (bf16) or
/// 2^-11 (fp16) of a value: half of the last place of 1.
NarrowGap gapOfNarrowGradients(mlir::func::FuncOp function, const std::string &type);

/// How far the gradients of a case may be from those in f32, in roundings: by file, and by name where an op's
/// own backward rounds several times.
double allowedRoundings(const std::string &name);

} // namespace kedge::test
