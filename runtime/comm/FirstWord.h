// Of what ranks have to say, the word of the one that comes first.
#pragma once
#include "runtime/comm/Communicator.h"
#include <cstdint>
#include <optional>
#include <string>

namespace kedge::rt {

/// What a rank found, and where: the lowest `order` of all ranks speaks, of equals the first rank.
struct Word {
  int64_t order = 0;
  std::string text;
};

/// Throws an error that all ranks throw alike, with the first word in front of `tail`; returns when no rank has a word.
/// Null: a world of one.
void failWithFirstWord(Communicator *ranks, const std::string &head, const std::optional<Word> &mine, const std::string &tail);

} // namespace kedge::rt
