// What the elementwise and reduction families share: type inference and short ways to write bodies.
#pragma once
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Interfaces/ClusterBody.h"
#include "mlir/IR/Operation.h"

namespace kedge {

/// Result type of an elementwise op: the broadcast shape and `element`, by default the operands' element
/// type. Operands must agree on it, except rank-0 floats among floats.
mlir::LogicalResult inferElementwise(std::optional<mlir::Location> location, mlir::ValueRange operands,
                                     llvm::SmallVectorImpl<mlir::Type> &types, mlir::Type element = {});

/// Shape of `shape` with the dims `axes` dropped, or with size 1.
llvm::SmallVector<int64_t> reducedShape(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> axes,
                                        bool keepdims);
mlir::LogicalResult inferReduction(std::optional<mlir::Location> location, mlir::Value x,
                                   llvm::ArrayRef<int64_t> axes, bool keepdims,
                                   llvm::SmallVectorImpl<mlir::Type> &types, mlir::Type element = {});
/// Map from a domain to a tensor that lacks (or keeps with size 1) the dims `axes`.
mlir::AffineMap reducedMap(mlir::MLIRContext *context, int64_t rank, llvm::ArrayRef<int64_t> axes,
                           bool keepdims);
/// Domain: operand 0's shape; operand 0 at each point; results once a reduction.
void describeReduction(mlir::Operation *op, llvm::ArrayRef<int64_t> axes, bool keepdims, ClusterSpec &spec);

/// The type of x, once `axis` is checked to be one of its dims and not negative.
mlir::LogicalResult inferAlongAxis(std::optional<mlir::Location> location, mlir::Value x, int64_t axis,
                                   llvm::SmallVectorImpl<mlir::Type> &types);

inline bool isUnsigned(mlir::Type element) { return element.isUnsignedInteger() || element.isInteger(1); }
inline bool isFloatTensor(mlir::Value v) { return mlir::isa<mlir::FloatType>(elementOf(v)); }

} // namespace kedge

/// Body of a unary (x) or binary (a, b) op as one expression; `body` is the builder.
#define KEDGE_UNARY_BODY(Op, expression)                                                                     \
  void Op::buildClusterBody(::kedge::ClusterBodyBuilder &body, ::mlir::ValueRange scalars,                   \
                            ::llvm::SmallVectorImpl<::mlir::Value> &results) {                               \
    body.isUnsigned = ::kedge::isUnsigned(::kedge::elementOf(getOperation()->getOperand(0)));                \
    ::mlir::Value x = scalars[0];                                                                            \
    results.push_back(expression);                                                                           \
  }
#define KEDGE_BINARY_BODY(Op, expression)                                                                    \
  void Op::buildClusterBody(::kedge::ClusterBodyBuilder &body, ::mlir::ValueRange scalars,                   \
                            ::llvm::SmallVectorImpl<::mlir::Value> &results) {                               \
    body.isUnsigned = ::kedge::isUnsigned(::kedge::elementOf(getOperation()->getOperand(0)));                \
    ::mlir::Value a = scalars[0], b = scalars[1];                                                            \
    results.push_back(expression);                                                                           \
  }
/// Gradients of a unary or binary op as expressions of `grad`; `math` is a GradientBuilder.
#define KEDGE_UNARY_GRADIENT(Op, expression)                                                                 \
  ::llvm::LogicalResult Op::buildGradient(::mlir::OpBuilder &builder, ::mlir::ValueRange resultGrads,        \
                                          ::llvm::SmallVectorImpl<::mlir::Value> &operandGrads) {            \
    ::kedge::GradientBuilder math{builder, getLoc()};                                                        \
    ::mlir::Value grad = resultGrads[0];                                                                     \
    operandGrads.push_back(expression);                                                                      \
    return ::mlir::success();                                                                                \
  }
