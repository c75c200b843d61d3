#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/Sched/BuildCluster.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Interfaces/ViewOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Schedule/Passes.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_FORMCLUSTERS
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;

/// A splat operand becomes a constant of the body.
void inlineSplats(sched::ClusterOp cluster) {
  Block &block = cluster.getBody().front();
  llvm::BitVector dead(block.getNumArguments());
  SmallVector<Attribute> maps;
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  for (auto [i, input] : llvm::enumerate(cluster.getInputs())) {
    auto constant = input.getDefiningOp<onnx::ConstantOp>();
    auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
    BlockArgument argument = block.getArgument(i);
    if (!dense || !dense.isSplat() || dense.getNumElements() == 0) {
      maps.push_back(cluster.getInputMaps()[i]);
      continue;
    }
    auto value = dense.getSplatValue<Attribute>();
    if (auto integer = dyn_cast<IntegerAttr>(value))
      value = builder.getIntegerAttr(argument.getType(), integer.getValue());
    argument.replaceAllUsesWith(
        arith::ConstantOp::create(builder, cluster.getLoc(), cast<TypedAttr>(value)).getResult());
    dead.set(i);
  }
  block.eraseArguments(dead);
  cluster->eraseOperands(dead);
  cluster.setInputMapsAttr(builder.getArrayAttr(maps));
}

struct FormClusters : impl::FormClustersBase<FormClusters> {
  int64_t clusters = 0, calls = 0, views = 0;

  void run() override {
    if (getOperation().isExternal())
      return;
    Block &block = getOperation().getBody().front();
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      if (!isa<onnx::ConstantOp, train::FinalGradientOp>(op) &&
          !isa_and_nonnull<sched::SchedDialect>(op.getDialect()))
        if (failed(convert(op)))
          return signalPassFailure();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
    addStatistic("clusters", clusters);
    addStatistic("library calls", calls);
    addStatistic("views", views);
  }

  LogicalResult convert(Operation &op) {
    PlacedBuilder builder(&op);
    if (isa<ViewOpInterface>(op)) {
      auto view = sched::ViewOp::create(builder, op.getLoc(), op.getResult(0).getType(), op.getOperand(0));
      op.getResult(0).replaceAllUsesWith(view.getResult());
      ++views;
    } else if (isClusterable(&op)) {
      convertToCluster(builder, op);
      ++clusters;
    } else if (isMemoryEffectFree(&op) &&
               llvm::all_of(op.getResultTypes(), [](Type t) { return isa<RankedTensorType>(t); })) {
      sched::LibraryOp call = buildLibraryCall(builder, &op);
      copyValueNotes(&op, call);
      op.replaceAllUsesWith(call);
      ++calls;
    } else {
      return op.emitOpError("has no place in a schedule: it is no cluster, view or library call; expected "
                            "ops of level 2, which compute tensors "
                            "without side effects");
    }
    op.erase();
    return success();
  }

  void convertToCluster(OpBuilder &builder, Operation &op) {
    llvm::BitVector used(op.getNumResults());
    for (OpResult result : op.getResults())
      if (!result.use_empty())
        used.set(result.getResultNumber());
    if (used.none())
      used.set(0);
    sched::ClusterOp cluster = buildCluster(builder, &op, used);
    inlineSplats(cluster);
    SmallVector<DictionaryAttr> notes;
    for (auto [i, index] : llvm::enumerate(used.set_bits())) {
      notes.push_back(valueNoteOf(op.getResult(index)));
      op.getResult(index).replaceAllUsesWith(cluster.getResult(i));
    }
    setValueNotes(cluster, notes);
  }
};
} // namespace
} // namespace kedge::schedule
