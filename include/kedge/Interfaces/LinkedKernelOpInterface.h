#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"
#include <string>

#include "kedge/Interfaces/LinkedKernelOpInterface.h.inc"

namespace kedge {

/// What an op of that name says of its kernel; null where it has none of its own.
LinkedKernelOpInterface::Concept *linkedKernelOf(mlir::MLIRContext *context, llvm::StringRef op);

/// The path of a file that lies beside the shared library which has `anchor`, any variable or function of it.
std::string fileBeside(const void *anchor, llvm::StringRef name);

} // namespace kedge
