#include "kedge/Dialect/ONNX/Matmuls.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "passes/Autodiff/FunctionEditing.h"
#include "passes/Autodiff/Passes.h"
#include "runtime/io/NamePattern.h"

namespace kedge::autodiff {
#define GEN_PASS_DEF_CHOOSEMATRICES
#include "passes/Autodiff/Passes.h.inc"

namespace {
using namespace mlir;

struct ChooseMatrices : impl::ChooseMatricesBase<ChooseMatrices> {
  using Base::Base;
  DenseSet<Operation *> heads;

  void run() override {
    auto model = train::functionOf(getOperation(), train::FunctionKind::Model);
    if (!model) {
      getOperation().emitError("has no function @model with matrices to choose from");
      return signalPassFailure();
    }
    heads = onnx::headsBefore(returnOf(model));
    int64_t chosen = 0;
    const SymbolTable symbols(getOperation());
    for (BlockArgument argument : model.getArguments()) {
      FlatSymbolRefAttr symbol = train::stateOfArgument(model, argument.getArgNumber());
      auto state = symbol ? symbols.lookup<train::StateOp>(symbol.getValue()) : train::StateOp();
      FailureOr<bool> wanted = state ? isWanted(state, argument) : false;
      if (failed(wanted))
        return signalPassFailure();
      if (!*wanted)
        continue;
      state->setAttr(tune::orthogonalName,
                     neurons ? Attribute(IntegerAttr::get(IntegerType::get(&getContext(), 64),
                                                          onnx::matrixUse(argument).outputs))
                             : UnitAttr::get(&getContext()));
      ++chosen;
    }
    if (chosen == 0 && !weights.empty()) {
      getOperation().emitError() << "--muon '" << weights << "': no trained matrix has such a name";
      return signalPassFailure();
    }
    addStatistic("matrices", chosen);
  }

  FailureOr<bool> isWanted(train::StateOp state, BlockArgument argument) {
    std::string name = state.getOnnxName().value_or(state.getSymName()).str();
    const bool isTrained = state.getRole() == train::Role::Parameter;
    auto adapter = tune::adapterOf(state);
    const bool isOfTable = adapter && adapter.getFactor() == tune::Factor::Tokens;
    if (weights.empty())
      return isTrained && !isOfTable && rankOf(argument) == 2 && !argument.use_empty() &&
             onlyMultiplies(argument);
    if (!isTrained || !rt::NamePattern::of("--muon '" + weights + "'", weights).isIn(name))
      return false;
    if (rankOf(argument) == 2)
      return true;
    getOperation().emitError() << "--muon '" << weights << "': '" << name << "' (" << argument.getType()
                               << ") is no matrix: Muon updates matrices alone";
    return failure();
  }

  bool onlyMultiplies(Value value) {
    return llvm::all_of(value.getUses(), [&](OpOperand &use) {
      if (auto transpose = dyn_cast<onnx::TransposeOp>(use.getOwner()))
        return onlyMultiplies(transpose.getResult());
      return onnx::isMatmul(use.getOwner()) && use.getOperandNumber() == 1 && !heads.contains(use.getOwner());
    });
  }
};
} // namespace
} // namespace kedge::autodiff
