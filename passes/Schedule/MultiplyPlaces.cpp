#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "passes/Schedule/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_MULTIPLYPLACES
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;

/// Whether a transposed convolution of f32 spreads images of one place over the window and nothing more: X
/// [N, C, 1...], W [C, M, window...], Y [N, M, window...].
template <typename Op> bool spreadsPlaces(Op op, Value w, ArrayRef<int64_t> x, ArrayRef<int64_t> y) {
  const auto is = [](int64_t number) { return [=](int64_t each) { return each == number; }; };
  return elementOf(w).isF32() && op.getGroup() == 1 && llvm::all_of(x.drop_front(2), is(1)) &&
         y.drop_front(2) == shapeOf(w).drop_front(2) && llvm::all_of(op.getPads(), is(0)) &&
         llvm::all_of(op.getDilations(), is(1)) && llvm::none_of(y, is(0)) && x[1] != 0;
}

struct MultiplyPlaces : impl::MultiplyPlacesBase<MultiplyPlaces> {
  int64_t made = 0;

  void run() override {
    made = 0;
    if (getOperation().isExternal())
      return;
    for (Operation &op : llvm::make_early_inc_range(getOperation().getBody().front()))
      llvm::TypeSwitch<Operation *>(&op)
          .Case<onnx::ConvTransposeOp>([&](auto each) { forward(each); })
          .Case<train::ConvTransposeGradInputOp>([&](auto each) { inputGradient(each); })
          .Case<train::ConvTransposeGradWeightOp>([&](auto each) { weightGradient(each); });
    addStatistic("products", made);
  }

  void forward(onnx::ConvTransposeOp op) {
    if (!spreadsPlaces(op, op.getW(), shapeOf(op.getX()), shapeOf(op.getY())))
      return;
    PlacedBuilder builder(op);
    Value y = product(builder, op, op.getX(), op.getW(), false, false, shapeOf(op.getY()));
    if (op.getB()) {
      SmallVector<int64_t> shape(rankOf(y), 1);
      shape[1] = shapeOf(y)[1];
      const Value bias = onnx::ReshapeOp::create(builder, op.getLoc(), op.getB(), shape);
      y = onnx::AddOp::create(builder, op.getLoc(), y, bias);
    }
    replace(op, y);
  }

  void inputGradient(train::ConvTransposeGradInputOp op) {
    const Value dY = op->getOperand(0), w = op->getOperand(1), dX = op->getResult(0);
    if (!spreadsPlaces(op, w, shapeOf(dX), shapeOf(dY)))
      return;
    PlacedBuilder builder(op);
    replace(op, product(builder, op, dY, w, false, true, shapeOf(dX)));
  }

  void weightGradient(train::ConvTransposeGradWeightOp op) {
    const Value x = op->getOperand(0), dY = op->getOperand(1), dW = op->getResult(0);
    if (!spreadsPlaces(op, dW, shapeOf(x), shapeOf(dY)))
      return;
    PlacedBuilder builder(op);
    replace(op, product(builder, op, x, dY, true, false, shapeOf(dW)));
  }

  static Value asMatrix(PlacedBuilder &builder, Location loc, Value v) {
    const ArrayRef<int64_t> shape = shapeOf(v);
    const int64_t rows = shape[0], columns = cast<RankedTensorType>(v.getType()).getNumElements() / rows;
    return onnx::ReshapeOp::create(builder, loc, v, SmallVector<int64_t>{rows, columns});
  }

  /// Of the first dims by all others.
  static Value product(PlacedBuilder &builder, Operation *op, Value a, Value b, bool transA, bool transB,
                       ArrayRef<int64_t> shape) {
    const Location loc = op->getLoc();
    const Value left = asMatrix(builder, loc, a), right = asMatrix(builder, loc, b);
    const Value matrix = onnx::GemmOp::create(builder, loc, left, right, Value(), transA, transB,
                                              APFloat(1.0f), APFloat(1.0f));
    return onnx::ReshapeOp::create(builder, loc, matrix, shape);
  }

  void replace(Operation *op, Value result) {
    copyValueNotes(op, result.getDefiningOp());
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
    ++made;
  }
};
} // namespace
} // namespace kedge::schedule
