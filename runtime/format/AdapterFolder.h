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

/// A module with an adapter: it computes with W + scale B A in place of its weight W; with a magnitude, with
/// outputs of that norm.
struct AdaptedModule {
  std::string path;
  int64_t rank = 0;
  double scale = 0;
  bool ofParameter = false; ///< of a parameter of the module, which target_parameters names

  bool isEmbedding = false; ///< a table that rows are looked up in
  bool hasMagnitude = false;

  /// Names of the tensors in the folder's file.
  std::string keyA() const {
    return kAdapterPrefix + path + (isEmbedding ? ".lora_embedding_A" : ".lora_A.weight");
  }
  std::string keyB() const {
    return kAdapterPrefix + path + (isEmbedding ? ".lora_embedding_B" : ".lora_B.weight");
  }
  std::string keyMagnitude() const { return kAdapterPrefix + path + ".lora_magnitude_vector"; }
};

/// A module whose outputs, or inputs, are multiplied by numbers that train (IA3).
struct ScaledModule {
  std::string path;
  bool ofInputs = false;

  std::string key() const { return kAdapterPrefix + path + ".ia3_l"; }
};

/// A table of which some rows train.
struct TokenModule {
  std::string path;
  std::vector<int64_t> rows;
  bool besideFactors = false; ///< in a folder of LoRA

  std::string key() const {
    return kAdapterPrefix + path + (besideFactors ? ".token_adapter" : "") + ".trainable_tokens_delta";
  }
};

class AdapterFolder {
public:
  /// Throws rt::RuntimeError if this is not such a folder, if another method than LoRA, IA3 or trainable
  /// tokens wrote it, or if it has a setting that would change the result and that is unknown here.
  static AdapterFolder open(const std::string &folder);

  const std::string &folder() const { return place; }
  std::string tensorsPath() const { return place + "/" + kAdapterTensors; }
  const nlohmann::json &config() const { return settings; }
  double dropout() const {
    const auto share = settings.find("lora_dropout");
    return share == settings.end() || share->is_null() ? 0.0 : share->get<double>();
  }
  const std::vector<AdaptedModule> &modules() const { return adapted; }
  const std::vector<ScaledModule> &scales() const { return scaled; }
  const std::vector<TokenModule> &tokens() const { return tables; }
  /// Whether both modules have the same values for the same rows.
  bool areTied(const std::string &one, const std::string &other) const;
  /// Of all these.
  std::vector<std::string> paths() const;
  /// Whether the adapters began as a part of the weights, which kept the rest; `how`: pissa or olora.
  bool splits(std::string_view how) const {
    const auto init = settings.find("init_lora_weights");
    return init != settings.end() && init->is_string() && init->get<std::string>() == how;
  }
  bool isSplit() const { return splits("pissa") || splits("olora"); }
  /// Whether target_parameters names it, or what it ends with.
  bool targetsParameter(const std::string &name) const;
  /// Tensors that were trained as a whole beside the adapters (modules_to_save), without the prefix.
  const std::vector<std::string> &wholeTensors() const { return whole; }
  /// Weights under adapters that the folder has, too (embeddings and heads), without the prefix.
  const std::vector<std::string> &baseTensors() const { return bases; }
  const TensorFile &tensors() const { return file; }
  const TensorView &tensor(const std::string &key) const;

private:
  void checkSettings() const;
  void sortTensors();
  /// False if the tensor is of another method.
  bool takeScale(std::string path, const TensorView &view);
  bool takeTokens(std::string path, const TensorView &view);
  std::vector<int64_t> rowsOf(const std::string &path) const;
  double scaleOf(const std::string &path, int64_t rank) const;
  bool hasParameters(std::string path) const;

  std::string place;
  nlohmann::json settings;
  TensorFile file;
  std::vector<AdaptedModule> adapted;
  std::vector<ScaledModule> scaled;
  std::vector<TokenModule> tables;
  std::vector<std::string> whole, bases;
};

/// Whether `name` ends with `end`, where both are dotted paths and only whole components count.
bool endsWithPath(const std::string &name, const std::string &end);

} // namespace kedge::rt
