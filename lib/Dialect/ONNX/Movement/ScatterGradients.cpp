// Gradients of scatters: of what stays of data, and of the updates that count.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

namespace {
using Grads = SmallVectorImpl<Value>;

/// A scatter of elements or of slices, and the gather of the same places.
struct Places {
  mutable GradientBuilder math; ///< its functions build, and change nothing here
  Value data, updates, result;
  llvm::function_ref<Value(Value, Value, StringRef)> scatter;
  llvm::function_ref<Value(Value)> gather;

  Value areEqual(Value a, Value b) const { return EqualOp::create(math.builder, math.loc, a, b); }
  Value areZero(Value x) const { return areEqual(x, scalarLike(math.builder, math.loc, x, 0)); }
  Value asNumber(Value flags) const { return math.cast(flags, elementOf(data)); }
  Value oneWhere(Value flags, Value x) const {
    return WhereOp::create(math.builder, math.loc, flags, scalarLike(math.builder, math.loc, x, 1), x);
  }

  void ofNone(Value dY, Grads &dX) const { // what was overwritten gets nothing
    dX.append({scatter(dY, zerosLike(math.builder, math.loc, updates), "none"), Value(), gather(dY)});
  }

  /// Shared among all that are equal to the extreme, as PyTorch does.
  void ofExtreme(Value dY, Grads &dX) const {
    Value ofData = asNumber(areEqual(data, result)), ofUpdates = asNumber(areEqual(updates, gather(result)));
    Value each = math.div(dY, scatter(ofData, ofUpdates, "add"));
    dX.append({math.mul(ofData, each), Value(), math.mul(ofUpdates, gather(each))});
  }

  /// The product of the others: the quotient by an element, or, where that is the only zero of its place, the
  /// product without it.
  void ofProduct(Value dY, Grads &dX) const {
    Value others = oneWhere(areZero(data), data);
    Value dData = math.div(math.mul(dY, scatter(others, updates, "mul")), others);
    Value areZeros = areZero(updates);
    Value zeros = gather(scatter(zerosLike(math.builder, math.loc, data), asNumber(areZeros), "add"));
    Value isOnlyOne = AndOp::create(math.builder, math.loc, areZeros,
                                    areEqual(zeros, scalarLike(math.builder, math.loc, zeros, 1)));
    Value without = gather(math.mul(dY, scatter(data, oneWhere(isOnlyOne, updates), "mul")));
    Value quotient = math.div(gather(math.mul(dY, result)), oneWhere(areZeros, updates));
    Value dUpdates = WhereOp::create(math.builder, math.loc, isOnlyOne, without, quotient);
    dX.append({dData, Value(), dUpdates});
  }

  void of(StringRef reduction, Value dY, Grads &dX) const {
    if (reduction == "none")
      ofNone(dY, dX);
    else if (reduction == "add")
      dX.append({dY, Value(), gather(dY)});
    else if (reduction == "mul")
      ofProduct(dY, dX);
    else
      ofExtreme(dY, dX);
  }
};
} // namespace

bool ScatterElementsOp::isDifferentiableOperand(unsigned index) { return index != 1; }
LogicalResult ScatterElementsOp::buildGradient(OpBuilder &builder, ValueRange dY, Grads &dX) {
  const auto scatter = [&](Value data, Value updates, StringRef reduction) -> Value {
    return ScatterElementsOp::create(builder, getLoc(), data, getIndices(), updates, getAxis(), reduction);
  };
  const auto gather = [&](Value from) -> Value {
    return GatherElementsOp::create(builder, getLoc(), from, getIndices(), getAxis());
  };
  Places{{builder, getLoc()}, getData(), getUpdates(), getResult(), scatter, gather}.of(getReduction(), dY[0],
                                                                                        dX);
  return success();
}

bool ScatterNDOp::isDifferentiableOperand(unsigned index) { return index != 1; }
LogicalResult ScatterNDOp::buildGradient(OpBuilder &builder, ValueRange dY, Grads &dX) {
  const auto scatter = [&](Value data, Value updates, StringRef reduction) -> Value {
    return ScatterNDOp::create(builder, getLoc(), data, getIndices(), updates, reduction);
  };
  const auto gather = [&](Value from) -> Value {
    return GatherNDOp::create(builder, getLoc(), from, getIndices(), 0);
  };
  Places{{builder, getLoc()}, getData(), getUpdates(), getResult(), scatter, gather}.of(getReduction(), dY[0],
                                                                                        dX);
  return success();
}
