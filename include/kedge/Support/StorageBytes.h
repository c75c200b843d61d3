// How many bytes a tensor takes.
#pragma once
#include "mlir/IR/BuiltinTypes.h"

namespace kedge {

/// Bytes of a ranked tensor type; an element of bool takes one byte.
int64_t bytesOf(mlir::Type type);

} // namespace kedge
