// A folder of low-rank adapters in peft's format: adapter_config.json and adapter_model.safetensors.
#pragma once
#include "runtime/format/TensorFile.h"
#include <nlohmann/json.hpp>

namespace kedge::rt {

inline constexpr const char *kAdapterConfig = "adapter_config.json";
inline constexpr const char *kAdapterTensors = "adapter_model.safetensors";
inline constexpr const char *kAdapterPrefix = "base_model.model.";
/// What the path of a module ends with, once for each parameter of it that is wrapped around this one.
inline constexpr const char *kWrapped = ".base_layer";

/// A module with an adapter: it computes with W + scale B A in place of its weight W.
struct AdaptedModule {
  std::string path;
  int64_t rank = 0;
  double scale = 0;
  bool ofParameter = false; ///< of a parameter of the module, which target_parameters names

  /// Names of the tensors in the folder's file.
  std::string keyA() const { return kAdapterPrefix + path + ".lora_A.weight"; }
  std::string keyB() const { return kAdapterPrefix + path + ".lora_B.weight"; }
};

class AdapterFolder {
public:
  /// Throws rt::RuntimeError if this is not such a folder, if another method than LoRA wrote
  /// it, or if it has a setting that would change the result and that is unknown here.
  static AdapterFolder open(const std::string &folder);

  const std::string &folder() const { return place; }
  std::string tensorsPath() const { return place + "/" + kAdapterTensors; }
  const nlohmann::json &config() const { return settings; }
  double dropout() const {
    const auto share = settings.find("lora_dropout");
    return share == settings.end() || share->is_null() ? 0.0 : share->get<double>();
  }
  const std::vector<AdaptedModule> &modules() const { return adapted; }
  /// Whether target_parameters names it, or what it ends with.
  bool targetsParameter(const std::string &name) const;
  /// Tensors that were trained as a whole beside the adapters (modules_to_save), without the prefix.
  const std::vector<std::string> &wholeTensors() const { return whole; }
  const TensorFile &tensors() const { return file; }
  const TensorView &tensor(const std::string &key) const;

private:
  void checkSettings() const;
  void sortTensors();
  double scaleOf(const std::string &path, int64_t rank) const;
  bool hasParameters(std::string path) const;

  std::string place;
  nlohmann::json settings;
  TensorFile file;
  std::vector<AdaptedModule> adapted;
  std::vector<std::string> whole;
};

/// Whether `name` ends with `end`, where both are dotted paths and only whole components count.
bool endsWithPath(const std::string &name, const std::string &end);

} // namespace kedge::rt
