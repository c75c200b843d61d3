#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "passes/Import/Passes.h"

namespace kedge::raise {
#define GEN_PASS_DEF_FOLDTRANSPOSES
#include "passes/Import/Passes.h.inc"

namespace {
using namespace mlir;

/// What `value` is the transpose (last two dims) of; null when it is none.
Value untransposed(Value value) {
  auto transpose = value.getDefiningOp<onnx::TransposeOp>();
  if (!transpose)
    return {};
  ArrayRef<int64_t> perm = transpose.getPerm();
  int64_t rank = perm.size();
  if (rank < 2 || perm[rank - 1] != rank - 2 || perm[rank - 2] != rank - 1)
    return {};
  for (int64_t dim = 0; dim < rank - 2; ++dim)
    if (perm[dim] != dim)
      return {};
  return transpose.getData();
}

struct FoldTransposes : impl::FoldTransposesBase<FoldTransposes> {
  void run() override {
    int64_t folded = 0;
    getOperation().walk([&](onnx::MatMulOp product) {
      if (Value a = untransposed(product.getA())) {
        product.getAMutable().assign(a);
        product.setTransA(!product.getTransA());
        ++folded;
      }
      if (Value b = untransposed(product.getB())) {
        product.getBMutable().assign(b);
        product.setTransB(!product.getTransB());
        ++folded;
      }
    });
    addStatistic("transposes folded", folded);
  }
};
} // namespace
} // namespace kedge::raise
