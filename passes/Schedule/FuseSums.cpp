#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Dialect/Train/EpilogueOps.h"
#include "lib/Analysis/MatmulCall.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Schedule/Passes.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_FUSESUMS
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;
using analysis::MatmulCall;
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
  int64_t reductions = 0;
  const bool onlySums = llvm::all_of(cluster.getBody().front(), [&](Operation &op) {
    auto reduction = dyn_cast<sched::ReduceOp>(op);
    reductions += reduction && reduction.getKind() == sched::ReductionKind::Add;
    return reduction ? reduction.getKind() == sched::ReductionKind::Add
                     : isa<arith::ExtFOp, arith::TruncFOp, sched::YieldOp>(op);
  });
  return shapes && onlySums && reductions == 1 && train::takesEpilogue(type);
}

/// A product of two matrices to which nothing is added.
bool mayTakeSums(MatmulCall product) {
  const auto isMatrix = [](Value value) { return rowsTypeOf(value).getRank() == 2; };
  return !product.call().getClone() && product.call().getInputs().size() == 2 && product.alpha() == 1 &&
         isMatrix(product.a()) && isMatrix(product.b()) && train::takesEpilogue(product.y().getType());
}

/// The epilogue that sums the rows of this operand; none where the product does not sum over them.
std::optional<train::Epilogue> epilogueFor(MatmulCall product, unsigned operand) {
  using enum train::Epilogue;
  const bool sums = operand == MatmulCall::kA ? product.transA() : !product.transB();
  return sums ? std::optional(operand == MatmulCall::kA ? SumsA : SumsB) : std::nullopt;
}

struct FuseSums : impl::FuseSumsBase<FuseSums> {
  int64_t joined = 0;

  void run() override {
    joined = 0;
    if (getOperation().isExternal())
      return;
    Block &block = getOperation().getBody().front();
    for (auto cluster : llvm::make_early_inc_range(block.getOps<sched::ClusterOp>()))
      if (isSumOfRows(cluster))
        if (OpOperand *operand = operandOfMatmul(sched::rootOf(cluster.getInputs()[0]), cluster))
          join(cluster, *operand);
    addStatistic("sums joined", joined);
  }

  /// The operand of a product that has `value`'s rows, of which `sum` is the sum.
  static OpOperand *operandOfMatmul(Value value, sched::ClusterOp sum) {
    for (OpOperand &use : value.getUses()) {
      if (auto view = dyn_cast<sched::ViewOp>(use.getOwner())) {
        if (OpOperand *found = operandOfMatmul(view.getResult(), sum))
          return found;
        continue;
      }
      const auto product = MatmulCall::of(use.getOwner());
      if (product && mayTakeSums(*product) &&
          rowsTypeOf(value).getShape().back() == rowsTypeOf(sum.getResult(0)).getShape()[0] &&
          epilogueFor(*product, use.getOperandNumber()) && precedes(use.getOwner(), sum.getResult(0)))
        return &use;
    }
    return nullptr;
  }

  static bool precedes(Operation *op, Value readLater) {
    return llvm::all_of(readLater.getUsers(), [&](Operation *user) { return op->isBeforeInBlock(user); });
  }

  void join(sched::ClusterOp sum, OpOperand &operand) {
    const MatmulCall described = *MatmulCall::of(operand.getOwner());
    LibraryOp product = described.call();
    OpBuilder builder(product);
    const StringRef epilogue = stringifyEnum(*epilogueFor(described, operand.getOperandNumber()));
    auto attrs =
        builder.getDictionaryAttr({builder.getNamedAttr("epilogue", builder.getStringAttr(epilogue)),
                                   builder.getNamedAttr("transA", builder.getBoolAttr(described.transA())),
                                   builder.getNamedAttr("transB", builder.getBoolAttr(described.transB()))});
    auto fused = LibraryOp::create(builder, product.getLoc(),
                                   TypeRange{product.getResult(0).getType(), sum.getResult(0).getType()},
                                   train::FusedProductOp::getOperationName(), product.getInputs(), attrs,
                                   IntegerAttr(), false, StringAttr());
    fused->setDiscardableAttrs(product->getDiscardableAttrDictionary());
    setValueNotes(fused, {valueNoteOf(product.getResult(0)), valueNoteOf(sum.getResult(0))});
    product.getResult(0).replaceAllUsesWith(fused.getResult(0));
    sum.getResult(0).replaceAllUsesWith(fused.getResult(1));
    product.erase();
    sum.erase();
    ++joined;
  }
};
} // namespace
} // namespace kedge::schedule
