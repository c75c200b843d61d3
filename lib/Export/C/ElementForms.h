// What an operation computes of each element, as an expression in C.
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <string>
#include <vector>

namespace kedge::exporter {

/// Of an element; integers are unsigned, since C leaves overflow of others undefined. Throws kedge::Error for
/// types that have none here.
std::string scalarType(mlir::Type type);
/// "f32", "u64"; "ptr" of addresses.
std::string nameOf(mlir::Type element);
std::string signedType(mlir::Type type);

/// A form for each result: %0, %1, ... are the operands' elements; {t}, {s} and {f} type, signed type and
/// suffix (f or nothing) of the first one's, {r} and {rs} the result's type and signed type. Empty for
/// operations that have none.
std::vector<std::string> elementForms(mlir::Operation *op);

/// The functions of elements that `functions`, text of such forms, call. Extremes propagate NaN, and know -0
/// from 0, as IEEE's maximum and minimum.
std::string elementFunctionsIn(const std::string &functions);

} // namespace kedge::exporter
