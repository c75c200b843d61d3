#include "runtime/text/UnicodeData.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/UnicodeTables.h"
#include <algorithm>
#include <cstdlib>

namespace kedge::rt {
namespace {

/// Reads the words of a table.
class RunReader {
public:
  explicit RunReader(const char *text) : at(text) {}

  /// Whether there is another word; skips what separates them.
  bool more() {
    while (*at == ' ' || *at == '\n')
      ++at;
    return *at != 0;
  }
  bool take(char mark) {
    const bool found = *at == mark;
    at += found;
    return found;
  }
  char32_t number(int base = 16) {
    char *end = nullptr;
    const auto value = static_cast<char32_t>(std::strtoul(at, &end, base));
    at = end;
    return value;
  }
  int32_t difference() {
    const bool negative = take('-');
    const auto value = static_cast<int32_t>(number());
    return negative ? -value : value;
  }
  char next() { return *at++; }
  /// Calls body(character) for those of a list of runs up to `;`.
  template <typename Body> void runs(Body &&body) {
    for (char32_t end = 0; more() && !take(';');) {
      const char32_t first = end + number();
      end = first + (take(':') ? number() : 1);
      for (char32_t character = first; character < end; ++character)
        body(character);
    }
  }

private:
  const char *at;
};

} // namespace

UnicodeData::UnicodeData() : pages(1) {
  readProperties();
  readLowercase();
  readDecompositions();
  readCombining();
  findCompositions();
}

void UnicodeData::set(char32_t character, uint32_t bits) {
  uint16_t &page = pageOf[character >> 8];
  if (page == 0) {
    page = static_cast<uint16_t>(pages.size());
    pages.emplace_back();
  }
  pages[page][character & 0xff] |= bits;
}

void UnicodeData::readProperties() {
  RunReader reader(propertyRuns);
  for (uint32_t property = 1; property < kTableProperties; property <<= 1)
    reader.runs([&](char32_t character) { set(character, property); });
}

void UnicodeData::readLowercase() {
  RunReader reader(lowercaseRuns);
  for (char32_t first = 0; reader.more();) {
    first += reader.number();
    reader.take(':');
    const char32_t count = reader.number();
    reader.take(':');
    const char32_t step = reader.number();
    reader.take(':');
    const int32_t difference = reader.difference();
    for (char32_t i = 0; i < count; ++i) {
      const char32_t upper = first + i * step;
      const auto lower = static_cast<char32_t>(static_cast<int32_t>(upper) + difference);
      lowercase.emplace(upper, lower);
      uppercase.emplace(lower, upper);
    }
  }
}

void UnicodeData::readDecompositions() {
  RunReader reader(decompositionWords);
  for (char32_t character = 0; reader.more();) {
    character += reader.number();
    const char mark = reader.next();
    std::u32string form;
    do
      form += reader.number();
    while (reader.take(','));
    set(character, mark == '~' ? kCompatible : mark == '!' ? kCanonical | kUnstable : kCanonical);
    if (mark == '=')
      composable.push_back(character);
    (mark == '~' ? compatible : canonical).emplace(character, std::move(form));
  }
  constexpr char32_t kFirst = 0xac00, kLast = 0xd7a3; // syllables of Hangul are computed
  for (char32_t character = kFirst; character <= kLast; ++character)
    set(character, kCanonical);
}

void UnicodeData::readCombining() {
  RunReader reader(combiningRuns);
  while (reader.more()) {
    const auto own = static_cast<uint8_t>(reader.number(10));
    reader.runs([&](char32_t character) {
      combining.emplace(character, own);
      set(character, kCombines);
    });
  }
}

/// A composed character is its form without the last letter, composed, and that letter. Short forms first.
void UnicodeData::findCompositions() {
  std::stable_sort(composable.begin(), composable.end(),
                   [&](char32_t a, char32_t b) { return canonical.at(a).size() < canonical.at(b).size(); });
  std::unordered_map<std::u32string_view, char32_t> composed;
  for (const char32_t character : composable) {
    const std::u32string_view form = canonical.at(character);
    const std::u32string_view front = form.substr(0, form.size() - 1);
    const auto found = composed.find(front);
    if (front.size() != 1 && found == composed.end())
      continue; // a single letter under another number: never composed
    const char32_t first = front.size() == 1 ? front[0] : found->second;
    compositions.emplace(uint64_t{first} << 32 | form.back(), character);
    set(form.back(), kComposes);
    composed.emplace(form, character);
  }
  for (char32_t jamo = 0x1161; jamo <= 0x11c2; ++jamo) // vowels and trailing consonants
    set(jamo, kComposes);
}

const UnicodeData &unicodeData() {
  static const UnicodeData data;
  return data;
}

} // namespace kedge::rt
