#include "runtime/format/AdapterFolder.h"
#include "runtime/io/Error.h"
#include "runtime/io/JsonSize.h"
#include "runtime/io/NamePattern.h"
#include "runtime/platform/Folders.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace kedge::rt {
namespace {

using nlohmann::json;

/// Settings that change nothing of what the file's tensors mean.
const std::set<std::string> &harmless() {
  static const std::set<std::string> keys = {"auto_mapping",
                                             "base_model_name_or_path",
                                             "exclude_modules",
                                             "fan_in_fan_out",
                                             "inference_mode",
                                             "layers_pattern",
                                             "lora_alpha",
                                             "layers_to_transform",
                                             "lora_dropout",
                                             "megatron_core",
                                             "modules_to_save",
                                             "peft_type",
                                             "peft_version",
                                             "qalora_group_size",
                                             "r",
                                             "rank_pattern",
                                             "alpha_pattern",
                                             "revision",
                                             "target_modules",
                                             "target_parameters",
                                             "task_type",
                                             "use_rslora",
                                             "use_dora",
                                             "ensure_weight_tying",
                                             "runtime_config",
                                             "token_indices",
                                             "trainable_token_indices",
                                             "feedforward_modules",
                                             "init_weights",
                                             "init_ia3_weights"}; // values are in the file
  return keys;
}

bool isDefault(const std::string &key, const json &value) {
  if (value.is_null() || (value.is_boolean() && !value.get<bool>()) ||
      (value.is_structured() && value.empty()))
    return true;
  if (key == "bias")
    return value == "none";
  // How A and B began; a base that they were taken from is made anew.
  if (key == "init_lora_weights")
    return value == true || value == "gaussian" || value == "pissa" || value == "olora";
  return false;
}

bool isShare(const json &value) {
  return value.is_number() && value.get<double>() >= 0 && value.get<double>() < 1;
}

json readConfig(const std::string &path) {
  const FileMap map(path, "configuration of an adapter");
  try {
    json config = json::parse(jsonText(map));
    if (!config.is_object())
      fail("{}: expected a JSON object", path);
    return config;
  } catch (const json::exception &error) {
    fail("{}: damaged: {}", path, error.what());
  }
}

/// The value of the pattern that fits the path, as peft looks it up; null when none does.
const json *patternOf(const json &config, const char *key, const std::string &path) {
  const auto patterns = config.find(key);
  if (patterns == config.end() || !patterns->is_object())
    return nullptr;
  for (const auto &[pattern, value] : patterns->items())
    if (NamePattern("^(.*\\.)?(" + pattern + ")$").isIn(path))
      return &value;
  return nullptr;
}

/// The last word of digits with a word on its right and two on its left; empty: there is none.
std::string layerOf(const std::string &path) {
  for (size_t end = path.rfind('.'); end != std::string::npos && end != 0;) {
    const size_t begin = path.rfind('.', end - 1);
    if (begin == std::string::npos || begin == 0 || path.rfind('.', begin - 1) == std::string::npos)
      return "";
    const std::string word = path.substr(begin + 1, end - begin - 1);
    if (!word.empty() && word.find_first_not_of("0123456789") == std::string::npos)
      return word;
    end = begin;
  }
  return "";
}

/// Whether peft would adapt the module of this layer; without layers_to_transform it would any.
bool isOfLayers(const json &config, const std::string &path) {
  const auto layers = config.find("layers_to_transform"), pattern = config.find("layers_pattern");
  const std::string layer = layerOf(path);
  if (layers == config.end() || layers->is_null() ||
      (pattern != config.end() && !isDefault("layers_pattern", *pattern)) || layer.empty())
    return true;
  const json number = json::parse(layer, nullptr, /*allow_exceptions=*/false);
  return layers->is_array() ? std::find(layers->begin(), layers->end(), number) != layers->end()
                            : *layers == number;
}

bool cutEnd(std::string &text, std::string_view end) {
  if (text.size() == end.size() || !text.ends_with(end))
    return false;
  text.resize(text.size() - end.size());
  return true;
}

} // namespace

bool endsWithPath(const std::string &name, const std::string &end) {
  if (!name.ends_with(end))
    return false;
  return name.size() == end.size() || name[name.size() - end.size() - 1] == '.' ||
         name[name.size() - end.size() - 1] == '/';
}

