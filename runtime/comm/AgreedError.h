// Collective: ends all ranks with the same error message.
#pragma once
#include "runtime/comm/Communicator.h"
#include <cstdint>
#include <optional>
#include <string>

namespace kedge::rt {

/// A message of a rank. The one with the lowest `order` is used; if several have it, that of the lowest rank.
struct Word {
  int64_t order = 0;
  std::string text;
};

/// Collective. Throws the same AgreedError on all ranks (RuntimeError where there is one): `head`, the
/// message, `tail`; what is beyond 1024 bytes is cut off. Returns if no rank has a message. Null stands for a
/// single rank.
void failWithAgreedError(Communicator *ranks, const std::string &head, const std::optional<Word> &mine,
                         const std::string &tail);

} // namespace kedge::rt
