// A set of characters of a pattern: properties, ranges, and their complement.
#pragma once
#include "runtime/text/Unicode.h"
#include <array>
#include <vector>

namespace kedge::rt {

class CharacterSet {
public:
  void add(char32_t first, char32_t last);
  /// Those that have one of these properties.
  void addProperties(uint32_t bits) { any |= bits; }
  /// Those that have none of these.
  void addComplement(uint32_t bits) { none.push_back(bits); }
  /// Those of the other set, which is done.
  void addSet(CharacterSet other) { sets.push_back(std::move(other)); }
  void negate() { negated = !negated; }
  void ignoreCase() { foldsCase = true; }
  /// After the last change.
  void finish();

  bool contains(char32_t character) const { return character < 128 ? ascii[character] : search(character); }

private:
  bool search(char32_t character) const;
  bool holds(char32_t character) const;

  std::array<bool, 128> ascii{};
  std::vector<std::pair<char32_t, char32_t>> ranges;
  std::vector<uint32_t> none;
  std::vector<CharacterSet> sets;
  uint32_t any = 0;
  bool negated = false, foldsCase = false;
};

} // namespace kedge::rt
