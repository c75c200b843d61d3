// Gradients that ops build of themselves, interpreted and then through the compiled CPU path, compared with
// central differences in f64.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <set>
#include <string>

namespace kedge::test {

/// The function computes its results from its arguments; the loss is a fixed random weighting of the float
/// results. Float arguments get uniform random values in [-1, 1], or in `check.range = [lo, hi]`; integer
/// ones in [0, `check.below`). Arguments that no gradient reaches need `check.constant`. `check.tolerance` on
/// the function replaces the relative error of 1e-6; with `check.random`, which the interpreter does not
/// draw, only the compiled path is compared. Empty when all gradients agree; the names of the ops whose
/// gradient took part are added to `covered` then.
std::string checkGradients(mlir::func::FuncOp function, std::set<std::string> &covered);

} // namespace kedge::test
