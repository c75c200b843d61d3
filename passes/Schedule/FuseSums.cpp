#include "lib/Dialect/Sched/InPlace.h"
#include "lib/Dialect/Train/EpilogueOps.h"
#include "lib/Support/Statistics.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Schedule/Passes.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_FUSESUMS
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;
using sched::LibraryOp;

RankedTensorType rowsTypeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Whether the cluster does nothing but sum the rows of one tensor of 16-bit floats, to numbers of its type.
bool isSumOfRows(sched::ClusterOp cluster) {
  if (cluster.getInputs().size() != 1 || cluster.getNumResults() != 1 || cluster.getClone())
    return false;
  RankedTensorType type = rowsTypeOf(cluster.getInputs()[0]);
  const int64_t rank = type.getRank();
  AffineMap all = AffineMap::getMultiDimIdentityMap(rank, cluster.getContext());
  auto isMap = [](Attribute map, AffineMap expected) {
    return cast<AffineMapAttr>(map).getValue() == expected;
  };
  const bool shapes = rank >= 2 && cluster.getDomain() == type.getShape() &&
                      llvm::equal(cluster.getReduced(), llvm::seq<int64_t>(0, rank - 1)) &&
                      isMap(cluster.getInputMaps()[0], all) &&
                      isMap(cluster.getOutputMaps()[0], all.getMinorSubMap(1)) &&
                      rowsTypeOf(cluster.getResult(0)).getElementType() == type.getElementType();
  int64_t folds = 0;
  const bool onlySums = llvm::all_of(cluster.getBody().front(), [&](Operation &op) {
    auto fold = dyn_cast<sched::ReduceOp>(op);
    folds += fold && fold.getKind() == sched::FoldKind::Add;
    return fold ? fold.getKind() == sched::FoldKind::Add
                : isa<arith::ExtFOp, arith::TruncFOp, sched::YieldOp>(op);
  });
  return shapes && onlySums && folds == 1 && train::takesEpilogue(type);
}

bool hasFlag(LibraryOp call, StringRef name) {
  auto attr = call.getAttrs().getAs<BoolAttr>(name);
  return attr && attr.getValue();
}

/// A product of two matrices to which nothing is added.
bool mayTakeSums(LibraryOp call) {
  const bool isProduct = call.getKernel() == "onnx.MatMul" || call.getKernel() == "onnx.Gemm";
  if (!isProduct || call.getClone() || call.getInputs().size() != 2)
    return false;
  auto alpha = call.getAttrs().getAs<FloatAttr>("alpha");
  auto isMatrix = [](Value value) { return rowsTypeOf(value).getRank() == 2; };
  return (!alpha || alpha.getValueAsDouble() == 1) && llvm::all_of(call.getInputs(), isMatrix) &&
         train::takesEpilogue(call.getResult(0).getType());
}

/// The epilogue that sums the rows of this operand; none where the product does not sum over them.
StringRef epilogueFor(OpOperand &operand) {
  auto call = cast<LibraryOp>(operand.getOwner());
  if (operand.getOperandNumber() == 0)
    return hasFlag(call, "transA") ? "sums_a" : "";
  return hasFlag(call, "transB") ? "" : "sums_b";
}

struct FuseSums : impl::FuseSumsBase<FuseSums> {
  int64_t joined = 0;

  void runOnOperation() override {
    joined = 0;
    if (getOperation().isExternal())
      return;
    Block &block = getOperation().getBody().front();
    for (auto cluster : llvm::make_early_inc_range(block.getOps<sched::ClusterOp>()))
      if (isSumOfRows(cluster))
        if (OpOperand *operand = operandOfProduct(sched::rootOf(cluster.getInputs()[0]), cluster))
          join(cluster, *operand);
    addStatistic("kedge-fuse-sums", "sums joined", joined);
  }

  /// The operand of a product that has `value`'s rows, of which `sum` is the sum.
  static OpOperand *operandOfProduct(Value value, sched::ClusterOp sum) {
    for (OpOperand &use : value.getUses()) {
      if (auto view = dyn_cast<sched::ViewOp>(use.getOwner())) {
        if (OpOperand *found = operandOfProduct(view.getResult(), sum))
          return found;
        continue;
      }
      auto call = dyn_cast<LibraryOp>(use.getOwner());
      if (call && mayTakeSums(call) &&
          rowsTypeOf(value).getShape().back() == rowsTypeOf(sum.getResult(0)).getShape()[0] &&
          !epilogueFor(use).empty() && precedes(call, sum.getResult(0)))
        return &use;
    }
    return nullptr;
  }

  static bool precedes(Operation *op, Value readLater) {
    return llvm::all_of(readLater.getUsers(), [&](Operation *user) { return op->isBeforeInBlock(user); });
  }

  void join(sched::ClusterOp sum, OpOperand &operand) {
    auto product = cast<LibraryOp>(operand.getOwner());
    OpBuilder builder(product);
    auto trans = [&](StringRef name) {
      return builder.getNamedAttr(name, builder.getBoolAttr(hasFlag(product, name)));
    };
    auto attrs = builder.getDictionaryAttr(
        {builder.getNamedAttr("epilogue", builder.getStringAttr(epilogueFor(operand))), trans("transA"),
         trans("transB")});
    auto fused = LibraryOp::create(builder, product.getLoc(),
                                   TypeRange{product.getResult(0).getType(), sum.getResult(0).getType()},
                                   train::FusedProductOp::getOperationName(), product.getInputs(), attrs,
                                   IntegerAttr(), false, StringAttr());
    fused->setDiscardableAttrs(product->getDiscardableAttrDictionary());
    product.getResult(0).replaceAllUsesWith(fused.getResult(0));
    sum.getResult(0).replaceAllUsesWith(fused.getResult(1));
    product.erase();
    sum.erase();
    ++joined;
  }
};
} // namespace
} // namespace kedge::schedule
