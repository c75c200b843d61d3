// Builders of movement ops that choose the cheapest form, and what their importers share.
#pragma once
#include "lib/Import/NodeImporter.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace kedge::importer {

using Dims = llvm::SmallVector<int64_t>;

/// onnx.Reshape of the value, or of what it was reshaped from; the value itself.
mlir::Value reshape(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                    llvm::ArrayRef<int64_t> shape);
/// onnx.Transpose; a reshape when only dimensions of size 1 move; the value itself.
mlir::Value transpose(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                      llvm::ArrayRef<int64_t> perm);
/// onnx.Expand, or the value itself.
mlir::Value expand(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                   llvm::ArrayRef<int64_t> shape);
/// onnx.Slice of [start, end) along one axis, or the value itself.
mlir::Value sliceAxis(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, int64_t axis,
                      int64_t start, int64_t end);
/// onnx.Concat of the parts that have elements, or the only one; where none has any, of their type.
mlir::Value concat(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange parts, int64_t axis);
/// onnx.Pad by zeros or crop (all begins, then all ends); a slice where nothing is added; the value itself.
mlir::Value padConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Value constant,
                        llvm::ArrayRef<int64_t> pads);
/// onnx.Constant of these numbers.
mlir::Value constantNumbers(NodeContext &node, mlir::Type element, llvm::ArrayRef<int64_t> shape,
                            llvm::ArrayRef<double> values);
/// 0, 1, ... count - 1.
Dims firstDims(int64_t count);
/// The shape without dim `axis`.
Dims without(llvm::ArrayRef<int64_t> shape, int64_t axis);

/// `axis` in [0, rank); an error of the node otherwise.
int64_t axisOf(NodeContext &node, int64_t axis, int64_t rank);
/// An attribute of older opsets, an operand of newer ones; nullopt when there is neither.
std::optional<Dims> intsOf(NodeContext &node, llvm::StringRef attribute, size_t operand);

// Parts of registerMovementImporters.
void registerShapeImporters(NodeImporters &);
void registerSliceImporters(NodeImporters &);
void registerGatherImporters(NodeImporters &);
void registerGeneratorImporters(NodeImporters &);
void registerResizeImporters(NodeImporters &);
void registerSelectionImporters(NodeImporters &);
void registerEinsumImporter(NodeImporters &);
void registerLoopImporter(NodeImporters &);
void registerGeometryImporters(NodeImporters &);
void registerBoxImporters(NodeImporters &);
void registerDeformConvImporter(NodeImporters &);

} // namespace kedge::importer
