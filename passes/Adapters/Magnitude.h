// DoRA: the norms of a weight with its adapter are a parameter of their own.
#pragma once
#include "passes/Adapters/AdapterSites.h"

namespace kedge::adapters {

struct MagnitudeSite {
  Site site;
  mlir::Value weight;
  mlir::Value x; ///< what the adapter reads: the product's input, maybe with dropout
  mlir::Value a, b, m;
  double scale;
};

/// Replaces the product y = x w + bias by m / |w + scale B A| (x w + scale B(A(x))) + bias, for each output.
/// The norm counts as a constant. What Dropout takes, it takes of both terms, but once: x w stays whole
/// beside them.
void withMagnitude(mlir::OpBuilder &builder, const MagnitudeSite &site);

} // namespace kedge::adapters