AdapterFolder AdapterFolder::open(const std::string &folder) {
  AdapterFolder result;
  result.place = platform::absolutePath(folder);
  result.settings = readConfig(result.place + "/" + kAdapterConfig);
  result.checkSettings();
  result.file = TensorFile::openSafetensors(result.tensorsPath());
  try {
    result.sortTensors();
  } catch (const json::exception &error) {
    fail("{}/{}: damaged: {}", result.place, kAdapterConfig, error.what());
  } catch (const PatternError &error) {
    fail("{}/{}: a pattern is no regular expression: {}", result.place, kAdapterConfig, error.what());
  }
  return result;
}

void AdapterFolder::checkSettings() const {
  const std::string path = place + "/" + kAdapterConfig;
  const auto type = settings.find("peft_type");
  static const std::set<std::string> known = {"LORA", "IA3", "TRAINABLE_TOKENS"};
  if (type == settings.end() || !type->is_string() || !known.count(type->get<std::string>()))
    fail("{}: 'peft_type' is {}, expected \"LORA\", \"IA3\" or \"TRAINABLE_TOKENS\": no other method is "
         "known here",
         path, type == settings.end() ? "missing" : type->dump());
  const auto dropout = settings.find("lora_dropout");
  if (dropout != settings.end() && !dropout->is_null() && !isShare(*dropout))
    fail("{}: 'lora_dropout' is {}, expected a number from 0 to below 1", path, dropout->dump());
  for (const auto &[key, value] : settings.items())
    if (!harmless().count(key) && !isDefault(key, value))
      fail("{}: '{}' is {}, which is not available: expected peft's default; train the adapter without it",
           path, key, value.dump());
}

const TensorView &AdapterFolder::tensor(const std::string &key) const {
  const TensorView *view = file.find(key);
  if (!view)
    fail("{}: has no tensor '{}'", tensorsPath(), key);
  return *view;
}

void AdapterFolder::sortTensors() {
  for (const auto &[name, view] : file.tensors()) {
    if (name.rfind(kAdapterPrefix, 0) != 0)
      fail("{}: tensor '{}' does not begin with '{}': expected what peft's save_pretrained writes",
           tensorsPath(), name, kAdapterPrefix);
    std::string path = name.substr(std::string_view(kAdapterPrefix).size());
    if (takeScale(path, view) || takeTokens(path, view))
      continue;
    const bool hasMagnitude = settings.value("use_dora", false);
    if (cutEnd(path, ".lora_magnitude_vector")) {
      if (!hasMagnitude)
        fail("{}: tensor '{}' is a magnitude, and 'use_dora' of {} is not true", tensorsPath(), name,
             kAdapterConfig);
      continue;
    }
    const bool isEmbedding = path.ends_with(".lora_embedding_A") || path.ends_with(".lora_embedding_B");
    if (cutEnd(path, ".lora_B.weight") || cutEnd(path, ".lora_embedding_B")) {
      AdaptedModule module{path, 0, 0};
      module.isEmbedding = isEmbedding;
      tensor(module.keyA());
      continue;
    }
    if (!cutEnd(path, isEmbedding ? ".lora_embedding_A" : ".lora_A.weight")) {
      if (path.find(".lora_") != std::string::npos)
        fail("{}: tensor '{}' is of an adapter that is not available: expected those of linear and "
             "convolutional modules",
             tensorsPath(), name);
      (path.find(std::string(kWrapped) + ".") == std::string::npos ? whole : bases).push_back(path);
      continue;
    }
    AdaptedModule module{path, view.desc.shape.empty() ? 0 : view.desc.shape[0], 0};
    module.isEmbedding = isEmbedding;
    module.hasMagnitude = hasMagnitude;
    tensor(module.keyB());
    if (module.hasMagnitude)
      tensor(module.keyMagnitude());
    const json *expected = patternOf(settings, "rank_pattern", path);
    const json rank = expected ? *expected : settings.value("r", json(8));
    module.ofParameter = hasParameters(path);
    const int64_t given = rank.is_number_integer() ? rank.get<int64_t>() : 0;
    if (module.ofParameter && given > 0 && module.rank % given == 0)
      module.rank = given; // of each expert
    if (given != module.rank || module.rank < 1)
      fail("{}: tensor '{}' has rank {}, '{}' says {}", tensorsPath(), name, module.rank, kAdapterConfig,
           rank.dump());
    if (!isOfLayers(settings, path))
      fail("{}: tensor '{}' is of a layer that 'layers_to_transform' of {} ({}) leaves out: expected "
           "adapters of its layers only",
           tensorsPath(), name, kAdapterConfig, settings.at("layers_to_transform").dump());
    module.scale = scaleOf(path, module.rank);
    adapted.push_back(module);
  }
  if (paths().empty())
    fail("{}: holds no adapter: expected tensors named '{}<module>.lora_A.weight'", tensorsPath(),
         kAdapterPrefix);
}

