// A weight that bitsandbytes has quantised, as its safetensors hold it.
#pragma once
#include "runtime/format/FewBits.h"
#include "runtime/format/TensorFile.h"
#include <optional>

namespace kedge::rt {

/// 4 bits: NAME has the codes, NAME.absmax, NAME.quant_map and NAME.quant_state.bitsandbytes__nf4 (or fp4; JSON) the rest, and with
/// double quantisation NAME.nested_absmax and NAME.nested_quant_map. 8 bits: MODULE.weight has the codes, MODULE.SCB the largest
/// magnitude of each row.
struct QuantisedTensor {
  FewBitFormat format = FewBitFormat::NF4;
  bool doubled = false;
  std::vector<int64_t> shape; ///< of the weight
  const TensorView *codes = nullptr, *absmax = nullptr;
  const TensorView *nestedAbsmax = nullptr; ///< of absmaxes in 8 bits
  float offset = 0;                         ///< is added to those

  /// Nullopt: no quantised tensor. Throws rt::Error that names `path` when its keys do not fit each other, or are of another kind
  /// than Kedge's own codes.
  static std::optional<QuantisedTensor> find(const TensorFile &file, const std::string &path, const std::string &name);
  /// Whether `name` is one of a quantised weight's keys, its codes or what belongs to them.
  static bool hasKey(const TensorFile &file, const std::string &name);
};

/// In the order of FewBitFormat.
inline constexpr const char *kFewBitNames[] = {"nf4", "fp4", "int8"};
constexpr const char *fewBitName(FewBitFormat format) { return kFewBitNames[static_cast<size_t>(format)]; }

} // namespace kedge::rt
