// One code for kernels that differ in numbers alone.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace kedge::lower {

struct SharedCode {
  int64_t kernels = 0;   ///< that have no code of their own any more
  int64_t functions = 0; ///< that they call
};

/// Sizes and strides become numbers that a kernel's code is told where several kernels of the module are
/// equal but for them. What kernels compute stays equal to the bit.
SharedCode shareCode(mlir::ModuleOp kernels);

} // namespace kedge::lower
