#include "driver/Adapters.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "lib/Support/Error.h"
#include "runtime/format/AdapterFolder.h"
#include <set>

using namespace mlir;
using nlohmann::json;

namespace kedge::driver {
namespace {

/// An expression that finds names ending with these components.
std::string expressionFor(const std::string &path) {
  std::string escaped;
  for (char letter : path) {
    if (std::string_view("^$\\.*+?()[]{}|/").find(letter) != std::string_view::npos)
      escaped += '\\';
    escaped += letter;
  }
  return "(^|[./])" + escaped + "$";
}

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
  for (const rt::AdaptedModule &one : folder.modules())
    adapted.insert(one.path);
  for (auto state : module.getOps<train::StateOp>()) {
    const std::string name = cutPrefix(state.getOnnxName().value_or("").str(), prefix), path = parentOf(name);
    if (state.getRole() != train::Role::Frozen || !name.ends_with(".weight") ||
        state.wholeType().getRank() < 2 || adapted.count(path))
      continue;
    for (const json &target : targets)
      if (target.is_string() && rt::endsWithPath(path, target.get<std::string>()))
        fail("{}: 'target_modules' of {} has '{}', but '{}' has no tensors of that adapter: expected '{}'",
             folder.tensorsPath(), rt::kAdapterConfig, target.get<std::string>(), name,
             rt::AdaptedModule{path, 0, 0}.keyA());
  }
}

/// A factor of a convolution has as many axes as its weight.
bool isOfExperts(train::StateOp factor, train::StateOp base) {
  const auto encoding = tune::encodingOf(base);
  const auto whole = encoding ? cast<RankedTensorType>(encoding.getWhole()) : base.wholeType();
  return whole.getRank() == 3 && factor.wholeType().getRank() == 2;
}

json configOf(const pipelines::AdapterOptions &options, ModuleOp module) {
  std::set<std::string> targets, parameters;
  bool transposed = false;
  for (auto state : module.getOps<train::StateOp>())
    if (auto adapter = tune::adapterOf(state)) {
      auto base = module.lookupSymbol<train::StateOp>(adapter.getBase().getAttr());
      if (isOfExperts(state, base)) {
        parameters.insert(base.getOnnxName().value_or(base.getSymName()).str());
        continue;
      }
      targets.insert(adapter.getPath().str());
      transposed |= adapter.getTransposed().getValue();
    }
  json config = {{"peft_type", "LORA"},
                 {"task_type", nullptr},
                 {"base_model_name_or_path", nullptr},
                 {"r", options.insert.rank},
                 {"lora_alpha", options.insert.alpha.value},
                 {"use_rslora", options.insert.scaling == adapters::Scaling::RankStabilized},
                 {"use_dora", false},
                 {"lora_dropout", options.insert.dropout.value},
                 {"bias", "none"},
                 {"fan_in_fan_out", transposed},
                 {"target_modules", targets},
                 {"modules_to_save", nullptr},
                 {"inference_mode", true},
                 {"init_lora_weights", true},
                 {"rank_pattern", json::object()},
                 {"alpha_pattern", json::object()}};
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
  json config = options.insert.folder.empty() ? configOf(options, module)
                                              : rt::AdapterFolder::open(options.insert.folder).config();
  if (!options.insert.folder.empty())
    checkTargets(rt::AdapterFolder::open(options.insert.folder), module, prefixOf(module));
  std::set<std::string> modules;
  json whole = wholeTensors(module, prefixOf(module), modules);
  if (!modules.empty())
    config["modules_to_save"] = modules;
  return {{"config", config}, {"whole", whole}};
}

} // namespace kedge::driver
