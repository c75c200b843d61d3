#include "driver/options/ProgramOptions.h"
#include "driver/AdapterGraph.h"
#include "driver/Adapters.h"
#include "driver/QuantizedGraph.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Loss/LossOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "kedge/abi/ProgramKeys.h"
#include "lib/Export/Template/ExportTemplate.h"
#include "lib/Export/Template/ModelDiff.h"
#include "lib/Support/Error.h"
#include "mlir/IR/AsmState.h"
#include "llvm/ADT/StringSet.h"
#include <filesystem>
#include <set>
#include <unistd.h>

using namespace mlir;
using nlohmann::json;

namespace kedge::driver {
namespace key = abi::key;

namespace {
/// In the main graph or an algorithm of training_info.
const model::Tensor *findInitializer(const model::Model &model, const std::string &name) {
  const model::Tensor *found = model.graph.findInitializer(name);
  for (const model::TrainingInfo &info : model.trainingInfo)
    if (!found && info.algorithm)
      found = info.algorithm->findInitializer(name);
  return found;
}

bool isInFile(train::StateOp state) {
  const auto encoding = tune::encodingOf(state);
  return encoding && encoding.isInFile();
}

/// Frozen weights that adapters, or few bits, have changed; not those whose codes the file has, which
/// editPackedProducts() is for.
llvm::StringSet<> adaptedWeights(ModuleOp module) {
  llvm::StringSet<> names;
  for (auto state : module.getOps<train::StateOp>())
    if (isInFile(state))
      continue;
    else if (auto adapter = tune::adapterOf(state)) {
      if (!isInFile(module.lookupSymbol<train::StateOp>(adapter.getBase().getAttr())))
        names.insert(adapter.getBase().getValue());
      if (adapter.getBias())
        names.insert(adapter.getBias().getValue());
    } else if (auto encoding = tune::encodingOf(state); encoding && encoding.getPart() == tune::Part::Codes)
      names.insert(state.getSymName());
  return names;
}

/// Elements of trained tensors come from the program's states, wherever an edit or the file puts them.
void takeFromStates(ModuleOp module, const model::Model &changed, exporter::Edits &edits) {
  const llvm::StringSet<> adapted = adaptedWeights(module);
  for (auto state : module.getOps<train::StateOp>()) {
    auto name = state.getOnnxName();
    bool changes = llvm::is_contained({train::Role::Parameter, train::Role::Buffer, train::Role::State},
                                      state.getRole()) ||
                   adapted.contains(state.getSymName()) || tune::resizedOf(state);
    if (!name || !changes)
      continue;
    const model::Tensor *tensor = findInitializer(changed, name->str());
    if (!tensor)
      continue;
    std::string symbol = state.getSymName().str();
    for (auto &[place, graph] : edits.graphs)
      for (exporter::NewTensor &fresh : graph.initializers)
        if (fresh.name == *name)
          fresh.elements = exporter::StateElements{symbol, tensor->dtype, tensor->dims};
    if (tensor->place == 0)
      continue;
    if (auto edit = edits.tensors.find(tensor->place); edit == edits.tensors.end())
      edits.fromState(*tensor, symbol);
    else if (!edit->second.remove)
      edit->second.elements = exporter::StateElements{symbol, tensor->dtype, tensor->dims};
  }
}

} // namespace

/// Whether another stage of the pipeline has the loss.
static bool isLossElsewhere(func::FuncOp step) {
  for (OpOperand &result : step.getBody().front().getTerminator()->getOpOperands())
    if (auto binding = train::bindingOfResult(step, result.getOperandNumber(), train::BindingKind::Result);
        binding && binding.getName() == "loss_sum")
      return isa_and_nonnull<onnx::ConstantOp>(result.get().getDefiningOp());
  return false;
}

json lossFacts(func::FuncOp step, const pipelines::StepOptions &options) {
  json facts = {{key::batch, 1},
                {key::tokensPerRow, 1},
                {key::lossKind, options.loss.kind == LossFunction::None ? "mean" : "items"}};
  bool first = true, tokensKnown = false;
  for (BlockArgument argument : step.getArguments()) {
    auto input = train::bindingOfArgument(step, argument.getArgNumber(), train::BindingKind::Input);
    if (!input || rankOf(argument) == 0)
      continue;
    if (first)
      facts[key::batch] = shapeOf(argument)[0];
    first = false;
    if (input.getName() == options.loss.labels && options.loss.kind != LossFunction::None)
      facts[key::labels] = options.loss.labels;
    if (isa<IntegerType>(elementOf(argument)) && !tokensKnown && input.getName() != options.loss.labels) {
      facts[key::tokensPerRow] = elementCount(shapeOf(argument).drop_front());
      tokensKnown = true;
    }
  }
  if (options.loss.kind == LossFunction::None)
    return facts;
  double nominal = train::NominalItemsNote(step->getContext()).getAttr(step).getValueAsDouble();
  facts[key::nominalItems] = nominal;
  const int64_t accumulate =
      options.isPipelined() || options.joinsMicroBatches() ? 1 : options.accumulate; // its step has all rows
  facts[key::itemsPerBatch] =
      nominal / static_cast<double>(accumulate * options.mesh.sizeOf(rt::Mesh::kRows));
  if (options.isPipelined() && isLossElsewhere(step))
    facts[key::itemsPerBatch] = 0; // the ranks' items are added up
  facts[key::loss] = options.loss.kind.name();
  if (const int64_t rows = options.loss.kind.rowsTogether(); rows != 1)
    facts[key::rowsTogether] = rows;
  if (const auto beta = options.loss.kind.beta())
    facts[key::dpoBeta] = *beta;
  facts[key::logits] = options.loss.logits;
  if (options.loss.classAxis != -100)
    facts[key::classAxis] = options.loss.classAxis;
  if (options.loss.kind.any([](LossFunction loss) { return labelsOf(loss) == LossLabels::Classes; }))
    facts[key::ignoreIndex] = options.loss.ignoreIndex;
  return facts;
}

/// What was given alone: the program has defaults of its own.
static json scheduleFacts(const ScheduleDefaults &given) {
  json facts = json::object();
  const auto put = [&](const char *key, const auto &value) {
    if (value)
      facts[key] = *value;
  };
  put(key::kind, given.kind), put(key::warmup, given.warmup), put(key::warmupStart, given.warmupStart);
  put(key::decaySteps, given.decaySteps), put(key::minLr, given.minLr);
  return facts;
}

json programOptions(const CompileOptions &options, const json &lossFacts, ModuleOp module) {
  const bool joins = options.isPipelined() || options.joinsMicroBatches();
  json result = {{key::accumulate, joins ? 1 : options.accumulate},
                 {key::ranks, options.worlds.empty() ? options.model.ranks : options.worlds},
                 {key::optimizer, wordOf(options.update.optimizer)},
                 {key::lr, options.lrOrDefault()},
                 {key::betas, options.betasOrDefault()},
                 {key::eps, options.epsOrDefault()},
                 {key::weightDecay, options.weightDecayOrDefault()},
                 {key::momentum, options.momentumOrDefault()},
                 {key::nesterov, options.update.nesterov},
                 {key::clipNorm, options.update.clipNorm.value},
                 {key::seed, options.run.seed},
                 {key::trainingInfo, false}};
  if (options.sameBits > 0)
    result[key::parts] = options.parts;
  if (joins && options.accumulate > 1)
    result[key::joinedMicroBatches] = options.accumulate; // those of all parts
  if (options.model.mesh)
    result[key::mesh] = options.model.mesh->text();
  if (json schedule = scheduleFacts(options.run.schedule); !schedule.empty())
    result[key::schedule] = schedule;
  if (options.lossScale.minimum > 0)
    result[key::lossScaleMin] = options.lossScale.minimum;
  if (options.lossScale.fixed)
    result[key::lossScaleFixed] = true;
  if (options.model.adapters.inserts())
    result[key::adapter] = adapterFacts(options.model.adapters, module);
  result.update(lossFacts);
  int64_t parameters = 0;
  for (auto state : module.getOps<train::StateOp>())
    if (state.getRole() == train::Role::Parameter)
      parameters += state.wholeType().getNumElements();
  result[key::parameters] = parameters;
  return result;
}

/// What one model has lost of another, by places in their file.
static void removeLost(const model::Model &before, const model::Model &after, exporter::Edits &edits) {
  std::set<uint64_t> kept;
  for (const model::Node &node : after.graph.nodes)
    kept.insert(node.place);
  for (const model::Node &node : before.graph.nodes)
    if (node.place && !kept.count(node.place))
      edits.nodes[node.place].remove = true;
  for (const model::ValueInfo &info : before.graph.valueInfos)
    if (info.place && !after.graph.findValueInfo(info.name))
      edits.values[info.place].remove = true;
}

/// The file as evaluation computes it.
static exporter::Edits inferenceEdits(ModuleOp module, const lint::Report &report,
                                      const model::Model &changed) {
  exporter::Edits edits = exporter::editsBetween(*report.loaded, changed);
  takeFromStates(module, changed, edits);
  if (report.inference)
    removeLost(*report.exported, *report.inference, edits);
  exporter::setInferenceMode(*report.loaded, edits);
  return edits;
}

/// With the adapters as nodes; null where the model's form does not allow it.
static json adapterExportTemplate(ModuleOp module, const lint::Report &report,
                                  const exporter::ExportTemplateOptions &options,
                                  std::vector<uint8_t> &data) {
  for (auto state : module.getOps<train::StateOp>())
    if (auto adapter = tune::adapterOf(state);
        adapter &&
        (adapter.getFrom() || !llvm::is_contained({tune::Factor::A, tune::Factor::B}, adapter.getFactor())))
      return "not available yet for --lora-dora, --lora-init pissa and olora, --ia3, --train-tokens, and "
             "adapters of "
             "embeddings; use --export-onnx, which merges, or --export-adapter";
  const model::Model &original = *report.loaded;
  const model::Model changed =
      withAdapterNodes(report.inference ? *report.inference : *report.exported, module);
  try {
    exporter::Edits edits = inferenceEdits(module, report, changed);
    editPackedProducts(original, module, PackedForm::Beside, edits);
    editLoweredExperts(original, module, edits);
    return exporter::buildExportTemplate(original, edits, options).toJson(original, data);
  } catch (const Error &) { // products in functions that several nodes call
    return nullptr;
  }
}

/// With weights in integers; a text where the file has no place for them.
static json quantizedExportTemplate(ModuleOp module, const lint::Report &report,
                                    const exporter::ExportTemplateOptions &options,
                                    adapters::IntegerForm form, std::vector<uint8_t> &data) {
  try {
    const QuantizedGraph changed =
        withIntegers(report.inference ? *report.inference : *report.exported, module, form);
    exporter::Edits edits = inferenceEdits(module, report, changed.model);
    edits.domains = changed.operators;
    for (auto &[place, graph] : edits.graphs)
      for (exporter::NewTensor &fresh : graph.initializers)
        if (const auto found = changed.elements.find(fresh.name); found != changed.elements.end())
          fresh.elements = found->second;
    return exporter::buildExportTemplate(*report.loaded, edits, options).toJson(*report.loaded, data);
  } catch (const Error &error) {
    return error.what();
  }
}

json exportTemplates(ModuleOp module, const lint::Report &report, bool embed, adapters::IntegerForm form,
                     std::vector<uint8_t> &data) {
  const model::Model &original = *report.loaded;
  exporter::Edits edits = exporter::editsBetween(original, *report.exported);
  takeFromStates(module, *report.exported, edits);
  editPackedProducts(original, module, PackedForm::Merged, edits);
  exporter::ExportTemplateOptions options;
  options.embed = embed;
  std::vector<std::string> notes = report.changes;
  std::erase_if(notes, [&](const std::string &note) { return llvm::is_contained(report.modes, note); });
  exporter::Edits inTraining = edits;
  std::vector<std::string> modes = exporter::setTrainingMode(*report.exported, *report.trained, inTraining);
  if (modes.empty())
    modes = report.modes;
  json result = {{"notes", notes}};
  if (!modes.empty())
    result["training_notes"] = modes;
  result["training"] = exporter::buildExportTemplate(original, inTraining, options).toJson(original, data);
  edits = inferenceEdits(module, report, report.inference ? *report.inference : *report.exported);
  editPackedProducts(original, module, PackedForm::Merged, edits);
  result["inference"] = exporter::buildExportTemplate(original, edits, options).toJson(original, data);
  if (llvm::any_of(module.getOps<train::StateOp>(),
                   [](train::StateOp state) { return bool(tune::adapterOf(state)); }))
    result["adapters"] = adapterExportTemplate(module, report, options, data);
  if (roundsWeights(module))
    result["quantized"] = quantizedExportTemplate(module, report, options, form, data);
  return result;
}

std::string kernelText(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

void checkFolder(const char *option, const std::string &path) {
  if (path.empty())
    return;
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty())
    folder = ".";
  std::error_code ignored;
  if (std::filesystem::exists(folder, ignored) && !std::filesystem::is_directory(folder, ignored))
    fail("{} {}: expected a folder, but '{}' is none; name another place", option, path, folder);
  if (access(folder.c_str(), W_OK) != 0)
    fail("{} {}: cannot write into '{}': {}; make that folder, or name another place", option, path, folder,
         strerror(errno));
}

} // namespace kedge::driver
