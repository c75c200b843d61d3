// Float types by their names in options.
#pragma once
#include "mlir/IR/BuiltinTypes.h"

namespace kedge {

/// fp32, bf16 or fp16; null for any other name.
inline mlir::Type floatTypeNamed(mlir::MLIRContext *context, llvm::StringRef name) {
  if (name == "fp32")
    return mlir::Float32Type::get(context);
  if (name == "bf16")
    return mlir::BFloat16Type::get(context);
  return name == "fp16" ? mlir::Type(mlir::Float16Type::get(context)) : mlir::Type();
}

} // namespace kedge
