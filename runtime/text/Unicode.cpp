#include "runtime/text/Unicode.h"
#include "runtime/text/UnicodeData.h"
#include "runtime/text/Utf8.h"
#include <algorithm>
#include <cstddef>

namespace kedge::rt {
namespace {

constexpr char32_t kHangul = 0xac00, kLead = 0x1100, kVowel = 0x1161, kTrail = 0x11a7;
constexpr char32_t kLeads = 19, kVowels = 21, kTrails = 28, kSyllables = kLeads * kVowels * kTrails;

void appendLetter(std::u32string &letters, char32_t character, bool compatible) {
  if (character - kHangul < kSyllables) {
    const char32_t index = character - kHangul;
    letters += kLead + index / (kVowels * kTrails);
    letters += kVowel + index % (kVowels * kTrails) / kTrails;
    if (index % kTrails != 0)
      letters += kTrail + index % kTrails;
    return;
  }
  const UnicodeData &data = unicodeData();
  const uint32_t bits = data.bitsOf(character);
  if (compatible && bits & kCompatible)
    letters += data.compatible.at(character);
  else if (bits & kCanonical)
    letters += data.canonical.at(character);
  else
    letters += character;
}

/// Marks that follow one another, by their class.
void orderMarks(std::u32string &letters) {
  const UnicodeData &data = unicodeData();
  const auto classOf = [&](char32_t c) { return data.classOf(c); };
  for (size_t at = 0; at < letters.size();) {
    if (classOf(letters[at]) == 0) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < letters.size() && classOf(letters[end]) != 0)
      ++end;
    std::stable_sort(letters.begin() + static_cast<ptrdiff_t>(at),
                     letters.begin() + static_cast<ptrdiff_t>(end),
                     [&](char32_t a, char32_t b) { return classOf(a) < classOf(b); });
    at = end;
  }
}

/// 0 if the two are not composed.
char32_t composed(char32_t first, char32_t second) {
  if (first - kLead < kLeads && second - kVowel < kVowels)
    return kHangul + ((first - kLead) * kVowels + (second - kVowel)) * kTrails;
  if (first - kHangul < kSyllables && (first - kHangul) % kTrails == 0 && second - kTrail - 1 < kTrails - 1)
    return first + (second - kTrail);
  const auto &pairs = unicodeData().compositions;
  const auto found = pairs.find(uint64_t{first} << 32 | second);
  return found == pairs.end() ? 0 : found->second;
}

void compose(std::u32string &letters) {
  const UnicodeData &data = unicodeData();
  size_t kept = 0, starter = 0;
  bool hasStarter = false;
  unsigned last = 0; // class of the last kept letter behind the starter
  for (const char32_t letter : letters) {
    const unsigned own = data.classOf(letter);
    const bool blocked = hasStarter && kept > starter + 1 && (last >= own || last == 0);
    if (hasStarter && !blocked)
      if (const char32_t both = composed(letters[starter], letter)) {
        letters[starter] = both;
        continue;
      }
    if (own == 0) {
      starter = kept;
      hasStarter = true;
    }
    last = own;
    letters[kept++] = letter;
  }
  letters.resize(kept);
}

/// What the form may change, alone or together with its neighbours.
uint32_t unsettled(NormalForm form) {
  switch (form) {
  case NormalForm::NFC:
    return kUnstable | kCombines | kComposes;
  case NormalForm::NFD:
    return kCanonical | kCombines;
  case NormalForm::NFKC:
    return kUnstable | kCompatible | kCombines | kComposes;
  case NormalForm::NFKD:
    return kCanonical | kCompatible | kCombines;
  }
  return 0;
}

void appendForm(std::string &result, std::string_view part, NormalForm form) {
  std::u32string letters;
  for (size_t at = 0; at < part.size();)
    appendLetter(letters, nextCharacter(part, at), form == NormalForm::NFKC || form == NormalForm::NFKD);
  orderMarks(letters);
  if (form == NormalForm::NFC || form == NormalForm::NFKC)
    compose(letters);
  for (const char32_t letter : letters)
    appendCharacter(result, letter);
}

} // namespace

uint32_t propertiesOf(char32_t character) { return unicodeData().bitsOf(character); }

char32_t simpleLowercase(char32_t character) {
  if (character < 0x80)
    return character >= 'A' && character <= 'Z' ? character + 32 : character;
  const auto &lower = unicodeData().lowercase;
  const auto found = lower.find(character);
  return found == lower.end() ? character : found->second;
}

char32_t simpleUppercase(char32_t character) {
  if (character < 0x80)
    return character >= 'a' && character <= 'z' ? character - 32 : character;
  const auto &upper = unicodeData().uppercase;
  const auto found = upper.find(character);
  return found == upper.end() ? character : found->second;
}

void appendLowercase(std::string &text, char32_t character) {
  constexpr char32_t kCapitalWithDot = 0x130; // the only one whose lowercase form is two characters
  if (character == kCapitalWithDot)
    text += "i\xcc\x87";
  else
    appendCharacter(text, simpleLowercase(character));
}

std::string normalForm(std::string_view text, NormalForm form) {
  const UnicodeData &data = unicodeData();
  const uint32_t mask = unsettled(form);
  std::string result;
  result.reserve(text.size());
  size_t copied = 0, before = 0; // `before`: where the character in front of `at` begins
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    if ((data.bitsOf(nextCharacter(text, end)) & mask) == 0) {
      before = at;
      at = end;
      continue;
    }
    size_t next = end; // up to the next settled character
    for (; next < text.size(); next = end)
      if ((data.bitsOf(nextCharacter(text, end = next)) & mask) == 0)
        break;
    result.append(text.substr(copied, before - copied));
    appendForm(result, text.substr(before, next - before), form);
    copied = before = at = next;
  }
  return result.append(text.substr(copied));
}

} // namespace kedge::rt
