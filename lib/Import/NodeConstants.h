// Element types and dense constants from ONNX tensors.
#pragma once
#include "kedge/Model/Model.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace kedge {

/// Null for types that tensors cannot have here (strings, complex, 8- and 4-bit floats).
mlir::Type elementType(mlir::MLIRContext &context, model::DType type);
/// The tensor's values as an attribute; a splat when all are equal.
mlir::DenseElementsAttr denseAttribute(mlir::RankedTensorType type, const model::Tensor &tensor);

} // namespace kedge
