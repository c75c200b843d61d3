// Selects one of the messages that ranks have.
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

/// Throws the same error on all ranks: `head`, the selected message,
/// `tail`. Returns if no rank has a message. Null stands for a single rank.
void failWithAgreedError(Communicator *ranks, const std::string &head, const std::optional<Word> &mine,
                         const std::string &tail);

} // namespace kedge::rt
