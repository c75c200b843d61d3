#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "kedge/Support/StorageBytes.h"
#include "passes/Precision/Floats.h"
#include "passes/Precision/Passes.h"
#include "passes/Precision/WorkingCopies.h"

namespace kedge::precision {
#define GEN_PASS_DEF_WIDENSTATES
#include "passes/Precision/Passes.h.inc"

namespace {
using namespace mlir;

bool isHalf(Type element) { return element.isBF16() || element.isF16(); }

struct WidenStates : impl::WidenStatesBase<WidenStates> {
  void run() override {
    func::FuncOp model = train::functionOf(getOperation(), train::FunctionKind::Model);
    // An algorithm of training_info computes in the types that it was written in.
    if (!model || train::isOfTrainingInfo(model))
      return;
    SmallVector<CopiedState> made;
    int64_t statistics = 0;
    for (BlockArgument argument : model.getArguments()) {
      train::StateOp state = narrowStateOf(model, argument);
      if (state && state.getRole() == train::Role::Parameter)
        made.push_back(copied(model, argument, state));
      else if (state && state.getRole() == train::Role::Buffer && isRunningStatistic(argument)) {
        widen(state);
        argument.setType(state.getType());
        widenResults(argument);
        ++statistics;
      }
    }
    model.setFunctionType(FunctionType::get(&getContext(), model.getBody().front().getArgumentTypes(),
                                            model.getFunctionType().getResults()));
    addToRestore(model, made);
    addStatistic("parameters", made.size());
    addStatistic("running statistics", statistics);
  }

  static train::StateOp narrowStateOf(func::FuncOp model, BlockArgument argument) {
    if (!isHalf(elementOf(argument)))
      return {};
    FlatSymbolRefAttr symbol = train::stateOfArgument(model, argument.getArgNumber());
    auto state =
        symbol ? SymbolTable::lookupNearestSymbolFrom<train::StateOp>(model, symbol) : train::StateOp();
    return state && !tune::encodingOf(state) ? state : train::StateOp();
  }

  /// The file's bytes stay of their type.
  static void widen(train::StateOp state) {
    auto type = cast<RankedTensorType>(state.getType());
    auto weight = dyn_cast_if_present<train::WeightAttr>(state.getInitAttr());
    auto resized = tune::resizedOf(state);
    if (weight && weight.getLength() == bytesOf(resized ? resized.inFile(type) : type) &&
        !state->hasAttr(tune::storedName))
      state->setAttr(tune::storedName, TypeAttr::get(type.getElementType()));
    state.setTypeAttr(TypeAttr::get(type.clone(Float32Type::get(state.getContext()))));
  }

  static CopiedState copied(func::FuncOp model, BlockArgument argument, train::StateOp state) {
    widen(state);
    train::StateOp working = makeWorkingCopy(state, elementOf(argument));
    train::bindArgument(model, argument.getArgNumber(), bindingOf(working));
    return {state, working};
  }

  static bool isRunningStatistic(BlockArgument argument) {
    return !argument.use_empty() && llvm::all_of(argument.getUses(), [](OpOperand &use) {
      return isa<train::BatchNormOp>(use.getOwner()) && use.getOperandNumber() >= 3;
    });
  }

  /// A norm gives statistics in the type in which it takes them.
  static void widenResults(BlockArgument argument) {
    for (OpOperand &use : argument.getUses())
      cast<train::BatchNormOp>(use.getOwner())
          ->getResult(use.getOperandNumber() - 2)
          .setType(argument.getType());
  }
};
} // namespace
} // namespace kedge::precision
