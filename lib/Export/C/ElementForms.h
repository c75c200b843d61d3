// What an operation computes of each element, as an expression in C.
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace kedge::exporter {

/// %0, %1, ... are the operands' elements; {t}, {s} and {f} type, signed type and suffix (f or nothing) of
/// the first one's, {r} the result's type. Null for operations that have none.
const char *elementForm(mlir::Operation *op);
const char *compareForm(mlir::arith::CmpIPredicate predicate);
const char *compareForm(mlir::arith::CmpFPredicate predicate);

} // namespace kedge::exporter
