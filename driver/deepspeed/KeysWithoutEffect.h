// The keys of a DeepSpeed configuration that Kedge has no use for, whatever their values.
#pragma once
#include <string>
#include <string_view>

namespace kedge::driver {

struct DeepSpeedKey {
  enum class Kind { Flag, Count, Number, Word, Object };
  std::string_view path; ///< "zero_optimization.overlap_comm"; offload_*: of the optimizer and of parameters
  Kind kind;             ///< what its value has to be
  const char *reason;
};

/// Null for other keys.
const DeepSpeedKey *keyWithoutEffect(std::string path);

} // namespace kedge::driver
