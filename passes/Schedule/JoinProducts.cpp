#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/EpilogueOps.h"
#include "passes/Schedule/Passes.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_JOINPRODUCTS
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;
using Values = SmallVector<Value>;

constexpr size_t kFewest = 4;       ///< products: of fewer, copies of the operands cost as much
constexpr int64_t kMostTerms = 64;  ///< of a product: what a chain of train.sum_products takes
constexpr int64_t kMostRows = 8192; ///< of all: they are packed at once

/// A^T B of matrices of f32, which nothing else reads.
onnx::GemmOp gradientOf(Value value) {
  auto gemm = value.getDefiningOp<onnx::GemmOp>();
  const bool isPlain = gemm && value.hasOneUse() && !gemm.getC() && gemm.getTransA() && !gemm.getTransB() &&
                       gemm.getAlpha().convertToFloat() == 1;
  if (!isPlain || rankOf(gemm.getA()) != 2 || rankOf(gemm.getB()) != 2 || !elementOf(value).isF32() ||
      shapeOf(gemm.getA())[0] == 0 || shapeOf(gemm.getA())[0] > kMostTerms)
    return {};
  return gemm;
}

struct JoinProducts : impl::JoinProductsBase<JoinProducts> {
  int64_t joined = 0;

  void run() override {
    joined = 0;
    if (getOperation().isExternal())
      return;
    // From the end: the last sum of a chain comes before its parts, which go with it.
    SmallVector<onnx::AddOp> sums(getOperation().getBody().front().getOps<onnx::AddOp>());
    DenseSet<Operation *> done;
    for (onnx::AddOp sum : llvm::reverse(sums))
      if (!done.contains(sum))
        join(sum, done);
    addStatistic("products joined", joined);
  }

  /// The products of ((first + second) + third) + ... in their order; none where another term is among them.
  static SmallVector<onnx::GemmOp> productsOf(onnx::AddOp last, SmallVectorImpl<onnx::AddOp> &sums) {
    SmallVector<onnx::GemmOp> products;
    for (onnx::AddOp sum = last;;) {
      sums.push_back(sum);
      Value before = sum.getA();
      onnx::GemmOp product = gradientOf(sum.getB());
      if (!product) {
        product = gradientOf(sum.getA());
        before = sum.getB();
      }
      if (!product || before.getType() != product.getType() || sum.getType() != product.getType())
        return {};
      products.push_back(product);
      if (onnx::GemmOp first = gradientOf(before)) {
        products.push_back(first);
        break;
      }
      sum = before.hasOneUse() ? before.getDefiningOp<onnx::AddOp>() : onnx::AddOp();
      if (!sum)
        return {};
    }
    std::reverse(products.begin(), products.end());
    return products;
  }

  static int64_t rowsOf(MutableArrayRef<onnx::GemmOp> products) {
    return static_cast<int64_t>(products.size()) * shapeOf(products[0].getA())[0];
  }

  void join(onnx::AddOp last, DenseSet<Operation *> &done) {
    SmallVector<onnx::AddOp> sums;
    SmallVector<onnx::GemmOp> products = productsOf(last, sums);
    const auto isAlike = [&](onnx::GemmOp product) {
      return product.getA().getType() == products[0].getA().getType() &&
             product.getB().getType() == products[0].getB().getType();
    };
    if (products.size() < kFewest || rowsOf(products) > kMostRows || !llvm::all_of(products, isAlike))
      return;
    done.insert(sums.begin(), sums.end());
    Values a, b;
    for (onnx::GemmOp product : products)
      a.push_back(product.getA()), b.push_back(product.getB());
    // A gradient runs through the steps from the last to the first, and something else may want its rows in
    // their order.
    Values turned(llvm::reverse(a));
    const bool backwards = !rowsThereAre(a, last) && rowsThereAre(turned, last);
    if (backwards) {
      a = turned;
      std::reverse(b.begin(), b.end());
    }
    PlacedBuilder builder(last);
    Value left = rows(builder, a, last), right = rows(builder, b, last);
    auto sum = train::SumProductsOp::create(builder, last.getLoc(), last.getType(), left, right,
                                            static_cast<int64_t>(products.size()), /*transA=*/true,
                                            /*transB=*/false, /*chain=*/true, backwards);
    copyValueNotes(last, sum);
    last.replaceAllUsesWith(sum.getResult());
    for (onnx::AddOp each : sums)
      each.erase();
    for (onnx::GemmOp product : products)
      product.erase();
    joined += static_cast<int64_t>(products.size());
  }

  /// The rows of these matrices as something else has them.
  static onnx::ConcatOp rowsThereAre(const Values &parts, Operation *reader) {
    for (Operation *user : parts[0].getUsers())
      if (auto concat = dyn_cast<onnx::ConcatOp>(user); concat && concat.getAxis() == 0 &&
                                                        concat->getBlock() == reader->getBlock() &&
                                                        llvm::equal(concat.getInputs(), parts))
        return concat;
    return {};
  }

  static Value rows(PlacedBuilder &builder, const Values &parts, Operation *reader) {
    if (onnx::ConcatOp found = rowsThereAre(parts, reader)) {
      if (reader->isBeforeInBlock(found))
        found->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
      return found;
    }
    return onnx::ConcatOp::create(builder, reader->getLoc(), parts, 0);
  }
};
} // namespace
} // namespace kedge::schedule
