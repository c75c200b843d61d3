#include "lib/Dialect/Kedge/Place.h"
#include "lib/Dialect/ONNX/Math/MathOps.h"
#include "lib/Dialect/ONNX/ShapeUtils.h"
#include "lib/Dialect/Train/Bindings.h"
#include "lib/Dialect/Train/FunctionKind.h"
#include "lib/Dialect/Train/Optimizer/OptimizerOps.h"
#include "lib/Dialect/Train/StateOps.h"
#include "lib/Support/Statistics.h"
#include "lib/Support/StorageBytes.h"
#include "passes/Precision/Passes.h"

namespace kedge::precision {
#define GEN_PASS_DEF_DROPMASTERS
#include "passes/Precision/Passes.h.inc"

namespace {
using namespace mlir;
using train::BindingKind;

/// Ids of dropout count from 0: those of parameters from here.
constexpr int64_t kFirstId = int64_t(1) << 31;

struct Pair {
  train::StateOp master, working;
  int64_t id = 0; ///< of its random numbers
};

bool isOf(train::BindingAttr binding, train::StateOp state) {
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

struct DropMasters : impl::DropMastersBase<DropMasters> {
  void runOnOperation() override {
    SmallVector<Pair> pairs = findPairs();
    int64_t bytes = 0;
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      for (const Pair &pair : pairs)
        train::kindOf(function) == train::FunctionKind::Restore ? forget(function, pair)
                                                                : rewrite(function, pair);
      updateType(function);
      if (train::kindOf(function) == train::FunctionKind::Restore && function.getNumResults() == 0)
        function.erase();
    }
    for (Pair &pair : pairs) {
      bytes += bytesOf(pair.master.getType());
      pair.master.setTypeAttr(TypeAttr::get(pair.working.getType()));
      pair.working.erase();
    }
    addStatistic("kedge-drop-masters", "masters dropped", pairs.size());
    addStatistic("kedge-drop-masters", "bytes saved", bytes);
  }

  /// Parameters with a 16-bit working copy. Frozen tensors keep their values: nothing rounds them twice.
  SmallVector<Pair> findPairs() {
    SmallVector<Pair> pairs;
    int64_t id = kFirstId;
    llvm::DenseMap<StringAttr, Pair> parameters;
    for (auto state : getOperation().getOps<train::StateOp>())
      if (state.getRole() == train::Role::Parameter || state.getRole() == train::Role::Frozen)
        parameters[state.getSymNameAttr()] = {state, {}, id++};
    for (auto working : getOperation().getOps<train::StateOp>()) {
      if (working.getRole() != train::Role::WorkingCopy)
        continue;
      Pair pair = parameters.lookup(working.getOfAttr().getAttr());
      pair.working = working;
      if (pair.master.getRole() == train::Role::Parameter)
        pairs.push_back(pair);
    }
    return pairs;
  }

  static train::BindingAttr bindingOf(train::StateOp state) {
    return train::BindingAttr::get(state.getContext(), BindingKind::State, state.getSymName());
  }

  /// What restored the copy is gone with the master.
  static void forget(func::FuncOp restore, Pair pair) {
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

  void rewrite(func::FuncOp function, Pair pair) {
    readCopy(function, pair);
    if (std::optional<unsigned> result = resultOf(function, pair.master))
      roundResult(function, pair, *result);
    if (std::optional<unsigned> copy = resultOf(function, pair.working)) {
      Operation *terminator = function.getBody().front().getTerminator();
      Operation *cast = terminator->getOperand(*copy).getDefiningOp();
      terminator->eraseOperand(*copy);
      (void)function.eraseResult(*copy);
      if (cast && cast->use_empty())
        cast->erase();
    }
  }

  /// Who read the master reads the 16-bit value, widened.
  void readCopy(func::FuncOp function, Pair pair) {
    std::optional<unsigned> master = argumentOf(function, pair.master),
                            working = argumentOf(function, pair.working);
    if (master) {
      BlockArgument wide = function.getArgument(*master);
      BlockArgument narrow = working ? function.getArgument(*working) : wide;
      PlacedBuilder builder(&function.getBody().front().front(), updateOf(pair));
      if (!working)
        wide.setType(pair.working.getType());
      auto cast =
          onnx::CastOp::create(builder, pair.master.getLoc(), narrow, TypeAttr::get(builder.getF32Type()));
      wide.replaceAllUsesExcept(cast.getResult(), cast);
      if (working)
        (void)function.eraseArgument(*master);
    }
    if (std::optional<unsigned> left = argumentOf(function, pair.working))
      train::bindArgument(function, *left, bindingOf(pair.master));
  }

  void roundResult(func::FuncOp function, Pair pair, unsigned result) {
    Operation *terminator = function.getBody().front().getTerminator();
    PlacedBuilder builder(terminator, updateOf(pair));
    Value exact = terminator->getOperand(result);
    Value seed = scalar(function, "seed"), step = scalar(function, "step");
    Value rounded = train::StochasticRoundOp::create(builder, exact.getLoc(), exact, seed, step,
                                                     builder.getI64IntegerAttr(pair.id));
    terminator->setOperand(result, rounded);
  }

  PlaceAttr updateOf(Pair pair) {
    return PlaceAttr::get(&getContext(), TrainingPhase::Update, "",
                          pair.master.getOnnxName().value_or(pair.master.getSymName()));
  }

  Value scalar(func::FuncOp function, StringRef name) {
    for (BlockArgument argument : function.getArguments())
      if (auto binding = train::bindingOfArgument(function, argument.getArgNumber());
          binding && binding.is(BindingKind::Scalar, name))
        return argument;
    auto binding = train::BindingAttr::get(&getContext(), BindingKind::Scalar, name);
    auto type = RankedTensorType::get({}, IntegerType::get(&getContext(), 64));
    (void)function.insertArgument(function.getNumArguments(), type, train::boundTo(binding),
                                  function.getLoc());
    return function.getArguments().back();
  }

  static void updateType(func::FuncOp function) {
    Block &body = function.getBody().front();
    function.setFunctionType(FunctionType::get(function.getContext(), body.getArgumentTypes(),
                                               body.getTerminator()->getOperandTypes()));
  }
};
} // namespace
} // namespace kedge::precision
