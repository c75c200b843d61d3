// What values are called where IR is printed for people.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include <string>

namespace kedge::text {

/// Names of values, without %: of the first result of an op for all of its results.
using ValueNames = llvm::DenseMap<mlir::Value, std::string>;

/// Arguments of functions by their bindings, buffers by their names, results of collectives by what these do,
/// other results by the node of their place: `grad.NODE` in the backward part, `update.PARAMETER` in the
/// update; `NODE.2` is the second of that name in its function. Arguments of bodies are `x0`, `y0` one body
/// further in, indices `i0`. A result in `given` has that name. What has none of these has no name here.
ValueNames namesOf(mlir::ModuleOp module, const ValueNames &given = ValueNames());

} // namespace kedge::text
