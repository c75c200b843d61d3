// f32 functions as polynomials: our own, where upstream's are too coarse.
#pragma once
#include "mlir/IR/PatternMatch.h"
#include "passes/Lower/Cluster/MathExpression.h"

namespace kedge::lower {

/// tanh, erf, log, sin and cos of f32 scalars and vectors. tanh and erf leave a math.exp behind, log a
/// math.log of normal numbers, marked `scaled`; sin and cos use `far` beyond 2^30, where a division of the
/// argument needs more than 100 bits.
using MathFallback = mlir::Value (*)(mlir::PatternRewriter &, mlir::Operation *);
void populateFloatFunctions(mlir::RewritePatternSet &patterns, MathFallback far);

/// erf alone; the exponential that it leaves behind has its flags.
void populateErf(mlir::RewritePatternSet &patterns);

/// sin(r + quadrant * pi/2) for |r| <= pi/4, in f32; the quadrant counts modulo 4.
mlir::Value seriesOfQuadrant(Expression &e, mlir::Value r, mlir::Value quadrant);

/// `op` by libm, lane by lane; null when libm has no such function or it is neither f32 nor f64.
mlir::Value callLibm(mlir::PatternRewriter &rewriter, mlir::Operation *op);

} // namespace kedge::lower
