// Scalar formulas that forward bodies and gradients share.
#pragma once
#include "kedge/Interfaces/ClusterBody.h"

namespace kedge {

/// x^exponent. Exponents for which PyTorch avoids pow (0, +-1, +-2, 3, +-1/2) become products and roots here,
/// too.
mlir::Value powerByConstant(ClusterBodyBuilder &body, mlir::Value x, double exponent);
/// log(1 + exp(x)) without overflow.
mlir::Value softplus(ClusterBodyBuilder &body, mlir::Value x);

} // namespace kedge