bool AdapterFolder::takeScale(std::string path, const TensorView &view) {
  if (!cutEnd(path, ".ia3_l"))
    return false;
  const std::vector<int64_t> &shape = view.desc.shape;
  if (shape.size() != 2 || (shape[0] != 1 && shape[1] != 1))
    fail("{}: '{}' of '{}' is {}: scales are not available yet but for linear modules", tensorsPath(),
         "ia3_l", path, shapeText(shape));
  scaled.push_back({path, shape[0] == 1});
  return true;
}

bool AdapterFolder::takeTokens(std::string path, const TensorView &view) {
  if (!cutEnd(path, ".trainable_tokens_delta"))
    return false;
  const bool besideFactors = cutEnd(path, ".token_adapter");
  TokenModule table{path, rowsOf(path), besideFactors};
  if (view.desc.shape.size() != 2 || view.desc.shape[0] != static_cast<int64_t>(table.rows.size()))
    fail("{}: tensor '{}' is {}, {} names {} rows of it", tensorsPath(), table.key(),
         shapeText(view.desc.shape), kAdapterConfig, table.rows.size());
  tables.push_back(std::move(table));
  return true;
}

/// token_indices; of LoRA trainable_token_indices, of embeddings or by the modules' names.
std::vector<int64_t> AdapterFolder::rowsOf(const std::string &path) const {
  const json own = settings.value("token_indices", json()),
             given = own.is_array() ? own : settings.value("trainable_token_indices", json());
  if (given.is_array())
    return given.get<std::vector<int64_t>>();
  if (given.is_object())
    for (const auto &[name, rows] : given.items())
      if (endsWithPath(path, name))
        return rows.get<std::vector<int64_t>>();
  return {};
}

bool AdapterFolder::areTied(const std::string &one, const std::string &other) const {
  const auto named = [&](const std::string &path) {
    return std::find_if(tables.begin(), tables.end(),
                        [&](const TokenModule &table) { return table.path == path; });
  };
  const auto first = named(one), second = named(other);
  if (first == tables.end() || second == tables.end())
    return false;
  const TensorView &a = tensor(first->key()), &b = tensor(second->key());
  return a.desc.type == b.desc.type && a.desc.shape == b.desc.shape &&
         std::equal(a.data, a.data + a.desc.bytes(), b.data);
}

std::vector<std::string> AdapterFolder::paths() const {
  std::vector<std::string> all;
  for (const AdaptedModule &module : adapted)
    all.push_back(module.path);
  for (const ScaledModule &module : scaled)
    all.push_back(module.path);
  for (const TokenModule &module : tables)
    all.push_back(module.path);
  return all;
}

bool AdapterFolder::targetsParameter(const std::string &name) const {
  const json targets = settings.value("target_parameters", json());
  return targets.is_array() && std::any_of(targets.begin(), targets.end(), [&](const json &target) {
           return target.is_string() && endsWithPath(name, target.get<std::string>());
         });
}

/// Whether target_parameters names something in this module.
bool AdapterFolder::hasParameters(std::string path) const {
  while (cutEnd(path, kWrapped)) {
  }
  const json targets = settings.value("target_parameters", json());
  return targets.is_array() && std::any_of(targets.begin(), targets.end(), [&](const json &target) {
           const std::string name = target.is_string() ? target.get<std::string>() : "";
           const size_t dot = name.find_last_of('.');
           return dot != std::string::npos && endsWithPath(path, name.substr(0, dot));
         });
}

double AdapterFolder::scaleOf(const std::string &path, int64_t rank) const {
  const json *own = patternOf(settings, "alpha_pattern", path);
  const double alpha = own ? own->get<double>() : settings.value("lora_alpha", 8.0);
  const double r = static_cast<double>(rank);
  const double scale = settings.value("use_rslora", false) ? alpha / std::sqrt(r) : alpha / r;
  if (!std::isfinite(scale) || std::abs(scale) > std::numeric_limits<float>::max())
    fail("{}/{}: 'lora_alpha' of '{}' is {}: expected a number that float32 holds", place, kAdapterConfig,
         path, alpha);
  return scale;
}

} // namespace kedge::rt
