// training_info: one iteration of it behind the main graph.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/Train/Optimizer/OnnxOptimizerOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "lib/Import/GraphImporter.h"
#include "lib/Import/ImportScope.h"
#include "lib/Import/NodeConstants.h"
#include "lib/Import/Training.h"
#include "lib/Interpret/ConstantEvaluator.h"
#include "lib/Support/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

std::string kedge::importer::typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

void GraphImporter::importTraining() {
  checkTraining(source);
  train::TrainingInfoNote(function->getContext()).setAttr(function, builder.getUnitAttr());
  for (const model::TrainingInfo &info : source.trainingInfo) {
    bindSymbols(*info.algorithm);
    for (const model::ValueInfo *input : info.algorithm->feeds())
      if (!scope->find(input->name))
        importInput(*input);
    importInitializers(*info.algorithm, *scope);
  }
  for (const model::TrainingInfo &info : source.trainingInfo)
    initializeVariables(info);
  for (const model::TrainingInfo &info : source.trainingInfo)
    importAlgorithm(info, &info == &source.trainingInfo.front());
  for (const auto &entry : updated)
    results.push_back({entry.second, train::BindingAttr::get(&context, train::BindingKind::State,
                                                             variable(entry.first()).getValue())});
}

FlatSymbolRefAttr GraphImporter::variable(StringRef initializer) const {
  Value value = scope->find(initializer)->tensor;
  for (const Argument &argument : arguments)
    if (argument.value == value)
      return argument.binding.getSymbol();
  return {};
}

/// What the initialization graph makes is evaluated here; its ops are not used and go away.
void GraphImporter::initializeVariables(const model::TrainingInfo &info) {
  if (!info.initialization)
    return;
  ImportScope inner;
  for (const model::Tensor &tensor : info.initialization->initializers) {
    auto type = RankedTensorType::get(tensor.dims, elementType(context, tensor.dtype));
    Location loc = NameLoc::get(builder.getStringAttr(tensor.name));
    inner.values[tensor.name].tensor = onnx::ConstantOp::create(builder, loc, denseAttribute(type, tensor));
  }
  importNodes(*info.initialization, inner);
  for (const auto &[key, value] : info.initializationBinding) {
    const ImportedValue *made = inner.find(value);
    if (!made || !made->tensor || isa<NoneType>(made->tensor.getType()))
      continue; // not supported: reported
    const interpret::HostTensor *tensor = evaluator->evaluate(made->tensor);
    if (!tensor)
      fail(
          "{}: the initialization of '{}' ('{}') is not constant; such initializations are not available yet",
          source.path, key, value);
    FlatSymbolRefAttr symbol = variable(key);
    auto state = symbol ? dyn_cast_or_null<train::StateOp>(states.lookup(symbol.getValue())) : nullptr;
    if (!state)
      fail("{}: initialization_binding sets '{}', which no update_binding changes; expected a variable",
           source.path, key);
    if (state.getType() != tensor->type)
      fail("{}: initialization_binding sets '{}' of type {} to '{}' of type {}; expected the same type and "
           "shape",
           source.path, key, typeText(state.getType()), value, typeText(tensor->type));
    state.setInitAttr(tensor->toAttribute());
  }
}

void GraphImporter::importAlgorithm(const model::TrainingInfo &info, bool first) {
  ImportScope stage;
  stage.outer = scope.get();
  for (const auto &entry : updated) {
    PlaceScope scope(places, PlaceAttr::get(&context, TrainingPhase::Update, "", entry.first()));
    stage.values[entry.first()].tensor =
        train::VariableOp::create(builder, entry.second.getLoc(), entry.second);
  }
  if (!first) // again, with what the algorithms before this one have made of the variables
    importNodes(source.graph, stage);
  model::Graph nodes;
  nodes.nodes = algorithmNodes(*info.algorithm);
  importNodes(nodes, stage);
  for (const model::ValueInfo &output : info.algorithm->outputs) {
    const ImportedValue *value = stage.find(output.name);
    if (!value)
      fail("{}: output '{}' of an algorithm of training_info is made by no node", source.path, output.name);
    if (value->sequence)
      report("output " + output.describe(), "sequences are not supported as outputs");
    else
      results.push_back({value->tensor, train::BindingAttr::get(&context, train::BindingKind::AlgorithmOutput,
                                                                output.name)});
  }
  updateVariables(info, stage);
}

void GraphImporter::updateVariables(const model::TrainingInfo &info, const ImportScope &stage) {
  for (const auto &[key, value] : info.updateBinding) {
    auto role = options.roles.find(key);
    if (role != options.roles.end() && role->second == train::Role::Frozen)
      continue; // --freeze
    if (!variable(key))
      fail("{}: update_binding changes '{}', which was taken for a constant; expected a parameter or state",
           source.path, key);
    Value fresh = stage.find(value)->tensor, old = scope->find(key)->tensor;
    if (!fresh || isa<NoneType>(fresh.getType()))
      continue; // not supported: reported
    if (fresh.getType() != old.getType())
      fail("{}: update_binding gives '{}' of type {} the value '{}' of type {}; expected the same type and "
           "shape",
           source.path, key, typeText(old.getType()), value, typeText(fresh.getType()));
    updated[key] = fresh;
  }
}
