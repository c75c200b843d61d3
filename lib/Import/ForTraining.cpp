#include "lib/Import/ForTraining.h"
#include "lib/Import/GraphImporter.h"
#include "lib/Import/LintOps.h"
#include "lib/Interpret/ConstantEvaluator.h"
#include "lib/Lint/Reach.h"
#include "lib/Model/Specialize.h"
#include "lib/Support/Error.h"

using namespace mlir;

namespace kedge::importer {
namespace {

bool hasIf(const model::Model &model) {
  return llvm::any_of(model.graph.nodes, [](const model::Node &node) { return node.is("If"); });
}

/// Of the Ifs of the main graph whose condition is a number. Without sizes of all inputs: none.
model::Branches knownBranches(MLIRContext &context, const model::Model &model, const Settled &settled) {
  ImportOptions options;
  options.shapes = settled.shapes;
  options.keepUnsupported = true;
  for (const model::Tensor &tensor : model.graph.initializers)
    options.roles[tensor.name] = train::Role::Constant;
  GraphImporter importer(context, model, options);
  try {
    importer.importGraph(model.graph);
  } catch (const Error &) {
    // The import that follows finds the same, and says it.
  }
  model::Branches branches;
  interpret::ConstantEvaluator evaluator;
  for (const model::Node &node : model.graph.nodes)
    if (const ImportedValue *condition = node.is("If") ? importer.lookup(node.input(0)) : nullptr)
      if (condition->tensor && isa<RankedTensorType>(condition->tensor.getType()))
        if (const auto *known = evaluator.evaluate(condition->tensor); known && known->elements() == 1)
          branches[node.id] = known->intAt(0) != 0;
  return branches;
}

/// A branch may hold Ifs itself.
void takeKnownBranches(MLIRContext &context, model::Model &model, const Settled &settled) {
  while (hasIf(model)) {
    const model::Branches branches = knownBranches(context, model, settled);
    if (branches.empty())
      return;
    model::takeBranches(model, branches);
  }
}

} // namespace

std::vector<std::string> settleForTraining(model::Model &model, const Settled &settled,
                                           MLIRContext &context) {
  if (llvm::any_of(model.graph.nodes, model::isGradientBuffer))
    fail("{}: expected a model, found a training graph of ONNX Runtime with its gradients; 'kedge artifacts "
         "FOLDER -o model.onnx' takes model, loss and values from the folder of such files",
         model.path);
  std::vector<std::string> notes;
  if (!settled.keepsCaches)
    notes = model::removeCaches(model, settled.shapes);
  for (const auto &[input, text] : settled.values) {
    const auto shape = settled.shapes.find(input);
    model::fixInput(model, input, text, shape == settled.shapes.end() ? nullptr : &shape->second);
  }
  model::lowerMicrosoft(model);
  if (!model.trainingInfo.empty()) // its algorithm knows the initializers as they are
    return notes;
  takeKnownBranches(context, model, settled);
  model::lowerMicrosoft(model); // what stood in branches
  model::markFewBits(model);
  model::readLoopConstants(model);
  model::hoistWeights(model);
  model::lowerLinearModels(model);
  std::vector<std::string> losses = settled.losses;
  for (const std::string &loss : losses)
    model::addOutput(model, loss);
  if (const std::string logits = lint::onlyFloatOutput(model.graph, losses);
      settled.findsLogits && !logits.empty())
    losses.push_back(logits);
  for (std::string &note : model::pruneOutputs(model, losses, lintOperators(context).isSupported))
    notes.push_back(std::move(note));
  return notes;
}

} // namespace kedge::importer
