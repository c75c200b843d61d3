#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Dist/RoutingOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::dist;

#define GET_OP_CLASSES
#include "kedge/Dialect/Dist/CollectiveOps.cpp.inc"

namespace {
/// The axis has as many ranks as the module's mesh says, and every operand a result.
template <typename OpType> LogicalResult verifyForm(OpType op) {
  if (op.getInputs().empty() || op.getInputs().size() != op.getOutputs().size())
    return op.emitOpError("has ") << op.getInputs().size() << " operands and " << op.getOutputs().size()
                                  << " results: expected as many, and at least one";
  auto module = op->template getParentOfType<ModuleOp>();
  auto mesh = module ? module->template getAttrOfType<MeshAttr>(meshName) : MeshAttr();
  if (mesh && mesh.sizeOf(op.getAxis()) != static_cast<int64_t>(op.getRanks()))
    return op.emitOpError("is over ") << op.getRanks() << " ranks along '" << op.getAxis()
                                      << "', where the module's mesh has " << mesh.sizeOf(op.getAxis());
  return success();
}

template <typename OpType> LogicalResult verifyParts(OpType op, ValueRange wholes, ValueRange parts) {
  if (failed(verifyForm(op)))
    return failure();
  for (auto [whole, part] : llvm::zip(wholes, parts))
    if (part.getType() != localShardOf(whole.getType(), op.getRanks()))
      return op.emitOpError("takes ")
             << part.getType() << " for a part of " << whole.getType() << " over " << op.getRanks()
             << " ranks, expected " << localShardOf(whole.getType(), op.getRanks());
  return success();
}

template <typename OpType> LogicalResult verifySame(OpType op) {
  if (failed(verifyForm(op)))
    return failure();
  for (auto [from, to] : llvm::zip(op.getInputs(), op.getOutputs()))
    if (from.getType() != to.getType())
      return op.emitOpError("gives ")
             << to.getType() << " for " << from.getType() << ", expected the same type";
  return success();
}

SmallVector<Type> shardsOf(ValueRange wholes, int64_t ranks) {
  SmallVector<Type> types;
  for (Value whole : wholes)
    types.push_back(localShardOf(whole.getType(), ranks));
  return types;
}

/// A collective carries no tensor that nobody reads.
template <typename OpType> struct DropUnread : OpRewritePattern<OpType> {
  using OpRewritePattern<OpType>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpType op, PatternRewriter &rewriter) const override {
    SmallVector<Value> inputs, kept;
    SmallVector<Type> types;
    for (auto [input, output] : llvm::zip(op.getInputs(), op.getOutputs()))
      if (!output.use_empty()) {
        inputs.push_back(input);
        kept.push_back(output);
        types.push_back(output.getType());
      }
    if (kept.empty() || kept.size() == op.getInputs().size())
      return failure();
    auto smaller = OpType::create(rewriter, op.getLoc(), types, inputs, op->getAttrs());
    for (auto [before, after] : llvm::zip(kept, smaller.getOutputs()))
      rewriter.replaceAllUsesWith(before, after);
    rewriter.eraseOp(op);
    return success();
  }
};

/// The own part of what was gathered is what the rank gave.
struct LocalShardOfGathered : OpRewritePattern<LocalShardOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LocalShardOp op, PatternRewriter &rewriter) const override {
    bool changed = false;
    for (auto [input, output] : llvm::zip(op.getInputs(), op.getOutputs())) {
      auto gathered = input.getDefiningOp<AllGatherOp>();
      if (!gathered || gathered.getRanks() != op.getRanks() || gathered.getAxis() != op.getAxis() ||
          output.use_empty())
        continue;
      rewriter.replaceAllUsesWith(output, gathered.getInputs()[cast<OpResult>(input).getResultNumber()]);
      changed = true;
    }
    return success(changed);
  }
};
} // namespace

bool kedge::dist::isCollective(Operation *op) {
  return isa<ReduceScatterOp, AllGatherOp, AllReduceOp, BroadcastOp, SendRecvOp, SendOp, ReceiveOp,
             DispatchOp, CombineOp>(op);
}

void ReduceScatterOp::build(OpBuilder &builder, OperationState &state, ValueRange inputs, RankGroup group) {
  build(builder, state, shardsOf(inputs, group.ranks), inputs, builder.getI64IntegerAttr(group.ranks),
        group.axis, StringAttr());
}
void LocalShardOp::build(OpBuilder &builder, OperationState &state, ValueRange inputs, RankGroup group) {
  build(builder, state, shardsOf(inputs, group.ranks), inputs, builder.getI64IntegerAttr(group.ranks),
        group.axis);
}
void AllGatherOp::build(OpBuilder &builder, OperationState &state, TypeRange wholes, ValueRange inputs,
                        RankGroup group) {
  build(builder, state, wholes, inputs, builder.getI64IntegerAttr(group.ranks), group.axis);
}
void SendRecvOp::build(OpBuilder &builder, OperationState &state, Value input, RankGroup group,
                       ArrayRef<int64_t> from) {
  build(builder, state, input.getType(), input, builder.getI64IntegerAttr(group.ranks), group.axis,
        builder.getDenseI64ArrayAttr(from));
}
void AllReduceOp::build(OpBuilder &builder, OperationState &state, Value input, RankGroup group,
                        ReduceKind kind) {
  build(builder, state, input.getType(), input, builder.getI64IntegerAttr(group.ranks), group.axis,
        builder.getStringAttr(stringifyReduceKind(kind)), StringAttr());
}

