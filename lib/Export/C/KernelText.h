// Generated kernels as functions in C11: what they compute, to the bit, without a library but libm.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace kedge::exporter {

/// `kernels` holds functions of loops, vectors and arithmetic, with mathematical functions taken apart
/// (lower::lowerMath); what nothing uses is removed from it. Each becomes `static void NAME(char *const
/// *args, uint64_t begin, uint64_t end)`, after the types and helpers that it needs. Throws kedge::Error for
/// an operation that has no form in C here.
std::string kernelsInC(mlir::ModuleOp kernels);

} // namespace kedge::exporter
