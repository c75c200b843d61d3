#include "passes/Precision/MasterPairs.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "passes/Precision/WorkingCopies.h"

using namespace mlir;

namespace kedge::precision {
using train::BindingKind;

/// Ids of dropout count from 0: those of parameters from here.
constexpr int64_t kFirstId = int64_t(1) << 31;

SmallVector<MasterPair> masterPairs(ModuleOp module) {
  SmallVector<MasterPair> pairs;
  int64_t id = kFirstId;
  llvm::DenseMap<StringAttr, MasterPair> parameters;
  for (auto state : module.getOps<train::StateOp>())
    if (state.getRole() == train::Role::Parameter || state.getRole() == train::Role::Frozen)
      parameters[state.getSymNameAttr()] = {state, {}, id++};
  for (auto working : module.getOps<train::StateOp>()) {
    if (working.getRole() != train::Role::WorkingCopy)
      continue;
    MasterPair pair = parameters.lookup(working.getOfAttr().getAttr());
    pair.working = working;
    if (pair.master.getRole() == train::Role::Parameter)
      pairs.push_back(pair);
  }
  return pairs;
}

static bool isOf(train::BindingAttr binding, train::StateOp state) {
  return binding && binding.is(BindingKind::State, state.getSymName());
}

std::optional<unsigned> argumentOf(func::FuncOp function, train::StateOp state) {
  for (unsigned k = 0; k < function.getNumArguments(); ++k)
    if (isOf(train::bindingOfArgument(function, k), state))
      return k;
  return std::nullopt;
}

std::optional<unsigned> resultOf(func::FuncOp function, train::StateOp state) {
  for (unsigned k = 0; k < function.getNumResults(); ++k)
    if (isOf(train::bindingOfResult(function, k), state))
      return k;
  return std::nullopt;
}

PlaceAttr updateOf(train::StateOp state) {
  return PlaceAttr::get(state.getContext(), TrainingPhase::Update, "",
                        state.getOnnxName().value_or(state.getSymName()));
}

void forgetRestored(func::FuncOp restore, MasterPair pair) {
  std::optional<unsigned> result = resultOf(restore, pair.working),
                          argument = argumentOf(restore, pair.master);
  if (!result || !argument)
    return;
  Operation *terminator = restore.getBody().front().getTerminator();
  Operation *cast = terminator->getOperand(*result).getDefiningOp();
  terminator->eraseOperand(*result);
  (void)restore.eraseResult(*result);
  cast->erase();
  (void)restore.eraseArgument(*argument);
}

void readCopy(func::FuncOp function, MasterPair pair,
              llvm::function_ref<Value(PlacedBuilder &, Value)> widened) {
  std::optional<unsigned> master = argumentOf(function, pair.master),
                          working = argumentOf(function, pair.working);
  if (master) {
    BlockArgument wide = function.getArgument(*master);
    BlockArgument narrow = working ? function.getArgument(*working) : wide;
    PlacedBuilder builder(&function.getBody().front().front(), updateOf(pair.master));
    if (!working)
      wide.setType(pair.working.getType());
    Value value = widened(builder, narrow);
    wide.replaceAllUsesExcept(value, value.getDefiningOp());
    if (working)
      (void)function.eraseArgument(*master);
  }
  if (std::optional<unsigned> left = argumentOf(function, pair.working))
    train::bindArgument(function, *left, bindingOf(pair.master));
}

void eraseCopyResult(func::FuncOp function, MasterPair pair) {
  std::optional<unsigned> copy = resultOf(function, pair.working);
  if (!copy)
    return;
  Operation *terminator = function.getBody().front().getTerminator();
  Operation *cast = terminator->getOperand(*copy).getDefiningOp();
  terminator->eraseOperand(*copy);
  (void)function.eraseResult(*copy);
  if (cast && cast->use_empty())
    cast->erase();
}

void updateType(func::FuncOp function) {
  Block &body = function.getBody().front();
  function.setFunctionType(FunctionType::get(function.getContext(), body.getArgumentTypes(),
                                             body.getTerminator()->getOperandTypes()));
}

} // namespace kedge::precision
