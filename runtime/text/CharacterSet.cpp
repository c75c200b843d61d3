#include "runtime/text/CharacterSet.h"
#include <algorithm>
#include <cstddef>

namespace kedge::rt {

void CharacterSet::add(char32_t first, char32_t last) { ranges.emplace_back(first, last); }

void CharacterSet::finish() {
  for (char32_t character = 0; character < ascii.size(); ++character)
    ascii[character] = search(character);
}

bool CharacterSet::search(char32_t character) const {
  if (!foldsCase)
    return holds(character) != negated;
  constexpr char32_t kLongS = 0x17f; // an s, too, where case does not matter
  const char32_t lower = character == kLongS ? U's' : simpleLowercase(character);
  const bool found =
      holds(character) || holds(lower) || holds(simpleUppercase(lower)) || (lower == U's' && holds(kLongS));
  return found != negated;
}

bool CharacterSet::holds(char32_t character) const {
  for (const auto &[first, last] : ranges)
    if (character >= first && character <= last)
      return true;
  if (any == 0 && none.empty() && sets.empty())
    return false;
  const uint32_t bits = propertiesOf(character);
  return (bits & any) != 0 ||
         std::any_of(none.begin(), none.end(), [&](uint32_t absent) { return (bits & absent) == 0; }) ||
         std::any_of(sets.begin(), sets.end(),
                     [&](const CharacterSet &set) { return set.contains(character); });
}

} // namespace kedge::rt