LogicalResult ReduceScatterOp::verify() { return verifyParts(*this, getInputs(), getOutputs()); }
LogicalResult LocalShardOp::verify() { return verifyParts(*this, getInputs(), getOutputs()); }
LogicalResult AllGatherOp::verify() { return verifyParts(*this, getOutputs(), getInputs()); }

LogicalResult AllReduceOp::verify() { return verifySame(*this); }

LogicalResult AllReduceOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                         SmallVectorImpl<Value> &operandGrads) {
  if (getKind() != ReduceKind::Sum)
    return emitOpError("of kind '") << stringifyReduceKind(getKind()) << "' has no gradient: only sums have";
  for (Value grad : resultGrads)
    operandGrads.push_back(
        grad ? AllReduceOp::create(builder, getLoc(), grad, group(), ReduceKind::Sum).getResult(0) : Value());
  return success();
}

LogicalResult BroadcastOp::verify() {
  int64_t root = getRoot();
  if (root < 0 || root >= static_cast<int64_t>(getRanks()))
    return emitOpError("sends from rank ") << root << " of " << getRanks() << ", expected one of them";
  return verifySame(*this);
}

LogicalResult BroadcastOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                         SmallVectorImpl<Value> &operandGrads) {
  SmallVector<int64_t> rootAlone(getRanks(), -1);
  rootAlone[getRoot()] = getRoot();
  for (Value grad : resultGrads) {
    if (grad)
      grad = AllReduceOp::create(builder, getLoc(), grad, group(), ReduceKind::Sum).getResult(0);
    operandGrads.push_back(grad ? SendRecvOp::create(builder, getLoc(), grad, group(), rootAlone).getResult(0)
                                : Value());
  }
  return success();
}

LogicalResult SendRecvOp::verify() {
  const int64_t ranks = static_cast<int64_t>(getRanks()), least = ranks > 1 ? -1 : 0;
  if (static_cast<int64_t>(getFrom().size()) != ranks)
    return emitOpError("says for ") << getFrom().size() << " ranks from whom they receive, expected "
                                    << ranks;
  for (auto [receiver, sender] : llvm::enumerate(getFrom()))
    if (sender < least || sender >= ranks)
      return emitOpError("has rank ") << receiver << " receive from rank " << sender << " of " << ranks
                                      << ", expected one of them" << (ranks > 1 ? ", or -1 for none" : "");
  return verifySame(*this);
}

LogicalResult SendRecvOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                        SmallVectorImpl<Value> &operandGrads) {
  SmallVector<int64_t> back(getRanks(), -1);
  for (auto [receiver, sender] : llvm::enumerate(getFrom()))
    if (sender >= 0 && std::exchange(back[sender], receiver) != -1)
      return emitOpError("has no gradient: rank ") << sender << " sends to several ranks";
  for (Value grad : resultGrads)
    operandGrads.push_back(grad ? create(builder, getLoc(), grad, group(), back).getResult(0) : Value());
  return success();
}

void ReduceScatterOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropUnread<ReduceScatterOp>>(context);
}
void AllGatherOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropUnread<AllGatherOp>>(context);
}
void LocalShardOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropUnread<LocalShardOp>, LocalShardOfGathered>(context);
}

/// The peer is a rank of the axis, which has as many as the module's mesh says.
template <typename OpType> static LogicalResult verifyTransfer(OpType op) {
  if (op.getPeer() >= op.getRanks())
    return op.emitOpError("is with rank ")
           << op.getPeer() << " of " << op.getRanks() << ", expected one of them";
  auto module = op->template getParentOfType<ModuleOp>();
  auto mesh = module ? module->template getAttrOfType<MeshAttr>(meshName) : MeshAttr();
  if (mesh && mesh.sizeOf(op.getAxis()) != static_cast<int64_t>(op.getRanks()))
    return op.emitOpError("is over ") << op.getRanks() << " ranks along '" << op.getAxis()
                                      << "', where the module's mesh has " << mesh.sizeOf(op.getAxis());
  if (op.getToken().getType() != op.getNext().getType())
    return op.emitOpError("gives the token ")
           << op.getNext().getType() << " for " << op.getToken().getType() << ", expected the same type";
  return success();
}
LogicalResult SendOp::verify() { return verifyTransfer(*this); }
LogicalResult ReceiveOp::verify() { return verifyTransfer(*this); }
