// What a program's states are for, and the words for it in its JSON text (program.md).
#pragma once
#include <cstdint>
#include <string_view>

namespace kedge::abi {

enum class StateRole : uint8_t {
  Parameter,
  Frozen,
  Buffer,
  Constant,
  Moment1,
  Moment2,
  Momentum,
  Accumulator,
  Counter,
  State,
  WorkingCopy, ///< the 16-bit copy of a parameter, which @restore computes from its master
  Scaler,      ///< of dynamic loss scaling; its values are in the manifest of checkpoints
  Average,     ///< the moving average of a parameter (--ema)
  Residual     ///< what a 16-bit parameter lacks of its value (--master-weights split)
};

/// In the order of the roles.
inline constexpr std::string_view kRoleWords[] = {
    "parameter",   "frozen",  "buffer", "constant",     "moment1", "moment2", "momentum",
    "accumulator", "counter", "state",  "working_copy", "scaler",  "average", "residual"};

constexpr std::string_view roleWord(StateRole role) { return kRoleWords[static_cast<uint8_t>(role)]; }

} // namespace kedge::abi
