// A weight that bitsandbytes quantised, as stored in safetensors.
#pragma once
#include "runtime/format/QuantizedFormats.h"
#include "runtime/format/TensorFile.h"
#include <optional>

namespace kedge::rt {

/// 4 bits: NAME has the codes. NAME.absmax, NAME.quant_map and NAME.quant_state.bitsandbytes__nf4 (or
/// fp4; JSON) have the rest; with double quantisation also NAME.nested_absmax and NAME.nested_quant_map.
/// 8 bits: MODULE.weight has the codes, MODULE.SCB the largest magnitude of each row.
struct QuantisedTensor {
  QuantizedFormat format = QuantizedFormat::NF4;
  bool doubled = false;
  std::vector<int64_t> shape; ///< of the weight
  const TensorView *codes = nullptr, *absmax = nullptr;
  const TensorView *nestedAbsmax = nullptr; ///< scales of absmaxes that are in 8 bits
  float offset = 0;                         ///< added to these absmaxes

  /// Nullopt if the tensor is not quantised. Throws rt::RuntimeError, which names `path`, if its
  /// keys do not match each other or its codes are of a kind that Kedge does not support.
  static std::optional<QuantisedTensor> find(const TensorFile &file, const std::string &path,
                                             const std::string &name);
  /// Whether `name` is a key of a quantised weight: its codes or a tensor that belongs to them.
  static bool hasKey(const TensorFile &file, const std::string &name);
};

/// In the order of the enumerators of QuantizedFormat.
inline constexpr const char *kQuantizedNames[] = {"nf4", "fp4", "int8", "uint2", "uint4", "uint8", "int4"};
constexpr const char *quantizedName(QuantizedFormat format) {
  return kQuantizedNames[static_cast<size_t>(format)];
}

} // namespace kedge::rt
