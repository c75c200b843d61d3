#include "driver/Adapters.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "lib/Support/Error.h"
#include "passes/Adapters/AdapterSites.h"
#include "runtime/format/AdapterFolder.h"
#include <cmath>
#include <set>

using namespace mlir;
using nlohmann::json;

namespace kedge::driver {
namespace {

/// An expression for this text.
std::string expressionOf(const std::string &path) {
  std::string escaped;
  for (char letter : path) {
    if (std::string_view("^$\\.*+?()[]{}|/").find(letter) != std::string_view::npos)
      escaped += '\\';
    escaped += letter;
  }
  return escaped;
}

/// An expression that finds names ending with these components.
std::string expressionFor(const std::string &path) { return "(^|[./])" + expressionOf(path) + "$"; }

std::string parentOf(const std::string &name) { return name.substr(0, name.find_last_of('.')); }

/// The folder's names lack what the model's begin with, where the exported module wraps the adapted one.
std::string cutPrefix(const std::string &name, const std::string &prefix) {
  return name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name;
}

/// What ONNX names begin with and paths of the folder do not.
std::string prefixOf(ModuleOp module) {
  for (auto state : module.getOps<train::StateOp>())
    if (auto adapter = tune::adapterOf(state)) {
      auto base = module.lookupSymbol<train::StateOp>(adapter.getBase().getAttr());
      const std::string path = parentOf(base.getOnnxName().value_or(base.getSymName()).str());
      StringRef module = adapter.getPath();
      while (module.consume_back(rt::kWrapped)) {
      }
      if (rt::endsWithPath(path, module.str()))
        return path.substr(0, path.size() - module.size());
    }
  return "";
}

/// Trained tensors without an adapter, and all that lies in their modules.
json wholeTensors(ModuleOp module, const std::string &prefix, std::set<std::string> &modules) {
  for (auto state : module.getOps<train::StateOp>())
    if (state.getRole() == train::Role::Parameter && state.getOnnxName() && !tune::adapterOf(state))
      modules.insert(cutPrefix(parentOf(state.getOnnxName()->str()), prefix));
  json whole = json::object();
  for (auto state : module.getOps<train::StateOp>()) {
    bool isTensor = state.getRole() == train::Role::Parameter || state.getRole() == train::Role::Frozen;
    if (!isTensor || !state.getOnnxName() || tune::adapterOf(state))
      continue;
    std::string name = cutPrefix(state.getOnnxName()->str(), prefix);
    if (modules.count(parentOf(name)))
      whole[state.getSymName().str()] = rt::kAdapterPrefix + name;
  }
  return whole;
}

/// peft would have trained an adapter there: the folder is not whole, or of another model. With settings that
/// narrow its choice down, names alone do not say so.
void checkTargets(const rt::AdapterFolder &folder, ModuleOp module, const std::string &prefix) {
  const json targets = folder.config().value("target_modules", json());
  for (const char *narrowing : {"layers_to_transform", "exclude_modules"})
    if (const json other = folder.config().value(narrowing, json()); !targets.is_array() || !other.empty())
      return;
  std::set<std::string> adapted;
  for (const std::string &path : folder.paths())
    adapted.insert(path);
  for (auto state : module.getOps<train::StateOp>()) {
    const std::string name = cutPrefix(state.getOnnxName().value_or("").str(), prefix), path = parentOf(name);
    if (state.getRole() != train::Role::Frozen || !name.ends_with(".weight") ||
        state.wholeType().getRank() < 2 || adapted.count(path))
      continue;
    for (const json &target : targets)
      if (target.is_string() && rt::endsWithPath(path, target.get<std::string>()))
        fail("{}: 'target_modules' of {} has '{}', but '{}' has no tensors of that adapter: expected '{}'",
             folder.tensorsPath(), rt::kAdapterConfig, target.get<std::string>(), name,
             folder.scales().empty() ? rt::AdaptedModule{path, 0, 0}.keyA() : rt::ScaledModule{path}.key());
  }
}

/// A factor of a convolution has as many axes as its weight. Codes in a file are of matrices that lie one
/// under the other: more than one product of B and A has elements.
bool isOfExperts(train::StateOp factor, train::StateOp base) {
  const auto encoding = tune::encodingOf(base);
  const auto whole = encoding ? cast<RankedTensorType>(encoding.getWhole()) : base.wholeType();
  if (factor.wholeType().getRank() != 2)
    return false;
  if (!encoding || !encoding.isInFile())
    return whole.getRank() == 3;
  int64_t elements = 1;
  for (auto other : factor->getParentOfType<ModuleOp>().getOps<train::StateOp>())
    if (auto adapter = tune::adapterOf(other);
        adapter && adapter.getBase().getAttr() == base.getSymNameAttr())
      if (const bool isA = adapter.getFactor() == tune::Factor::A;
          isA || adapter.getFactor() == tune::Factor::B)
        elements *= other.wholeType().getDimSize(isA ? 1 : 0);
  return elements < whole.getNumElements();
}

/// Ranks and alphas of single modules where patterns give them: their own path is the pattern.
void addPatterns(const pipelines::AdapterOptions &options, ModuleOp module, json &config) {
  const bool stabilised = options.insert.scaling == adapters::Scaling::RankStabilized;
  for (auto state : module.getOps<train::StateOp>()) {
    auto adapter = tune::adapterOf(state);
    const bool isA = adapter && (adapter.getFactor() == tune::Factor::A ||
                                 adapter.getFactor() == tune::Factor::EmbeddingA);
    if (!isA || isOfExperts(state, module.lookupSymbol<train::StateOp>(adapter.getBase().getAttr())))
      continue;
    const int64_t rank = state.wholeType().getDimSize(0);
    const double r = static_cast<double>(rank), scale = adapter.getScale().getValueAsDouble();
    const double alpha = stabilised ? scale * std::sqrt(r) : scale * r;
    const std::string path = expressionOf(adapter.getPath().str());
    if (rank != options.insert.rank)
      config["rank_pattern"][path] = rank;
    if (std::abs(alpha - options.insert.alpha.value) > 1e-9 * alpha)
      config["alpha_pattern"][path] = alpha;
  }
}

json firstValuesOf(adapters::FirstValues init) {
  if (init == adapters::FirstValues::Pissa || init == adapters::FirstValues::Olora)
    return wordOf(init);
  return true;
}

/// IA3's settings.
json scalesConfigOf(ModuleOp module) {
  std::set<std::string> targets, ofInputs;
  bool transposed = false;
  for (auto state : module.getOps<train::StateOp>())
    if (auto adapter = tune::adapterOf(state)) {
      targets.insert(adapter.getPath().str());
      if (adapter.getFactor() == tune::Factor::InputScale)
        ofInputs.insert(adapter.getPath().str());
      transposed |= adapter.getTransposed().getValue();
    }
  return {{"peft_type", "IA3"},
          {"task_type", nullptr},
          {"base_model_name_or_path", nullptr},
          {"target_modules", targets},
          {"feedforward_modules", ofInputs},
          {"fan_in_fan_out", transposed},
          {"modules_to_save", nullptr},
          {"init_ia3_weights", true},
          {"inference_mode", true}};
}

/// Rows of tables by the tables' paths.
json tokensOf(ModuleOp module) {
  json tables = json::object();
  for (auto state : module.getOps<train::StateOp>())
    if (auto adapter = tune::adapterOf(state); adapter && adapter.getFactor() == tune::Factor::Tokens)
      tables[adapter.getPath().str()] = adapter.getRows().vec();
  return tables;
}

/// Settings of rows that train without other adapters, which are the same ones in all tables.
json tokensConfigOf(const json &tables) {
  std::set<std::string> targets;
  for (const auto &[path, rows] : tables.items()) {
    targets.insert(path);
    if (rows != *tables.begin())
      fail("--train-tokens: other rows of '{}' than of '{}' are not available yet without --lora", path,
           *targets.begin());
  }
  return {{"peft_type", "TRAINABLE_TOKENS"},
          {"task_type", nullptr},
          {"base_model_name_or_path", nullptr},
          {"target_modules", targets},
          {"token_indices", *tables.begin()},
          {"init_weights", true},
          {"inference_mode", true}};
}

json configOf(const pipelines::AdapterOptions &options, ModuleOp module) {
  std::set<std::string> targets, parameters;
  bool transposed = false;
  for (auto state : module.getOps<train::StateOp>())
    if (auto adapter = tune::adapterOf(state); adapter && adapter.getFactor() != tune::Factor::Tokens) {
      auto base = module.lookupSymbol<train::StateOp>(adapter.getBase().getAttr());
      if (isOfExperts(state, base)) {
        const StringRef name = base.getOnnxName().value_or(base.getSymName());
        const auto encoding = tune::encodingOf(base);
        parameters.insert(encoding && encoding.isInFile() ? adapters::modulePath(name) : name.str());
        continue;
      }
      targets.insert(adapter.getPath().str());
      if (adapter.getFactor() == tune::Factor::A) // tables lie as [in, out], too
        transposed |= adapter.getTransposed().getValue();
    }
  const json tables = tokensOf(module);
  if (targets.empty() && parameters.empty())
    return tokensConfigOf(tables);
  json config = {{"peft_type", "LORA"},
                 {"task_type", nullptr},
                 {"base_model_name_or_path", nullptr},
                 {"r", options.insert.rank},
                 {"lora_alpha", options.insert.alpha.value},
                 {"use_rslora", options.insert.scaling == adapters::Scaling::RankStabilized},
                 {"use_dora", options.insert.magnitude},
                 {"lora_dropout", options.insert.dropout.value},
                 {"bias", "none"},
                 {"fan_in_fan_out", transposed},
                 {"target_modules", targets},
                 {"modules_to_save", nullptr},
                 {"inference_mode", true},
                 {"init_lora_weights", firstValuesOf(options.insert.init)},
                 {"rank_pattern", json::object()},
                 {"alpha_pattern", json::object()}};
  addPatterns(options, module, config);
  if (!tables.empty())
    config["trainable_token_indices"] = tables;
  if (!parameters.empty())
    config["target_parameters"] = parameters;
  return config;
}

} // namespace

std::vector<std::string> trainedBeside(const pipelines::AdapterOptions &options) {
  std::vector<std::string> expressions;
  if (options.insert.folder.empty())
    return expressions;
  const rt::AdapterFolder folder = rt::AdapterFolder::open(options.insert.folder);
  for (const std::string &path : folder.wholeTensors())
    expressions.push_back(expressionFor(path));
  return expressions;
}

json adapterFacts(const pipelines::AdapterOptions &options, ModuleOp module) {
  json config = !options.insert.folder.empty()    ? rt::AdapterFolder::open(options.insert.folder).config()
                : !options.scales.weights.empty() ? scalesConfigOf(module)
                                                  : configOf(options, module);
  if (!options.insert.folder.empty())
    checkTargets(rt::AdapterFolder::open(options.insert.folder), module, prefixOf(module));
  std::set<std::string> modules;
  json whole = wholeTensors(module, prefixOf(module), modules);
  if (!modules.empty())
    config["modules_to_save"] = modules;
  return {{"config", config}, {"whole", whole}};
}

} // namespace kedge::driver
