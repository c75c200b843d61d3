// Element types and dense constants from ONNX tensors.
#pragma once
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "lib/Model/Model.h"
#include "lib/Model/NarrowTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace kedge::importer {

/// Null for types that no arithmetic has (strings, complex, 8- and 4-bit floats).
mlir::Type elementType(mlir::MLIRContext &context, model::ElementType type);
/// The same, and for narrow types (lib/Model/NarrowTypes.h) what their codes are: i8 for signed integers,
/// else ui8.
mlir::Type storedType(mlir::MLIRContext &context, model::ElementType type);
/// Undefined for types that are not narrow.
inline model::ElementType narrowOr(model::ElementType type) {
  return model::isNarrow(type) ? type : model::ElementType::Undefined;
}
/// Of codes that stay packed; Undefined are bytes.
inline tune::Format packedFormat(model::ElementType type) {
  switch (type) {
  case model::ElementType::UInt2:
    return tune::Format::UInt2;
  case model::ElementType::UInt4:
    return tune::Format::UInt4;
  case model::ElementType::Int4:
    return tune::Format::Int4;
  default:
    return tune::Format::UInt8;
  }
}
/// The tensor's values, or codes of a narrow type, as an attribute; a splat when all are equal.
mlir::DenseElementsAttr denseAttribute(mlir::RankedTensorType type, const model::Tensor &tensor);

/// onnx.Constant of a type without elements.
mlir::Value emptyConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type);

} // namespace kedge::importer
