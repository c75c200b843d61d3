#include "passes/Partition/BlockUpdates.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "passes/Partition/PartAlgebra.h"

using namespace mlir;

namespace kedge::partition {
namespace {

/// A reshape leaves elements in their order, and parts are cut of elements.
Value flat(Value x) {
  while (auto reshape = x.getDefiningOp<onnx::ReshapeOp>())
    x = reshape.getData();
  return x;
}

/// Borders of ranks lie between blocks, in the parameter as in the blocks: nothing was added to fill the last
/// one.
bool isCutBetweenBlocks(Operation *op, int64_t ranks) {
  Value param = op->getOperand(0);
  return !flat(param).getDefiningOp<onnx::ConcatOp>() && shapeOf(param)[0] % ranks == 0;
}

/// Whether `x` has an entry, or a row, for each block.
bool leadsWithBlocks(Operation *op, Value x) {
  return rankOf(x) > 0 && shapeOf(x)[0] == shapeOf(op->getOperand(0))[0];
}

/// Codes, or a number for each block: not the parameter or its gradient.
bool isOfBlocks(Operation *op, Value state) {
  return leadsWithBlocks(op, state) && (elementOf(state).isInteger(8) || rankOf(state) == 1);
}

/// Stands where the update does.
Value reshaped(OpBuilder &builder, Operation *update, Value x, ArrayRef<int64_t> shape) {
  auto reshape = onnx::ReshapeOp::create(builder, update->getLoc(), x, shape);
  setPlace(reshape, placeOf(update));
  return reshape;
}

struct PartOfBlocks : PartPattern<dist::LocalShardOp> {
  using PartPattern::PartPattern;

  LogicalResult matchAndRewrite(dist::LocalShardOp part, PatternRewriter &rewriter) const override {
    if (part.getInputs().size() != 1)
      return failure();
    Operation *update = flat(part.getInputs()[0]).getDefiningOp();
    const int64_t ranks = part.getRanks();
    if (!update || !update->hasTrait<train::UpdatesBlocks>() || !isCutBetweenBlocks(update, ranks))
      return failure();
    rewriter.setInsertionPoint(update);
    ++onParts;
    Operation *made = onOwnBlocks(update, part, rewriter);
    for (auto [k, result] : llvm::enumerate(update->getResults()))
      replaceParts(result, ownFlat(made->getResult(k), update, rewriter), ranks, rewriter);
    return success();
  }

  static Operation *onOwnBlocks(Operation *update, dist::LocalShardOp part, PatternRewriter &rewriter) {
    const int64_t ranks = part.getRanks();
    auto own = [&](Type whole) {
      SmallVector<int64_t> shape(cast<RankedTensorType>(whole).getShape());
      shape[0] /= ranks;
      return RankedTensorType::get(shape, cast<RankedTensorType>(whole).getElementType());
    };
    SmallVector<Value> operands;
    for (Value operand : update->getOperands()) {
      if (!leadsWithBlocks(update, operand)) {
        operands.push_back(operand);
        continue;
      }
      auto piece = dist::LocalShardOp::create(rewriter, part.getLoc(), flat(operand), part.group());
      setPlace(piece, placeOf(update));
      operands.push_back(reshaped(rewriter, update, piece.getResult(0), own(operand.getType()).getShape()));
    }
    SmallVector<Type> types =
        llvm::map_to_vector(update->getResultTypes(), [&](Type type) -> Type { return own(type); });
    OperationState state(update->getLoc(), update->getName(), operands, types, update->getAttrs());
    return rewriter.create(state);
  }

  static Value ownFlat(Value x, Operation *update, PatternRewriter &rewriter) {
    return rankOf(x) == 1 ? x : reshaped(rewriter, update, x, {elementCount(shapeOf(x))});
  }

  static void replaceParts(Value whole, Value own, int64_t ranks, PatternRewriter &rewriter) {
    for (Operation *user : llvm::make_early_inc_range(whole.getUsers())) {
      if (auto reshape = dyn_cast<onnx::ReshapeOp>(user))
        replaceParts(reshape, own, ranks, rewriter);
      else if (auto part = dyn_cast<dist::LocalShardOp>(user); part && part.getInputs().size() == 1)
        rewriter.replaceOp(part, own);
    }
  }
};
} // namespace

llvm::DenseSet<StringAttr> statesInBlocks(func::FuncOp function, int64_t ranks) {
  llvm::DenseSet<StringAttr> states;
  function.walk([&](Operation *op) {
    if (!op->hasTrait<train::UpdatesBlocks>() || !isCutBetweenBlocks(op, ranks))
      return;
    for (Value state : op->getOperands())
      if (auto argument = dyn_cast<BlockArgument>(state); argument && isOfBlocks(op, state))
        if (FlatSymbolRefAttr name = train::stateOfArgument(function, argument.getArgNumber()))
          states.insert(name.getAttr());
  });
  return states;
}

void populateBlockUpdates(RewritePatternSet &patterns, int64_t &onParts) {
  patterns.add<PartOfBlocks>(patterns.getContext(), onParts);
}

} // namespace kedge::partition
