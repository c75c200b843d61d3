// Computes values that depend on no input: shapes, masks, ranges. It is the reference interpreter of
// levels 1 and 2. Cluster bodies are interpreted point by point, library ops run the runtime's kernels.
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>
#include <vector>

namespace kedge::interpret {

/// A tensor in host memory, little-endian, row-major; bool is one byte.
struct HostTensor {
  mlir::RankedTensorType type;
  std::vector<char> bytes;

  int64_t elements() const { return type.getNumElements(); }
  int64_t intAt(int64_t index) const;  ///< any integer or bool type
  double floatAt(int64_t index) const; ///< any type
  /// As an attribute of onnx.Constant; a splat if all elements are equal.
  mlir::DenseElementsAttr toAttribute() const;
  static HostTensor fromAttribute(mlir::ElementsAttr attribute);
};

class ConstantEvaluator {
public:
  /// Values on the way with more than `limit` elements are not computed.
  explicit ConstantEvaluator(int64_t limit = 1 << 24) : limit(limit) {}
  /// Null if the value depends on a function argument, a random number or a weight, or is too large.
  const HostTensor *evaluate(mlir::Value value);
  /// Sets the value of an argument or result (for inputs of a reference run).
  void bind(mlir::Value value, HostTensor tensor);
  /// Whether the value was bound or evaluated before.
  bool knows(mlir::Value value) const { return known.contains(value); }

private:
  bool evaluateOp(mlir::Operation *op);
  int64_t limit;
  llvm::DenseMap<mlir::Value, std::unique_ptr<HostTensor>> known;
  llvm::DenseMap<mlir::Operation *, bool> refused;
};

/// Computes the results of one pure op from its operands' values; false if the op cannot be interpreted.
bool interpret(mlir::Operation *op, llvm::ArrayRef<const HostTensor *> operands,
               std::vector<HostTensor> &results);

} // namespace kedge::interpret
