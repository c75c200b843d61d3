#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/EpilogueOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Schedule/Passes.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_PACKWEIGHTS
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;

constexpr size_t kFewestProducts = 4;   ///< products
constexpr int64_t kMostRowsPacked = 48; ///< with more, packing is little of a product
constexpr int64_t kFewestTerms = 16384; ///< of the matrix: below, a product is not long enough to be cut
constexpr int64_t kPanelColumns = 32;   ///< of a panel: see train.pack_columns

/// A B + C of few rows, of f32.
bool takesPanels(onnx::GemmOp gemm) {
  const Value c = gemm.getC();
  const bool isPlain = !gemm.getTransA() && gemm.getAlpha().convertToFloat() == 1 &&
                       (!c || gemm.getBeta().convertToFloat() == 1);
  if (!isPlain || rankOf(gemm.getA()) != 2 || rankOf(gemm.getB()) != 2 || !elementOf(gemm.getA()).isF32() ||
      !elementOf(gemm.getB()).isF32() || !elementOf(gemm.getY()).isF32())
    return false;
  const ArrayRef<int64_t> y = shapeOf(gemm.getY());
  return y[0] > 0 && y[0] <= kMostRowsPacked &&
         (!c || shapeOf(c) == y || shapeOf(c) == ArrayRef<int64_t>{y[1]});
}

struct PackWeights : impl::PackWeightsBase<PackWeights> {
  int64_t packed = 0, products = 0;

  void run() override {
    packed = products = 0;
    if (getOperation().isExternal())
      return;
    // By matrix and by whether it is turned, in the order of the first products.
    llvm::MapVector<std::pair<Value, int>, SmallVector<onnx::GemmOp>> readers;
    for (auto gemm : getOperation().getBody().front().getOps<onnx::GemmOp>())
      if (takesPanels(gemm))
        readers[{gemm.getB(), gemm.getTransB()}].push_back(gemm);
    for (auto &[matrix, gemms] : readers)
      if (gemms.size() >= kFewestProducts &&
          cast<RankedTensorType>(matrix.first.getType()).getNumElements() >= kFewestTerms)
        pack(matrix.first, matrix.second, gemms);
    addStatistic("matrices packed", packed);
    addStatistic("products of packed matrices", products);
  }

  void pack(Value matrix, bool turned, ArrayRef<onnx::GemmOp> gemms) {
    PlacedBuilder builder(gemms.front());
    const ArrayRef<int64_t> shape = shapeOf(matrix);
    const int64_t terms = shape[turned ? 1 : 0], columns = shape[turned ? 0 : 1];
    const Type type = RankedTensorType::get({llvm::divideCeil(columns, kPanelColumns), terms, kPanelColumns},
                                            elementOf(matrix));
    const Value panels = train::PackColumnsOp::create(builder, gemms.front()->getLoc(), type, matrix, turned);
    for (onnx::GemmOp gemm : gemms) {
      PlacedBuilder at(gemm);
      auto product = train::PackedProductOp::create(at, gemm.getLoc(), gemm.getY().getType(), gemm.getA(),
                                                    panels, gemm.getC());
      copyValueNotes(gemm, product);
      gemm.replaceAllUsesWith(product.getResult());
      gemm.erase();
      ++products;
    }
    ++packed;
  }
};
} // namespace
} // namespace kedge::schedule
