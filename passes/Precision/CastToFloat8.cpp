#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Quantized/Float8Ops.h"
#include "passes/Precision/Passes.h"

namespace kedge::precision {
#define GEN_PASS_DEF_CASTTOFLOAT8
#include "passes/Precision/Passes.h.inc"

namespace {
using namespace mlir;

/// A tensor of 8-bit floats, and what its numbers are to be multiplied by.
struct Narrow {
  Value values, inverse;
};

/// Casts of tensors, one for each type that is asked for, whatever shapes they are read in.
class Float8Casts {
public:
  Narrow to(OpBuilder &b, Value value, Type element) {
    Value whole = value;
    while (auto reshape = whole.getDefiningOp<onnx::ReshapeOp>())
      whole = reshape.getData();
    Narrow &made = known[{whole, element}];
    if (!made.values)
      made = cast(b, whole, element);
    return {b.createOrFold<onnx::ReshapeOp>(value.getLoc(), made.values, shapeOf(value)), made.inverse};
  }

  int64_t count() const { return known.size(); }

private:
  static Narrow cast(OpBuilder &b, Value whole, Type element) {
    Location loc = whole.getLoc();
    // By rows first: the kernel that makes them has them at hand.
    Value maxima = train::RowMaximaOp::create(b, loc, whole);
    auto scale = train::Float8ScaleOp::create(b, loc, maxima, TypeAttr::get(element));
    Value values = train::Float8CastOp::create(b, loc, whole, scale.getScale(), TypeAttr::get(element));
    return {values, scale.getInverse()};
  }

  llvm::DenseMap<std::pair<Value, Type>, Narrow> known;
};

struct CastToFloat8 : impl::CastToFloat8Base<CastToFloat8> {
  void run() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    Float8Casts casts;
    int64_t products = 0;
    for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
      if (auto types = op.getAttrOfType<ArrayAttr>(train::kFloat8)) {
        replace(&op, types, casts);
        ++products;
      }
    addStatistic("products", products);
    addStatistic("tensors cast", casts.count());
  }

  static void replace(Operation *op, ArrayAttr types, Float8Casts &casts) {
    PlacedBuilder b(op);
    auto operand = [&](unsigned k) {
      return casts.to(b, op->getOperand(k), cast<TypeAttr>(types[k]).getValue());
    };
    Narrow left = operand(0), right = operand(1);
    auto product = [&](Value c, bool transA, bool transB, APFloat alpha, APFloat beta) -> Value {
      return train::ScaledProductOp::create(b, op->getLoc(), op->getResult(0).getType(), left.values,
                                            right.values, left.inverse, right.inverse, c, transA, transB,
                                            alpha, beta);
    };
    auto gemm = dyn_cast<onnx::GemmOp>(op);
    auto matmul = dyn_cast<onnx::MatMulOp>(op);
    Value result =
        gemm ? product(gemm.getC(), gemm.getTransA(), gemm.getTransB(), gemm.getAlpha(), gemm.getBeta())
             : product(Value(), matmul.getTransA(), matmul.getTransB(), APFloat(1.0f), APFloat(1.0f));
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
};
} // namespace
} // namespace kedge::precision
