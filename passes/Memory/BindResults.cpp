#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Dialect/Sched/SinglePass.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "passes/Memory/Passes.h"

namespace kedge::memory {
#define GEN_PASS_DEF_BINDRESULTS
#include "passes/Memory/Passes.h.inc"

namespace {
using namespace mlir;

struct BindResults : impl::BindResultsBase<BindResults> {
  int64_t copies = 0;
  DenseMap<Attribute, Value> arguments; ///< by state

  void run() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    Operation *terminator = function.getBody().front().getTerminator();
    arguments.clear();
    for (BlockArgument argument : function.getArguments())
      if (FlatSymbolRefAttr state = train::stateOfArgument(function, argument.getArgNumber()))
        arguments.try_emplace(state, argument);
    llvm::DenseSet<Value> bound;
    // States last: a copy of old state that goes elsewhere must come before its update is judged.
    SmallVector<OpOperand *> operands;
    for (bool states : {false, true})
      for (OpOperand &operand : terminator->getOpOperands())
        if (states == bool(train::stateOfResult(function, operand.getOperandNumber())))
          operands.push_back(&operand);
    for (OpOperand *next : operands) {
      OpOperand &operand = *next;
      unsigned index = operand.getOperandNumber();
      Value root = sched::rootOf(operand.get());
      if (isUnchangedState(function, index, root))
        continue;
      if (!root.getDefiningOp() || isa<onnx::ConstantOp>(root.getDefiningOp()) || bound.contains(root) ||
          !fitsInPlace(function, index, cast<OpResult>(root)))
        operand.set(insertCopy(placeOfCopy(root, operand.get(), terminator), operand.get()));
      bound.insert(sched::rootOf(operand.get()));
    }
    addStatistic("copies inserted", copies);
  }

  /// Of the state that a result is the new value of; null: none.
  Value stateArgument(func::FuncOp function, unsigned result) const {
    FlatSymbolRefAttr state = train::stateOfResult(function, result);
    return state ? arguments.lookup(state) : Value();
  }

  bool isUnchangedState(func::FuncOp function, unsigned result, Value root) const {
    Value argument = stateArgument(function, result);
    return argument && argument == root;
  }

  /// New state may be computed over the old one when every other reader of the old one comes first.
  bool fitsInPlace(func::FuncOp function, unsigned index, OpResult root) const {
    Value argument = stateArgument(function, index);
    if (!argument)
      return true;
    if (sched::mayOverwriteRows(root, argument))
      return allReadersBefore(argument, root.getOwner());
    auto cluster = dyn_cast<sched::ClusterOp>(root.getOwner()); // the target is not known yet
    if (cluster && !sched::storesAfterAllReads(cluster, root, argument))
      return false;
    return sched::mayOverwrite(root, argument) && allReadersBefore(argument, root.getOwner());
  }

  static bool allReadersBefore(Value value, Operation *writer) {
    for (Operation *user : value.getUsers()) {
      if (user == writer || user->hasTrait<OpTrait::IsTerminator>())
        continue;
      if (auto view = dyn_cast<sched::ViewOp>(user)) {
        if (!allReadersBefore(view.getResult(), writer))
          return false;
      } else if (!user->isBeforeInBlock(writer)) {
        return false;
      }
    }
    return true;
  }

  /// A constant is there from the begin on: a stage of a pipeline that stops at the norm has its loss of zero
  /// by then.
  static Operation *placeOfCopy(Value root, Value value, Operation *terminator) {
    auto constant = value == root ? root.getDefiningOp<onnx::ConstantOp>() : onnx::ConstantOp();
    if (!constant)
      return terminator;
    constant->moveBefore(&constant->getBlock()->front());
    return constant->getNextNode();
  }

  Value insertCopy(Operation *before, Value value) {
    ++copies;
    OpBuilder builder(before);
    PlaceAttr place = placeOfProducer(sched::rootOf(value));
    auto type = cast<RankedTensorType>(value.getType());
    AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
    auto maps = builder.getAffineMapArrayAttr({identity});
    auto cluster = sched::ClusterOp::create(builder, value.getLoc(), TypeRange(type), value, type.getShape(),
                                            ArrayRef<int64_t>{}, maps, maps, IntegerAttr(), StringAttr());
    setPlace(cluster, place ? place : PlaceAttr::get(&getContext(), TrainingPhase::Forward, "", "returned"));
    Block &block = cluster.getBody().emplaceBlock();
    Type element = type.getElementType();
    if (auto integer = dyn_cast<IntegerType>(element))
      element = builder.getIntegerType(integer.getWidth());
    builder.setInsertionPointToStart(&block);
    Value scalar = block.addArgument(element, value.getLoc());
    sched::YieldOp::create(builder, value.getLoc(), scalar);
    return cluster.getResult(0);
  }
};
} // namespace
} // namespace kedge::memory
